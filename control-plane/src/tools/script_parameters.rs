//! The schema that a script declares for its arguments, checked before it is stored.

use serde_json::Value;
use serde_json::value::RawValue;

use super::ToolError;
use super::validation::check_schema;

/// Most bytes of a script's schema.
const MAX_BYTES: usize = 65_536;

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
    check_schema(&schema).or_else(refuse)
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
            Err("422 parameters can't be used: $ref https://example.com/s.json"),
        );
    }

    #[test]
    fn a_reference_means_a_place_in_the_schema_and_nothing_else() {
        for schema in [
            r##"{"$id":"http://e/s","type":"object","allOf":[{"$ref":"http://e/s"}]}"##,
            r##"{"type":"object","$ref":"#/%24defs/a","$defs":{"a":{}}}"##,
            r##"{"type":"object","$ref":"#/$defs/b","$defs":{"a":{}}}"##,
        ] {
            check_schema(schema, Err("is no place in this schema"));
        }
        check_schema(
            r##"{"type":"object","properties":{"x":{"$id":"http://e/x","$ref":"#/$defs/q","$defs":{"q":{"$ref":"#"}}}}}"##,
            Err("only the top may have an $id"),
        );
        check_schema(
            r##"{"$id":"http://e/s","type":"object","properties":{"$id":{"$ref":"#name"},"$ref":{"type":"string"}},"$defs":{"n":{"$anchor":"name","type":"string"}}}"##,
            Ok(()),
        );
    }

    #[test]
    fn references_that_fan_out_are_refused() {
        let chain = |length: usize| {
            let definitions: Vec<String> = (0..length)
                .map(|n| {
                    let next = format!(r##"{{"$ref":"#/$defs/a{}"}}"##, n + 1);
                    format!(r#""a{n}":{{"anyOf":[{next},{next}]}}"#)
                })
                .collect();
            format!(
                r##"{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/a0"}}}},"$defs":{{{},"a{length}":{{"type":"string"}}}}}}"##,
                definitions.join(",")
            )
        };
        check_schema(&chain(5), Ok(()));
        check_schema(
            &chain(30),
            Err("refer to more than 1000 subschemas for one value"),
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
