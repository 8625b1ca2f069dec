//! "Tools in a run": the schemas that a model sees.

use anyhow::Result;
use control_plane::run::arguments::without_empty;
use control_plane::run::schema::rewrite;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tests::Stack;

const LINE: &str = "Optional. Omit this key when unused; do not pass an empty value.";

#[track_caller]
fn check(published: &Value, shown: &Value) -> Result<()> {
    let found: Value = serde_json::from_str(rewrite(&published.to_string()).get())?;
    assert_eq!(found, *shown);
    Ok(())
}

fn raw(value: &Value) -> Result<Box<RawValue>> {
    Ok(RawValue::from_string(value.to_string())?)
}

/// Every schema in a value that is one, with the keys that it requires.
fn walk(node: &Value, seen: &mut impl FnMut(&Value)) {
    seen(node);
    for inner in node["properties"].as_object().into_iter().flatten() {
        walk(inner.1, seen);
    }
    if node["items"].is_object() {
        walk(&node["items"], seen);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for inner in node[key].as_array().into_iter().flatten() {
            walk(inner, seen);
        }
    }
}

#[tokio::test]
async fn every_native_tool_declares_a_schema_of_an_object() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for tool in run.body["tools"].as_array().into_iter().flatten() {
        assert_eq!(tool["input_schema"]["type"], "object", "{tool}");
        assert!(tool["input_schema"]["properties"].is_object(), "{tool}");
    }
    Ok(())
}

#[tokio::test]
async fn every_offered_schema_is_changed_before_a_model_sees_it() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let mut told = 0;
    for tool in run.body["tools"].as_array().into_iter().flatten() {
        walk(&tool["input_schema"], &mut |node| {
            assert!(node.get("$schema").is_none(), "{tool}");
            assert_ne!(
                node.get("additionalProperties"),
                Some(&json!(false)),
                "{tool}"
            );
            for (key, property) in node["properties"].as_object().into_iter().flatten() {
                let required = node["required"]
                    .as_array()
                    .is_some_and(|names| names.contains(&json!(key)));
                if required {
                    continue;
                }
                assert!(property.get("format").is_none(), "{key} of {tool}");
                if property["type"] == "string" {
                    let words = property["description"].as_str().unwrap_or_default();
                    assert!(words.to_lowercase().contains("omit"), "{key} of {tool}");
                    told += 1;
                }
            }
        });
    }
    assert!(told > 5, "{told}");
    Ok(())
}

#[test]
fn format_is_removed_from_optional_and_nullable_properties() -> Result<()> {
    check(
        &json!({ "type": "object", "required": ["a", "b"], "properties": {
            "a": { "type": "integer", "format": "int32" },
            "b": { "type": ["integer", "null"], "format": "int32" },
            "c": { "type": "integer", "format": "int32" } } }),
        &json!({ "type": "object", "required": ["a", "b"], "properties": {
            "a": { "type": "integer", "format": "int32" },
            "b": { "type": ["integer", "null"] },
            "c": { "type": "integer" } } }),
    )
}

#[test]
fn format_is_removed_in_nested_objects_and_array_items_too() -> Result<()> {
    check(
        &json!({ "type": "object", "properties": { "o": { "type": "object", "required": ["l"], "properties": {
            "l": { "type": "array", "items": { "type": "integer", "format": "int64" } } } } } }),
        &json!({ "type": "object", "properties": { "o": { "type": "object", "required": ["l"], "properties": {
            "l": { "type": "array", "items": { "type": "integer" } } } } } }),
    )
}

#[test]
fn additional_properties_false_and_the_dialect_are_removed() -> Result<()> {
    check(
        &json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
            "properties": { "m": { "type": "object", "properties": {}, "additionalProperties": { "type": "integer" } } } }),
        &json!({ "type": "object",
            "properties": { "m": { "type": "object", "properties": {}, "additionalProperties": { "type": "integer" } } } }),
    )
}

#[test]
fn an_optional_string_that_does_not_say_so_gets_the_line() -> Result<()> {
    check(
        &json!({ "type": "object", "required": ["r"], "properties": {
            "r": { "type": "string", "description": "Needed." },
            "s": { "type": "string", "description": "Perhaps." },
            "t": { "type": "string", "description": "Omit it for all." },
            "u": { "type": "string" },
            "n": { "type": "integer", "description": "A number." } } }),
        &json!({ "type": "object", "required": ["r"], "properties": {
            "r": { "type": "string", "description": "Needed." },
            "s": { "type": "string", "description": format!("Perhaps.\n{LINE}") },
            "t": { "type": "string", "description": "Omit it for all." },
            "u": { "type": "string", "description": LINE },
            "n": { "type": "integer", "description": "A number." } } }),
    )
}

#[test]
fn an_empty_string_to_a_connector_is_dropped_when_its_key_is_optional() -> Result<()> {
    let schema = json!({ "type": "object", "required": ["query"],
        "properties": { "query": { "type": "string" }, "start_date": { "type": "string" } } });
    let sent = without_empty(
        &schema.to_string(),
        &raw(&json!({ "query": "x", "start_date": "" }))?,
    );
    assert_eq!(sent.get(), r#"{"query":"x"}"#);
    Ok(())
}

#[test]
fn an_empty_string_to_a_connector_for_a_required_key_is_sent_as_is() -> Result<()> {
    let schema = json!({ "type": "object", "required": ["query"],
        "properties": { "query": { "type": "string" } } });
    let sent = without_empty(&schema.to_string(), &raw(&json!({ "query": "" }))?);
    assert_eq!(sent.get(), r#"{"query":""}"#);
    Ok(())
}
