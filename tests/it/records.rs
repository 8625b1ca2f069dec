//! The record tools: what is stored, what is found, what is refused, and what holds under races.

mod access;
mod finding;
mod grammar;
mod hostile;
mod locales;
mod narrowing;
mod operators;
mod races;
mod writing;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::{Run, Stack};

/// The collection of the contract's document, open to the guild, and with a few more columns.
pub(crate) fn contacts() -> Value {
    json!({
        "name": "contacts",
        "description": "People we talk to",
        "unique": "email",
        "columns": [
            { "name": "email", "type": "text", "required": true },
            { "name": "name", "type": "text" },
            { "name": "stage", "type": "text", "values": ["lead", "client", "lost"] },
            { "name": "amount", "type": "number" },
            { "name": "met_at", "type": "datetime" },
            { "name": "tags", "type": "array" },
            { "name": "areas", "type": "array", "values": ["north", "south"] },
            { "name": "vip", "type": "boolean" },
        ],
        "access": [{ "guild": "core", "access": "write" }],
    })
}

/// A stack with the collection, and a run of ada.
pub(crate) async fn with_contacts() -> Result<(Stack, Run)> {
    let stack = Stack::storage().await?;
    stack.apply(&json!({ "collections": [contacts()] })).await?;
    let run = stack.run_with_budget(1_000).await?;
    Ok((stack, run))
}

/// Adds a record and answers its id.
pub(crate) async fn add(run: &Run, body: Value) -> Result<i64> {
    let result = run
        .call(
            "record_add",
            json!({ "collection": "contacts", "body": body }),
        )
        .await?;
    assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
    result.json()["record"]["id"].as_i64().context("an id")
}

/// The `name` of each record in an answer, in its order.
pub(crate) fn names(answer: &Value) -> Vec<String> {
    let records = answer["records"].as_array().cloned().unwrap_or_default();
    let name = |record: &Value| record["body"]["name"].as_str().unwrap_or("-").to_owned();
    records.iter().map(name).collect()
}

/// What a list narrowed by `narrowed` holds, by name.
pub(crate) async fn listed(run: &Run, narrowed: Value) -> Result<Vec<String>> {
    let arguments = json!({ "collection": "contacts", "where": narrowed, "limit": 100 });
    let result = run.call("record_list", arguments).await?;
    assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
    let answer = result.json();
    let found = names(&answer);
    assert_eq!(answer["total"], found.len(), "{answer}");
    Ok(found)
}

/// What a search finds, by name.
pub(crate) async fn found(run: &Run, query: &str) -> Result<Vec<String>> {
    let result = run
        .call("record_search", json!({ "query": query, "limit": 100 }))
        .await?;
    assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
    Ok(names(&result.json()))
}
