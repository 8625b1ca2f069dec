//! Many writers at once: no value lost, no unique value twice.

use anyhow::Result;
use serde_json::{Value, json};
use tests::{CallResult, Run, Stack};
use tokio::task::JoinSet;

use super::{add, contacts, with_contacts};

/// One call from as many runs as there are arguments, at the same time.
async fn at_once(stack: &Stack, calls: Vec<(&'static str, Value)>) -> Result<Vec<CallResult>> {
    let mut runs: Vec<Run> = Vec::new();
    for _ in &calls {
        runs.push(stack.run(&stack.ada).await?);
    }
    let mut tasks = JoinSet::new();
    for (run, (name, arguments)) in runs.into_iter().zip(calls) {
        tasks.spawn(async move { run.call(name, arguments).await });
    }
    let mut results = Vec::new();
    while let Some(result) = tasks.join_next().await {
        results.push(result??);
    }
    Ok(results)
}

/// The collection with that many columns more, `c0` and so on.
async fn with_columns(count: usize) -> Result<(Stack, Run)> {
    let stack = Stack::storage().await?;
    let mut collection = contacts();
    for nth in 0..count {
        let column = json!({ "name": format!("c{nth}"), "type": "number" });
        if let Some(columns) = collection["columns"].as_array_mut() {
            columns.push(column);
        }
    }
    stack.apply(&json!({ "collections": [collection] })).await?;
    let run = stack.run_with_budget(1_000).await?;
    Ok((stack, run))
}

async fn count(stack: &Stack, sql: &'static str) -> Result<i64> {
    let mut db = stack.database().await?;
    Ok(sqlx::query_scalar(sql).fetch_one(&mut db).await?)
}

#[tokio::test]
async fn twenty_adds_of_one_unique_value_make_one_record_with_every_key() -> Result<()> {
    let (stack, run) = with_columns(20).await?;
    let calls = (0..20)
        .map(|nth| {
            let mut body = json!({ "email": "one@x.y" });
            body[format!("c{nth}")] = nth.into();
            (
                "record_add",
                json!({ "collection": "contacts", "body": body }),
            )
        })
        .collect();
    let results = at_once(&stack, calls).await?;
    let merged = results
        .iter()
        .filter(|r| r.text().contains("merged into existing record"));
    assert_eq!(merged.count(), 19, "{results:?}");
    let list = run
        .call("record_list", json!({ "collection": "contacts" }))
        .await?
        .json();
    assert_eq!(list["total"], 1);
    for nth in 0..20 {
        assert_eq!(list["records"][0]["body"][format!("c{nth}")], nth, "{list}");
    }
    Ok(())
}

#[tokio::test]
async fn a_hundred_updates_of_different_keys_lose_none() -> Result<()> {
    // At most 64 columns: each of 50 is written twice.
    let (stack, run) = with_columns(50).await?;
    let id = add(&run, json!({ "email": "one@x.y" })).await?;
    let calls = (0..100)
        .map(|nth| {
            let mut body = json!({});
            body[format!("c{}", nth % 50)] = 7.into();
            (
                "record_update",
                json!({ "collection": "contacts", "id": id, "body": body }),
            )
        })
        .collect();
    for result in at_once(&stack, calls).await? {
        assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
    }
    let list = run
        .call("record_list", json!({ "collection": "contacts" }))
        .await?
        .json();
    for nth in 0..50 {
        assert_eq!(list["records"][0]["body"][format!("c{nth}")], 7);
    }
    Ok(())
}

#[tokio::test]
async fn adds_and_removes_at_once_never_leave_two_live_records_of_one_value() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    for round in 0..6 {
        let id = add(&run, json!({ "email": "one@x.y" })).await?;
        let mut calls = vec![(
            "record_remove",
            json!({ "collection": "contacts", "id": id }),
        )];
        calls.extend((0..5).map(|nth| {
            let body = json!({ "email": "one@x.y", "name": format!("{round} {nth}") });
            (
                "record_add",
                json!({ "collection": "contacts", "body": body }),
            )
        }));
        for result in at_once(&stack, calls).await? {
            assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
        }
        let live = "SELECT count(*) FROM records WHERE deleted_at IS NULL";
        assert!((0..=1).contains(&count(&stack, live).await?));
        // What is counted beside is what there is.
        let counted = "SELECT coalesce(sum(live), 0)::bigint FROM record_counts";
        assert_eq!(count(&stack, counted).await?, count(&stack, live).await?);
    }
    Ok(())
}

#[tokio::test]
async fn a_unique_value_that_two_updates_want_goes_to_one() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let mut ids = Vec::new();
    for nth in 0..6 {
        ids.push(add(&run, json!({ "email": format!("{nth}@x.y") })).await?);
    }
    let calls = ids
        .iter()
        .map(|id| {
            let body = json!({ "email": "wanted@x.y" });
            (
                "record_update",
                json!({ "collection": "contacts", "id": id, "body": body }),
            )
        })
        .collect();
    let results = at_once(&stack, calls).await?;
    let taken = |result: &&CallResult| result.text().contains("has this value already");
    assert_eq!(results.iter().filter(taken).count(), 5, "{results:?}");
    Ok(())
}
