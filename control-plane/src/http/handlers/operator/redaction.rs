//! What agents wrote, without what is a secret now: it may have become one after the text was stored.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sqlx::PgConnection;

use crate::http::Api;
use crate::http::error::ApiError;
use crate::run::result::Redactor;

/// Fields that hold text somebody wrote.
const WRITTEN: [&str; 7] = [
    "answer",
    "content",
    "description",
    "detail",
    "reason",
    "source",
    "summary",
];
/// A field with a JSON Schema somebody wrote.
const SCHEMA: &str = "parameters";

/// An answer without the secrets of an organisation; the same to the byte when it has none.
///
/// # Errors
/// When the secrets can't be read.
pub(super) async fn without_secrets(
    api: &Api,
    db: &mut PgConnection,
    organisation: &str,
    answer: &(impl Serialize + Sync),
) -> Result<Box<RawValue>, ApiError> {
    let redactor = api.engine.redactor(db, organisation).await?;
    hidden(answer, &redactor).map_err(|error| ApiError::fault(&error))
}

fn hidden(answer: &impl Serialize, redactor: &Redactor) -> serde_json::Result<Box<RawValue>> {
    let text = to_raw_value(answer)?;
    if redactor.finds_nothing(text.get()) {
        return Ok(text);
    }
    to_raw_value(&written(serde_json::from_str(text.get())?, redactor))
}

fn written(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::Array(items) => items
            .into_iter()
            .map(|item| written(item, redactor))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| {
                let value = if key == SCHEMA || WRITTEN.contains(&key.as_str()) {
                    everywhere(value, redactor)
                } else {
                    written(value, redactor)
                };
                (key, value)
            })
            .collect(),
        other => other,
    }
}

fn everywhere(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.apply(&text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| everywhere(item, redactor))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (redactor.apply(&key), everywhere(value, redactor)))
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use serde_json::json;

    use super::*;
    use crate::run::result::Secret;

    #[test]
    fn what_was_written_holds_no_secret_and_the_rest_stays() {
        let secret = Secret {
            name: "K".to_owned(),
            value: SecretString::from("hunter22"),
        };
        let redactor = Redactor::new(1, vec![secret]);
        let answer = json!({
            "issues": [{ "id": 7, "guild": "hunter22", "summary": "a hunter22",
                "last_report": { "detail": "hunter22\nb", "agent": "ada" } }],
            "scripts": [{ "source": "print('hunter22')", "parameters": { "properties": { "hunter22": { "default": ["hunter22"] } } } }],
            "answer": null,
        });
        assert_eq!(
            hidden(&answer, &redactor).unwrap().get(),
            r#"{"issues":[{"id":7,"guild":"hunter22","summary":"a [redacted:K]","last_report":{"detail":"[redacted:K]\nb","agent":"ada"}}],"scripts":[{"source":"print('[redacted:K]')","parameters":{"properties":{"[redacted:K]":{"default":["[redacted:K]"]}}}}],"answer":null}"#
        );
        assert_eq!(
            hidden(&json!({ "b": 1.50, "a": "x" }), &redactor)
                .unwrap()
                .get(),
            r#"{"b":1.5,"a":"x"}"#
        );
    }
}
