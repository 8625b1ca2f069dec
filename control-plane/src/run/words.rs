//! The words of an offer without secrets: agents and connectors wrote some of them.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::error::RunError;
use super::offer::{OfferedTool, Source};
use super::result::Redactor;

/// The types of JSON Schema. A secret that reads like one must not break every schema.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Tools whose words hold no secret. The native ones are the product's own words, so they
/// stay as they are.
pub(super) fn redacted(mut tools: Vec<OfferedTool>, redactor: &Redactor) -> Vec<OfferedTool> {
    for tool in &mut tools {
        if tool.source == Source::Native {
            continue;
        }
        tool.description = redactor.apply(&tool.description);
        if !redactor.finds_nothing(tool.input_schema.get()) {
            tool.input_schema = schema(&tool.input_schema, redactor);
        }
    }
    tools
}

/// The JSON text of an offer, the same to the byte when there is nothing to take out.
pub(super) fn redacted_text(text: String, redactor: &Redactor) -> Result<String, RunError> {
    if redactor.finds_nothing(&text) {
        return Ok(text);
    }
    let tools = redacted(serde_json::from_str(&text)?, redactor);
    Ok(serde_json::to_string(&tools)?)
}

fn schema(schema: &RawValue, redactor: &Redactor) -> Box<RawValue> {
    let redacted = serde_json::from_str(schema.get())
        .map(|value| without_secrets(value, redactor))
        .and_then(|value| to_raw_value(&value));
    // A schema was JSON when it was stored; one that is not says nothing.
    redacted.unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn without_secrets(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.apply(&text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| without_secrets(item, redactor))
            .collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| {
                let value = if key == "type" && is_type(&value) {
                    value
                } else {
                    without_secrets(value, redactor)
                };
                (redactor.apply(&key), value)
            })
            .collect(),
        other => other,
    }
}

fn is_type(value: &Value) -> bool {
    match value {
        Value::String(word) => TYPES.contains(&word.as_str()),
        Value::Array(words) => words
            .iter()
            .all(|word| word.as_str().is_some_and(|word| TYPES.contains(&word))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::result::Secret;
    use super::*;

    fn redactor() -> Redactor {
        let secret = |name: &str, value: &str| Secret {
            name: name.to_owned(),
            value: value.into(),
        };
        Redactor::new(1, vec![secret("K", "hunter22"), secret("O", "object")])
    }

    fn tool(source: Source, description: &str, schema: &str) -> OfferedTool {
        OfferedTool {
            name: "t".to_owned(),
            description: description.to_owned(),
            input_schema: RawValue::from_string(schema.to_owned()).unwrap(),
            source,
            connector: None,
        }
    }

    #[test]
    fn what_an_agent_wrote_is_redacted_and_stays_a_schema() {
        let schema = r#"{"type":"object","properties":{"type":{"type":["string","null"],"default":"hunter22"},"hunter22":{"description":"an object"}}}"#;
        let tools = redacted(
            vec![tool(Source::Script, "use hunter22", schema)],
            &redactor(),
        );
        assert_eq!(tools[0].description, "use [redacted:K]");
        assert_eq!(
            tools[0].input_schema.get(),
            r#"{"type":"object","properties":{"type":{"type":["string","null"],"default":"[redacted:K]"},"[redacted:K]":{"description":"an [redacted:O]"}}}"#
        );
    }

    #[test]
    fn the_products_own_words_stay() {
        let schema = r#"{"type":"object"}"#;
        let tools = redacted(vec![tool(Source::Native, "an object", schema)], &redactor());
        assert_eq!(tools[0].description, "an object");
        assert_eq!(tools[0].input_schema.get(), schema);
    }

    #[test]
    fn a_text_with_nothing_to_take_out_is_the_same_to_the_byte() {
        let text = r#"[ {"name":"t"} ]"#;
        assert_eq!(redacted_text(text.to_owned(), &redactor()).unwrap(), text);
    }
}
