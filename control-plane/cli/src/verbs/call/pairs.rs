//! `key=value` and `key:=json`, read by a tool's schema.

use serde_json::{Map, Value};

use crate::error::Failure;

/// Reads the pairs into an object. A value is text where the schema allows
/// text or knows nothing of the key, else JSON.
///
/// # Errors
/// A usage failure with every problem.
pub(crate) fn read(pairs: &[String], schema: Option<&Value>) -> Result<Value, Failure> {
    let mut object = Map::new();
    let mut problems = Vec::new();
    for pair in pairs {
        match read_one(pair, schema) {
            Ok((key, _)) if object.contains_key(key) => {
                problems.push(format!("{key} is given twice"));
            }
            Ok((key, value)) => {
                object.insert(key.to_owned(), value);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(Value::Object(object))
    } else {
        Err(Failure::usage(problems.join("; ")))
    }
}

fn read_one<'a>(pair: &'a str, schema: Option<&Value>) -> Result<(&'a str, Value), String> {
    let (key, value) = pair
        .split_once('=')
        .ok_or_else(|| format!("`{pair}` is neither key=value nor key:=json"))?;
    if let Some(key) = key.strip_suffix(':') {
        return serde_json::from_str(value)
            .map(|value| (key, value))
            .map_err(|error| format!("{key}: `{value}` is not JSON: {error}"));
    }
    if key.is_empty() {
        return Err(format!("`{pair}` has no key"));
    }
    let types = types(schema, key);
    if types.is_empty() || types.contains(&"string") {
        return Ok((key, Value::String(value.to_owned())));
    }
    serde_json::from_str(value)
        .ok()
        .filter(|value| types.iter().any(|name| is_of(value, name)))
        .map(|value| (key, value))
        .ok_or_else(|| format!("{key}: `{value}` is not of type {}", types.join(" or ")))
}

/// The types the schema names for a key; none when it names none.
fn types<'a>(schema: Option<&'a Value>, key: &str) -> Vec<&'a str> {
    let found = schema
        .and_then(|schema| schema.get("properties"))
        .and_then(|properties| properties.get(key))
        .and_then(|property| property.get("type"));
    match found {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(pairs: &[&str]) -> Result<Value, String> {
        let schema = json!({"type": "object", "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer"},
            "arguments": {"type": "object"},
            "note": {"type": ["string", "null"]},
        }});
        let pairs: Vec<_> = pairs.iter().map(ToString::to_string).collect();
        read(&pairs, Some(&schema)).map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn the_schema_decides_how_a_value_is_read() {
        assert_eq!(
            check(&["query=5", "limit=5", r#"arguments={"a":1}"#, "note=null"]),
            Ok(json!({"query": "5", "limit": 5, "arguments": {"a": 1}, "note": "null"}))
        );
        assert_eq!(check(&["query=a=b"]), Ok(json!({"query": "a=b"})));
        assert_eq!(check(&["query="]), Ok(json!({"query": ""})));
    }

    #[test]
    fn json_is_taken_as_it_is() {
        assert_eq!(
            check(&["note:=null", "other:=[1]"]),
            Ok(json!({"note": null, "other": [1]}))
        );
    }

    #[test]
    fn an_unknown_key_is_for_the_server_to_refuse() {
        assert_eq!(check(&["lmit=5"]), Ok(json!({"lmit": "5"})));
    }

    #[test]
    fn every_problem_is_told() {
        assert_eq!(
            check(&["limit=five", "query", "=x", "query=a", "query=b"]),
            Err(concat!(
                "limit: `five` is not of type integer; ",
                "`query` is neither key=value nor key:=json; ",
                "`=x` has no key; ",
                "query is given twice"
            )
            .to_owned())
        );
    }
}
