//! A run's budget: the trailer, the low-budget line, and many calls at once.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stack;
use tests::api::LOW_BUDGET_LINE;

#[tokio::test]
async fn the_trailer_is_the_last_line_and_counts_down() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    let written = run
        .call(
            "note_write",
            json!({ "level": "agent", "key": "plan.md", "content": "Ship it." }),
        )
        .await?;
    assert_eq!(
        written.content,
        format!(
            "{{\"path\":\"agent/{}/plan.md\",\"created\":true}}\nremaining_tool_calls: 39",
            stack.ada.id
        )
    );
    let found = run.call("nothing_like_this", json!({})).await?;
    assert_eq!(
        found.content,
        "ERROR: unknown tool nothing_like_this\nremaining_tool_calls: 38"
    );
    Ok(())
}

#[tokio::test]
async fn the_low_budget_line_stands_above_the_trailer_from_eight_on() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(10).await?;
    let expected = [
        "ERROR: unknown tool x\nremaining_tool_calls: 9",
        "ERROR: unknown tool x\nWrite durable findings and finish with text. A batch costs one call each.\nremaining_tool_calls: 8",
        "ERROR: unknown tool x\nWrite durable findings and finish with text. A batch costs one call each.\nremaining_tool_calls: 7",
    ];
    for content in expected {
        assert_eq!(run.call("x", json!({})).await?.content, content);
    }
    Ok(())
}

#[tokio::test]
async fn with_none_left_a_call_is_refused_stored_and_free() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(1).await?;
    run.call("note_find", json!({})).await?;
    let refused = "ERROR: no tool calls remain in this run\n\
        Write durable findings and finish with text. A batch costs one call each.\n\
        remaining_tool_calls: 0";
    for id in ["a", "b", "a"] {
        let result = run.call_as(id, "note_find", json!({})).await?;
        assert_eq!(result.content, refused);
        assert_eq!(result.metadata["error"], "no tool calls remain in this run");
    }
    let messages = stack
        .backend
        .get(&run.path("/messages"))
        .await?
        .expect(200)?;
    assert_eq!(messages["messages"].as_array().map(Vec::len), Some(3));
    Ok(())
}

#[tokio::test]
async fn every_kind_of_failed_call_costs_one() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack
        .backend
        .start(&json!({ "agent": stack.bob.id, "kind": "direct", "max_tool_calls": 30 }))
        .await?;
    for (name, arguments, remaining) in [
        ("no_such_tool", json!({}), 29),
        ("shell", json!({ "command": "true" }), 28),
        ("note_get", json!({ "wrong": 1 }), 27),
        ("note_get", json!([1]), 26),
        ("note_get", json!({ "path": "guild/core/absent.md" }), 25),
        ("note_find", json!({}), 24),
    ] {
        let result = run.call(name, arguments).await?;
        let trailer = format!("\nremaining_tool_calls: {remaining}");
        assert!(result.content.ends_with(&trailer), "{result:?}");
    }
    Ok(())
}

/// Two hundred parallel calls on a budget of 50: exactly 50 run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_parallel_calls_run_exactly_the_budget() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(50).await?;
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let run = run.clone();
            tokio::spawn(async move {
                run.call_as(
                    &format!("call_{number}"),
                    "note_write",
                    json!({ "level": "agent", "key": format!("n{number}.md"), "content": "x" }),
                )
                .await
            })
        })
        .collect();
    let mut ran = BTreeSet::new();
    let mut refused = 0;
    for call in calls {
        let result = call.await??;
        if result.metadata["error"] == Value::Null {
            let (_, remaining) = result
                .content
                .rsplit_once("remaining_tool_calls: ")
                .unwrap_or_default();
            assert!(ran.insert(remaining.parse::<u32>()?), "{result:?} twice");
        } else {
            assert_eq!(
                result.content,
                format!(
                    "ERROR: no tool calls remain in this run\n{LOW_BUDGET_LINE}\nremaining_tool_calls: 0"
                )
            );
            refused += 1;
        }
    }
    assert_eq!(ran, (0..50).collect());
    assert_eq!(refused, 150);
    let mut db = stack.database().await?;
    let notes: i64 = sqlx::query_scalar("SELECT count(*) FROM artifacts WHERE key ~ '^n[0-9]+'")
        .fetch_one(&mut db)
        .await?;
    assert_eq!(notes, 50);
    Ok(())
}

#[tokio::test]
async fn a_batch_counts_down_in_its_order_and_storage_calls_see_each_other() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    let path = format!("agent/{}/a.md", stack.ada.id);
    let results = run
        .batch(json!([
            { "id": "1", "name": "note_write", "arguments": { "level": "agent", "key": "a.md", "content": "one" } },
            { "id": "2", "name": "note_get", "arguments": { "path": path } },
            { "id": "3", "name": "note_write", "arguments": { "path": path, "content": "two" } },
            { "id": "4", "name": "note_get", "arguments": { "path": path } },
            { "id": "5", "name": "note_delete", "arguments": { "path": path } },
        ]))
        .await?;
    let ids: Vec<_> = results.iter().map(|result| result.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
    for (result, remaining) in results.iter().zip([39, 38, 37, 36, 35]) {
        let trailer = format!("\nremaining_tool_calls: {remaining}");
        assert!(result.content.ends_with(&trailer), "{result:?}");
    }
    assert_eq!(results[0].json(), json!({ "path": path, "created": true }));
    assert_eq!(results[1].json()["content"], "one");
    assert_eq!(results[2].json(), json!({ "path": path, "created": false }));
    assert_eq!(results[3].json()["content"], "two");
    assert_eq!(results[4].json(), json!({ "path": path, "deleted": true }));
    Ok(())
}

#[tokio::test]
async fn a_batch_over_the_budget_runs_its_first_calls() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(2).await?;
    let calls: Vec<_> = (1..=4)
        .map(|id| json!({ "id": id.to_string(), "name": "note_find", "arguments": {} }))
        .collect();
    let errors: Vec<_> = run
        .batch(json!(calls))
        .await?
        .into_iter()
        .map(|result| result.metadata["error"].clone())
        .collect();
    assert_eq!(
        errors,
        [
            json!(null),
            json!(null),
            json!("no tool calls remain in this run"),
            json!("no tool calls remain in this run")
        ]
    );
    Ok(())
}
