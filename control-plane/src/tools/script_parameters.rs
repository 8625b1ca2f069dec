//! The schema that a script declares for its arguments, checked before it is stored.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_json::value::RawValue;

use super::ToolError;
use super::validation::{compile, one_line, shown};

/// Most bytes of a script's schema.
const MAX_BYTES: usize = 65_536;
/// Most subschemas that hold for one value at once.
const MAX_DEPTH: usize = 64;

/// Refuses a schema that is none, reaches outside itself or describes no object.
///
/// # Errors
/// 422 with what is wrong.
pub(super) fn check(parameters: &RawValue) -> Result<(), ToolError> {
    let refuse = |what: String| Err(ToolError::invalid(format!("parameters {what}")));
    if parameters.get().len() > MAX_BYTES {
        return refuse(format!("are larger than {MAX_BYTES} bytes"));
    }
    if parameters.get().contains("\\u0000") {
        return refuse("hold U+0000".to_owned());
    }
    let schema: Value = match serde_json::from_str(parameters.get()) {
        Ok(schema) => schema,
        Err(error) => return refuse(format!("are not readable as JSON: {error}")),
    };
    let Value::Object(map) = &schema else {
        return refuse("are no JSON Schema object".to_owned());
    };
    if map.get("type").and_then(Value::as_str) != Some("object") {
        return refuse(
            r#"must describe an object: give them "type": "object" and the keys in "properties""#
                .to_owned(),
        );
    }
    let valid = jsonschema::draft202012::meta::validate(&schema).map_err(|error| {
        (
            error.instance_path().to_string(),
            error.masked().to_string(),
        )
    });
    if let Err((place, words)) = valid {
        return refuse(format!(
            "are no valid JSON Schema: at {}: {}",
            if place.is_empty() { "the top" } else { &place },
            shown(&one_line(&words))
        ));
    }
    if circular(&schema, &schema, &mut BTreeSet::new(), MAX_DEPTH) {
        return refuse("refer to themselves without an end".to_owned());
    }
    match compile(&schema) {
        Ok(_) => Ok(()),
        Err(words) => refuse(format!("can't be used: {}", shown(&words))),
    }
}

/// Whether any subschema comes back to itself for one and the same value, so that
/// checking a value against it would never end.
fn circular(root: &Value, node: &Value, seen: &mut BTreeSet<String>, depth: usize) -> bool {
    if endless(root, node, seen, depth) {
        return true;
    }
    match node {
        Value::Object(map) => map
            .values()
            .any(|inner| circular(root, inner, &mut BTreeSet::new(), depth)),
        Value::Array(list) => list
            .iter()
            .any(|inner| circular(root, inner, &mut BTreeSet::new(), depth)),
        _ => false,
    }
}

/// Follows the keywords that look at the same value again.
fn endless(root: &Value, node: &Value, seen: &mut BTreeSet<String>, depth: usize) -> bool {
    let Value::Object(map) = node else {
        return false;
    };
    if depth == 0 {
        return true;
    }
    for key in ["$ref", "$dynamicRef"] {
        if let Some(Value::String(target)) = map.get(key) {
            if !seen.insert(target.clone()) {
                return true;
            }
            let next = resolve(root, target);
            if next.is_some_and(|next| endless(root, next, seen, depth - 1)) {
                return true;
            }
            seen.remove(target);
        }
    }
    let lists = ["allOf", "anyOf", "oneOf"]
        .iter()
        .filter_map(|key| map.get(*key));
    let single = ["not", "if", "then", "else"]
        .iter()
        .filter_map(|key| map.get(*key));
    let named = map.get("dependentSchemas").and_then(Value::as_object);
    lists
        .filter_map(Value::as_array)
        .flatten()
        .chain(single)
        .chain(named.into_iter().flat_map(|named| named.values()))
        .any(|inner| endless(root, inner, seen, depth - 1))
}

/// What a reference inside the schema means; the ones outside don't compile.
fn resolve<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    let fragment = target.strip_prefix('#')?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(fragment);
    }
    anchored(root, fragment)
}

fn anchored<'a>(node: &'a Value, name: &str) -> Option<&'a Value> {
    match node {
        Value::Object(map) => {
            let named = ["$anchor", "$dynamicAnchor"]
                .iter()
                .any(|key| map.get(*key).and_then(Value::as_str) == Some(name));
            if named {
                return Some(node);
            }
            map.values().find_map(|inner| anchored(inner, name))
        }
        Value::Array(list) => list.iter().find_map(|inner| anchored(inner, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_schema(schema: &str, expected: Result<(), &str>) {
        let raw = RawValue::from_string(schema.to_owned()).unwrap();
        match (check(&raw).map_err(|error| error.to_string()), expected) {
            (Ok(()), Ok(())) => {}
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            (found, expected) => panic!("{schema}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn parameters_describe_an_object() {
        check_schema(r#"{"type":"object"}"#, Ok(()));
        check_schema(
            r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#,
            Ok(()),
        );
        for schema in [
            r#"{"type":"string"}"#,
            "{}",
            r#"{"type":["object","null"]}"#,
        ] {
            check_schema(schema, Err("422 parameters must describe an object"));
        }
    }

    #[test]
    fn what_is_no_schema_is_refused_with_the_place() {
        check_schema(
            r#"{"type":"object","properties":{"n":{"type":"intger"}}}"#,
            Err("422 parameters are no valid JSON Schema: at /properties/n/type"),
        );
        check_schema(r#"{"type":"object","required":"n"}"#, Err("at /required"));
        check_schema(
            r#"{"type":"object","properties":{"n":{"pattern":"("}}}"#,
            Err("422 parameters"),
        );
    }

    #[test]
    fn a_schema_reaches_nothing_outside_itself() {
        check_schema(
            r#"{"type":"object","properties":{"n":{"$ref":"https://example.com/s.json"}}}"#,
            Err("422 parameters can't be used"),
        );
    }

    #[test]
    fn a_reference_that_never_ends_is_refused_and_a_tree_is_not() {
        check_schema(
            r##"{"type":"object","$ref":"#"}"##,
            Err("422 parameters refer to themselves without an end"),
        );
        check_schema(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}"##,
            Err("without an end"),
        );
        check_schema(
            r##"{"type":"object","properties":{"next":{"$ref":"#"},"list":{"type":"array","items":{"$ref":"#"}}}}"##,
            Ok(()),
        );
    }
}
