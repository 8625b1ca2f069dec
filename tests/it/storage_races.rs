//! Storage tools and documents at once: one winner, nothing lost, limits held.

use anyhow::Result;
use serde_json::{Value, json};
use tests::{CallResult, Run, Stack};

/// The same call from six runs at the same time, with its number in the arguments.
async fn at_once(
    runs: &[Run; 6],
    name: &str,
    arguments: impl Fn(usize) -> Value,
) -> Result<[CallResult; 6]> {
    let call = |nth: usize| runs[nth].call(name, arguments(nth));
    let (a, b, c, d, e, f) =
        tokio::try_join!(call(0), call(1), call(2), call(3), call(4), call(5))?;
    Ok([a, b, c, d, e, f])
}

async fn six_runs(stack: &Stack) -> Result<[Run; 6]> {
    Ok([
        stack.run(&stack.ada).await?,
        stack.run(&stack.bob).await?,
        stack.run(&stack.ada).await?,
        stack.run(&stack.bob).await?,
        stack.run(&stack.ada).await?,
        stack.run(&stack.bob).await?,
    ])
}

async fn count(stack: &Stack, sql: &'static str) -> Result<i64> {
    let mut db = stack.database().await?;
    Ok(sqlx::query_scalar(sql).fetch_one(&mut db).await?)
}

#[tokio::test]
async fn many_writers_of_one_new_key_make_one_note() -> Result<()> {
    let stack = Stack::storage().await?;
    let runs = six_runs(&stack).await?;
    for round in 0..5 {
        let results = at_once(&runs, "note_write", |nth| {
            json!({ "level": "guild", "key": format!("r{round}.md"), "content": format!("by {nth}") })
        })
        .await?;
        let created: Vec<Value> = results
            .iter()
            .map(|result| result.json()["created"].clone())
            .collect();
        let news = created.iter().filter(|created| **created == true).count();
        let olds = created.iter().filter(|created| **created == false).count();
        assert_eq!((news, olds), (1, 5), "{results:?}");
    }
    assert_eq!(
        count(
            &stack,
            "SELECT count(*) FROM artifacts WHERE level = 'guild'"
        )
        .await?,
        5
    );
    Ok(())
}

#[tokio::test]
async fn creates_at_once_never_pass_max_scripts() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["agents"][0]["config"]["max_scripts"] = json!(2);
    document["agents"][1]["config"]["max_scripts"] = json!(2);
    stack.apply(&document).await?;
    let runs = six_runs(&stack).await?;
    at_once(
        &runs,
        "script_create",
        |nth| json!({ "name": format!("s{nth}"), "description": "d", "source": "pass" }),
    )
    .await?;
    // Three runs of each agent asked for a script of its own, and each may hold two.
    assert_eq!(
        count(
            &stack,
            "SELECT count(*) FROM artifacts WHERE kind = 'script'"
        )
        .await?,
        4
    );
    Ok(())
}

#[tokio::test]
async fn every_version_of_a_memory_written_at_once_is_kept() -> Result<()> {
    let stack = Stack::storage().await?;
    let runs = six_runs(&stack).await?;
    let path = |nth: usize| {
        let agent = if nth.is_multiple_of(2) {
            &stack.ada
        } else {
            &stack.bob
        };
        format!("agent/{}/memory.md", agent.id)
    };
    let results = at_once(
        &runs,
        "note_write",
        |nth| json!({ "path": path(nth), "content": format!("version {nth}") }),
    )
    .await?;
    for result in &results {
        assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
    }
    // Three writes of each agent leave two versions behind.
    assert_eq!(
        count(&stack, "SELECT count(*) FROM memory_revisions").await?,
        4
    );
    assert_eq!(
        count(&stack, "SELECT count(DISTINCT body) FROM memory_revisions").await?,
        4
    );
    Ok(())
}

#[tokio::test]
async fn documents_of_one_organisation_at_once_never_mix() -> Result<()> {
    let stack = Stack::storage().await?;
    let plain = stack.document();
    let mut swapped = plain.clone();
    swapped["agents"][0]["slot"] = json!(stack.bob.slot());
    swapped["agents"][1]["slot"] = json!(stack.ada.slot());
    for _ in 0..5 {
        tokio::try_join!(
            stack.apply(&plain),
            stack.apply(&swapped),
            stack.apply(&plain),
            stack.apply(&swapped),
        )?;
        // One of both stands, whole; the database would hold no shared slot.
        assert_eq!(
            count(&stack, "SELECT count(DISTINCT slot) FROM agents").await?,
            2
        );
    }
    Ok(())
}
