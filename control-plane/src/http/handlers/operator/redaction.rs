//! What agents wrote, without what is a secret now: it may have become one after the text was stored.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sqlx::PgConnection;

use crate::http::Api;
use crate::http::error::ApiError;
use crate::run::result::Redactor;
use crate::store::audit::reading::Change;
use crate::store::memory;
use crate::store::notes::{Level, history};

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

/// Takes the secrets of an organisation out of objects of a kind; notes other than Memories
/// stay as they were written.
///
/// # Errors
/// When the secrets can't be read.
pub(super) async fn hide(
    api: &Api,
    organisation: &str,
    kind: &str,
    objects: &mut [Value],
) -> Result<(), ApiError> {
    let mut db = api.engine.pool().acquire().await?;
    let redactor = api.engine.redactor(&mut db, organisation).await?;
    for object in objects {
        let path = object["path"].as_str().unwrap_or_default();
        if !is_kept_as_written(organisation, kind, path) {
            *object = written(object.take(), &redactor);
        }
    }
    Ok(())
}

/// Takes the secrets of an organisation out of changes of objects, as [`hide`] does.
///
/// # Errors
/// When the secrets can't be read.
pub(super) async fn hide_in_changes(
    api: &Api,
    db: &mut PgConnection,
    organisation: &str,
    changes: &mut [Change],
) -> Result<(), ApiError> {
    let redactor = api.engine.redactor(db, organisation).await?;
    for change in changes {
        if is_kept_as_written(organisation, &change.kind, &change.object) {
            continue;
        }
        let sides = [&mut change.before, &mut change.after];
        for side in sides.into_iter().flatten() {
            *side = hidden(side, &redactor).map_err(|error| ApiError::fault(&error))?;
        }
    }
    Ok(())
}

/// Whether an object is read as it was written: a record, and a note that is no Memory.
fn is_kept_as_written(organisation: &str, kind: &str, id: &str) -> bool {
    let is_memory = || {
        history::place(organisation, id)
            .is_some_and(|place| place.level == Level::Agent && place.key == memory::KEY)
    };
    kind == "records" || (kind == "notes" && !is_memory())
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
    fn notes_and_records_are_kept_as_written_and_a_memory_is_not() {
        let path = "agent/ada/memory.md";
        for (kind, id, kept) in [
            ("notes", "agent/ada/plan.md", true),
            ("notes", path, false),
            ("notes", "guild/core/memory.md", true),
            ("records", "books/7", true),
            ("secrets", "KEY", false),
            ("collections", "books", false),
        ] {
            assert_eq!(is_kept_as_written("acme", kind, id), kept, "{kind} {id}");
        }
    }

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
