//! `/v1/runs/{run}/calls`: the calls of a run: made in batches, cancelled one by one.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::value::RawValue;

use super::query::Parameters;
use super::{InPath, run_id};
use crate::http::Api;
use crate::http::auth::Backend;
use crate::http::error::{ApiError, body};
use crate::http::fields::Fields;
use crate::http::payload::Payload;
use crate::run::call::CallInput;

/// Most calls of a batch.
const MAX_CALLS: usize = 128;
/// Most characters of a call id.
const MAX_ID: usize = 200;
/// Most characters of a name; what is longer is no tool's and not worth storing.
const MAX_NAME: usize = 1_000;

/// `POST /v1/runs/{run}/calls`
pub(in crate::http) async fn make(
    _: Backend,
    State(api): State<Api>,
    InPath(run): InPath<String>,
    query: Parameters,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    query.finish()?;
    let run = run_id(&run)?;
    let calls = read(&bytes)?;
    drop(bytes);
    let results = api.engine.call(run, calls).await?;
    Ok(body(StatusCode::OK, &results))
}

/// `POST /v1/runs/{run}/calls/{call}/cancel`
pub(in crate::http) async fn cancel(
    _: Backend,
    State(api): State<Api>,
    InPath((run, call)): InPath<(String, String)>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let run = run_id(&run)?;
    if call.contains('\0') {
        // No call has such an id, and the database takes no such text.
        return Err(ApiError::not_found(format!(
            "no call of that id in run {run}"
        )));
    }
    let result = api.engine.cancel(run, &call).await?;
    Ok(body(StatusCode::OK, &result))
}

fn read(bytes: &[u8]) -> Result<Vec<CallInput>, ApiError> {
    let mut fields = Fields::body(bytes)?;
    let wanted = "an array of 1 to 128 calls";
    let Some(raw) = fields.raw("calls") else {
        fields.problem("calls", &format!("is missing; it has to be {wanted}"));
        fields.finish()?;
        return Ok(Vec::new());
    };
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
        let found = crate::http::fields::kind(raw);
        fields.problem("calls", &format!("is {found}; it has to be {wanted}"));
        fields.finish()?;
        return Ok(Vec::new());
    };
    if items.is_empty() || items.len() > MAX_CALLS {
        fields.problem(
            "calls",
            &format!("has {}; it has to be {wanted}", items.len()),
        );
    }
    let mut calls = Vec::new();
    // Beyond the limit there is nothing to learn from single calls.
    for (number, item) in items.into_iter().take(MAX_CALLS).enumerate() {
        match one(number, item) {
            Ok(call) => calls.push(call),
            Err(problems) => fields.adopt(problems),
        }
    }
    fields.finish()?;
    Ok(calls)
}

fn one(number: usize, item: &RawValue) -> Result<CallInput, Vec<String>> {
    let mut fields = Fields::object(format!("calls[{number}]."), item).map_err(|found| {
        vec![format!(
            "`calls[{number}]` is {found}; it has to be an object"
        )]
    })?;
    let id = fields.required::<String>("id", "a string of 1 to 200 characters");
    if let Some(id) = &id {
        let length = id.chars().count();
        if !(1..=MAX_ID).contains(&length) {
            fields.problem(
                "id",
                &format!("has {length} characters; allowed are 1 to {MAX_ID}"),
            );
        }
        if id.contains('\0') {
            fields.problem("id", "holds U+0000, which can't be stored");
        }
    }
    let name = fields.required::<String>("name", "a tool's name");
    if let Some(name) = &name
        && name.chars().count() > MAX_NAME
    {
        fields.problem("name", &format!("has more than {MAX_NAME} characters"));
    }
    let arguments = fields.raw("arguments").map(ToOwned::to_owned);
    let problems = fields.into_problems();
    match (id, name) {
        (Some(id), Some(name)) if problems.is_empty() => Ok(CallInput {
            id,
            name,
            arguments,
        }),
        _ => Err(problems),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_read_with_its_arguments_as_received() {
        let calls = read(br#"{"calls":[{"id":"a","name":"note_get","arguments":{"n":1.50}},{"id":"b","name":"x"}]}"#).unwrap();
        assert_eq!(calls[0].arguments.as_ref().unwrap().get(), r#"{"n":1.50}"#);
        assert!(calls[1].arguments.is_none());
    }

    #[test]
    fn a_batch_of_129_is_refused() {
        let items = vec![r#"{"id":"a","name":"b"}"#; 129].join(",");
        assert!(read(format!(r#"{{"calls":[{items}]}}"#).as_bytes()).is_err());
        let items = vec![r#"{"id":"a","name":"b"}"#; 128].join(",");
        assert_eq!(
            read(format!(r#"{{"calls":[{items}]}}"#).as_bytes())
                .unwrap()
                .len(),
            128
        );
        assert!(read(br#"{"calls":[]}"#).is_err());
    }
}
