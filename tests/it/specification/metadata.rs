//! "Tools in a run", reference: what is recorded of each call.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Value, json};
use tests::{CallResult, Stack};

const FIELDS: [&str; 7] = [
    "duration_ms",
    "error",
    "original_bytes",
    "output_filter",
    "stored_bytes",
    "tool_name",
    "truncated",
];

fn fields(result: &CallResult) -> BTreeSet<&str> {
    let metadata = result.metadata.as_object();
    metadata
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str())
        .collect()
}

#[tokio::test]
async fn each_call_records_its_seven_fields_whatever_became_of_it() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.bob).await?;
    for (name, arguments) in [
        ("note_find", json!({})),
        ("note_find", json!({ "limit": "many" })),
        ("note_get", json!({ "path": "agent/nobody/none.md" })),
        ("browser_snapshot", json!({})),
        ("no_such_tool", json!({})),
        ("note_find", json!("not JSON")),
    ] {
        let result = run.call(name, arguments).await?;
        assert_eq!(fields(&result), BTreeSet::from(FIELDS), "{result:?}");
        assert_eq!(result.metadata["tool_name"], name);
        assert_eq!(result.metadata["stored_bytes"], result.content.len());
    }
    Ok(())
}

#[tokio::test]
async fn the_same_is_in_the_stored_messages_metadata() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.bob).await?;
    let result = run.call("note_find", json!({})).await?;
    let messages = stack
        .backend
        .get(&run.path("/messages"))
        .await?
        .expect(200)?;
    assert_eq!(messages["messages"][0]["metadata"], result.metadata);
    assert_eq!(messages["messages"][0]["content"], result.content);
    Ok(())
}

#[tokio::test]
async fn a_script_run_call_also_records_its_exit_code() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.bob).await?;
    let script = json!({ "name": "ends", "description": "Ends.", "source": "raise SystemExit(3)" });
    run.call("script_create", script).await?;
    let result = run.call("script_run", json!({ "name": "ends" })).await?;
    assert_eq!(result.metadata["exit_code"], 3);
    assert_eq!(result.metadata["error"], Value::Null);
    let mut expected = BTreeSet::from(FIELDS);
    expected.insert("exit_code");
    assert_eq!(fields(&result), expected);
    Ok(())
}
