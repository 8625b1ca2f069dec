//! `memory_write`: the whole Memory, its limit, its past, and when it is offered.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stack;

use crate::checks::{check, check_refused};

#[tokio::test]
async fn a_memory_is_replaced_whole_and_the_newest_fifty_versions_stay() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(100).await?;
    for nth in 0..55_i64 {
        let content = format!("Version {nth} é");
        check(
            &run,
            "memory_write",
            json!({ "content": content }),
            json!({ "characters": content.chars().count(), "revisions": nth.min(50) }),
        )
        .await?;
    }
    let read = stack
        .backend
        .get(&format!("/v1/agents/{}/memory", stack.ada.id))
        .await?
        .expect(200)?;
    assert_eq!(read["content"], "Version 54 é");
    let oldest: String =
        sqlx::query_scalar("SELECT body FROM memory_revisions ORDER BY id LIMIT 1")
            .fetch_one(&mut stack.database().await?)
            .await?;
    assert_eq!(oldest, "Version 4 é");
    let next = stack.run(&stack.ada).await?;
    assert_eq!(next.body["memory"], "Version 54 é");
    Ok(())
}

#[tokio::test]
async fn twelve_thousand_characters_are_the_most_and_longer_changes_nothing() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    check(
        &run,
        "memory_write",
        json!({ "content": "é".repeat(12_000) }),
        json!({ "characters": 12_000, "revisions": 0 }),
    )
    .await?;
    check_refused(
        &run,
        "memory_write",
        json!({ "content": "é".repeat(12_001) }),
        "ERROR: 422 the content has 12001 characters",
        "nothing was stored",
    )
    .await?;
    let written = run
        .call("memory_write", json!({ "content": "a\0b" }))
        .await?;
    assert_eq!(written.json(), json!({ "characters": 3, "revisions": 1 }));
    let path = format!("agent/{}/memory.md", stack.ada.id);
    let read = run.call("note_get", json!({ "path": path })).await?.json();
    assert_eq!(read["content"], "a\u{fffd}b");
    check(
        &run,
        "memory_write",
        json!({ "content": "" }),
        json!({ "characters": 0, "revisions": 2 }),
    )
    .await
}

#[tokio::test]
async fn flag_and_binding_decide_whether_it_is_offered() -> Result<()> {
    let stack = Stack::storage().await?;
    let offered = |run: &tests::Run| run.offered().contains(&"memory_write".to_owned());
    assert!(offered(&stack.run(&stack.ada).await?));
    let mut document = stack.document();
    document["bindings"] =
        json!([{ "tool": "memory_write", "agent": stack.ada.id, "enabled": false }]);
    document["agents"][1]["config"] = json!({ "memory": false });
    stack.apply(&document).await?;
    let (ada, bob) = (stack.run(&stack.ada).await?, stack.run(&stack.bob).await?);
    assert!(!offered(&ada) && !offered(&bob));
    // With the binding off there still is a Memory; with the flag off there is none.
    assert_eq!(ada.body["memory"], "");
    assert_eq!(bob.body.get("memory"), None::<&Value>);
    let path = format!("agent/{}/memory.md", stack.ada.id);
    let write = json!({ "path": path, "content": "x" });
    check_refused(&ada, "note_write", write, "ERROR: 403 ", "switched off").await
}
