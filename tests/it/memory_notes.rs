//! `task.md` and `memory.md`: always there, never deleted, and the second is the Memory.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stack;

use crate::checks::check_refused;

#[tokio::test]
async fn task_and_memory_always_exist_and_stay() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for key in ["task.md", "memory.md"] {
        let path = format!("agent/{}/{key}", stack.ada.id);
        let read = run.call("note_get", json!({ "path": path })).await?.json();
        assert_eq!(read["content"], "", "{path}");
        assert_eq!(read["access"], "write", "{path}");
        check_refused(&run, "note_delete", json!({ "path": path }), "ERROR: ", key).await?;
        for level in ["guild", "org"] {
            check_refused(
                &run,
                "note_write",
                json!({ "level": level, "key": key, "content": "x" }),
                "ERROR: ",
                key,
            )
            .await?;
        }
    }
    let memory = format!("agent/{}/memory.md", stack.ada.id);
    let full = "é".repeat(12_000);
    let written = run
        .call("note_write", json!({ "path": memory, "content": full }))
        .await?;
    assert_eq!(written.metadata["error"], Value::Null, "{written:?}");
    check_refused(
        &run,
        "note_write",
        json!({ "path": memory, "content": format!("{full}x") }),
        "ERROR: 422 ",
        "12,000",
    )
    .await?;
    assert_eq!(stack.run(&stack.ada).await?.body["memory"], full);
    Ok(())
}

#[tokio::test]
async fn memory_keeps_its_newest_50_revisions() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let path = format!("agent/{}/memory.md", stack.ada.id);
    for number in 0..53 {
        run.call(
            "note_write",
            json!({ "path": path, "content": format!("version {number}") }),
        )
        .await?;
    }
    let mut db = stack.database().await?;
    let (count, oldest): (i64, String) =
        sqlx::query_as("SELECT count(*), (array_agg(body ORDER BY id))[1] FROM memory_revisions")
            .fetch_one(&mut db)
            .await?;
    // 53 writes leave the 52 versions 0 to 51 behind, and of those the newest 50 stay.
    assert_eq!(count, 50);
    assert_eq!(oldest, "version 2");
    Ok(())
}

#[tokio::test]
async fn memory_is_refused_by_its_binding_and_its_flag() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["bindings"] = json!([{ "tool": "memory", "agent": stack.ada.id, "enabled": false }]);
    document["agents"][1]["config"] = json!({ "memory": false });
    stack.apply(&document).await?;
    let ada = stack.run(&stack.ada).await?;
    let path = format!("agent/{}/memory.md", stack.ada.id);
    check_refused(
        &ada,
        "note_write",
        json!({ "path": path, "content": "x" }),
        "ERROR: 403 ",
        "memory",
    )
    .await?;
    let bob = stack.run(&stack.bob).await?;
    let path = format!("agent/{}/memory.md", stack.bob.id);
    check_refused(
        &bob,
        "note_get",
        json!({ "path": path }),
        "ERROR: 404 ",
        "memory.md",
    )
    .await?;
    check_refused(
        &bob,
        "note_write",
        json!({ "path": path, "content": "x" }),
        "ERROR: 404 ",
        "memory.md",
    )
    .await?;
    Ok(())
}
