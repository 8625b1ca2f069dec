//! A script's life in one run and beside another: created, run, replaced, deleted, created again; and a machine that is away.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sqlx::PgConnection;
use tests::{Run, Stack, processes};
use tokio::task::JoinSet;

fn script(source: &str) -> Value {
    json!({ "name": "tale", "description": "Tells.", "source": source,
            "parameters": { "type": "object", "properties": {} } })
}

fn file(stack: &Stack) -> PathBuf {
    Path::new(&stack.bob.home()).join("scripts/tale.py")
}

async fn runs(run: &Run) -> Result<String> {
    let result = run.call("script_run", json!({ "name": "tale" })).await?;
    Ok(result.text().trim_end().to_owned())
}

/// What is stored of the script, and what the run holds.
async fn held(db: &mut PgConnection, run: &Run) -> Result<(Option<String>, Option<String>)> {
    let stored = sqlx::query_scalar(
        "SELECT body FROM artifacts WHERE kind = 'script' AND key = 'tale' AND deleted_at IS NULL",
    )
    .fetch_optional(&mut *db)
    .await?;
    let snapshot =
        sqlx::query_scalar("SELECT source FROM run_scripts WHERE run = $1::uuid AND name = 'tale'")
            .bind(&run.id)
            .fetch_optional(db)
            .await?;
    Ok((stored, snapshot))
}

#[tokio::test]
async fn a_scripts_whole_story_in_one_run() -> Result<()> {
    let stack = Stack::whole().await?;
    let mut db = stack.database().await?;
    let run = stack.run(&stack.bob).await?;
    let some = |text: &str| Some(text.to_owned());

    let created = run.call("script_create", script("print('one')")).await?;
    assert_eq!(
        created.json(),
        json!({ "name": "tale", "created": true, "runs_from": "now" })
    );
    assert_eq!(runs(&run).await?, "one");
    assert_eq!(std::fs::read_to_string(file(&stack))?, "print('one')");
    let early = run.call("tale", json!({})).await?;
    assert_eq!(early.text(), "ERROR: tool tale is not offered this run");

    let replaced = run.call("script_create", script("print('two')")).await?;
    assert_eq!(
        replaced.json(),
        json!({ "name": "tale", "created": false, "runs_from": "next run" })
    );
    assert_eq!(runs(&run).await?, "one", "the old source still runs");
    let read = run.call("script_read", json!({ "name": "tale" })).await?;
    assert_eq!(read.json()["source"], "print('two')");
    assert_eq!(
        held(&mut db, &run).await?,
        (some("print('two')"), some("print('one')"))
    );

    let deleted = run.call("script_delete", json!({ "name": "tale" })).await?;
    assert_eq!(deleted.json(), json!({ "name": "tale", "deleted": true }));
    assert_eq!(held(&mut db, &run).await?, (None, None));
    processes::until(Duration::from_secs(10), || Ok(!file(&stack).exists())).await?;
    assert!(runs(&run).await?.starts_with("ERROR: 404 "));
    let next = stack.run(&stack.bob).await?;
    assert!(!next.offered().contains(&"tale".to_owned()));
    next.end().await?;

    let again = run.call("script_create", script("print('three')")).await?;
    assert_eq!(
        again.json(),
        json!({ "name": "tale", "created": true, "runs_from": "now" })
    );
    assert_eq!(runs(&run).await?, "three");
    assert_eq!(std::fs::read_to_string(file(&stack))?, "print('three')");
    let next = stack.run(&stack.bob).await?;
    assert!(next.offered().contains(&"tale".to_owned()));
    let called = next.call("tale", json!({})).await?;
    assert_eq!(called.text().trim_end(), "three");
    Ok(())
}

#[tokio::test]
async fn two_runs_of_one_agent_each_run_their_own_snapshot_at_once() -> Result<()> {
    let stack = Stack::whole().await?;
    let first = stack.run(&stack.bob).await?;
    first.call("script_create", script("print('old')")).await?;
    assert_eq!(runs(&first).await?, "old");
    first.call("script_create", script("print('new')")).await?;
    let second = stack.run(&stack.bob).await?;
    for _ in 0..3 {
        assert_eq!(runs(&first).await?, "old");
        assert_eq!(runs(&second).await?, "new");
    }
    // At once they write one file in turns, and each still runs its own bytes.
    let mut calls = JoinSet::new();
    for _ in 0..12 {
        for (run, expected) in [(first.clone(), "old"), (second.clone(), "new")] {
            calls.spawn(async move { Ok::<_, anyhow::Error>((runs(&run).await?, expected)) });
        }
    }
    while let Some(ended) = calls.join_next().await {
        let (text, expected) = ended??;
        assert_eq!(text, expected);
    }
    let left: Vec<_> = std::fs::read_dir(file(&stack).parent().context("a folder")?)?
        .map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()))
        .collect::<Result<_>>()?;
    assert_eq!(left, ["tale.py"], "no temporary file is left");
    // Deleted in one run, the other's snapshot still has it.
    first
        .call("script_delete", json!({ "name": "tale" }))
        .await?;
    assert!(runs(&first).await?.starts_with("ERROR: 404 "));
    assert_eq!(runs(&second).await?, "new");
    Ok(())
}

#[tokio::test]
async fn while_the_machine_is_away_scripts_are_kept_and_runs_fail_by_themselves() -> Result<()> {
    let mut stack = Stack::whole().await?;
    let shared = stack.shared;
    let before = stack.run(&stack.bob).await?;
    before.call("script_create", script("print('one')")).await?;
    assert_eq!(runs(&before).await?, "one");
    stack.machine_mut()?.stop()?;

    let run = stack.run(&stack.bob).await?;
    let notices = run.body["notices"].to_string();
    assert!(
        notices.contains("machine local can't be reached"),
        "{notices}"
    );
    let failed = runs(&run).await?;
    assert!(
        failed.starts_with("ERROR: machine local can't be reached"),
        "{failed}"
    );
    for (name, source) in [("other", "print('other')"), ("tale", "print('two')")] {
        let mut new = script(source);
        new["name"] = json!(name);
        let created = run.call("script_create", new).await?;
        assert_eq!(created.metadata["error"], Value::Null, "{created:?}");
    }
    let listed = run.call("script_list", json!({})).await?.json();
    assert_eq!(listed["scripts"].as_array().map(Vec::len), Some(2));
    let deleted = run.call("script_delete", json!({ "name": "tale" })).await?;
    assert_eq!(deleted.json()["deleted"], true);
    assert!(file(&stack).exists(), "nobody could remove it");

    stack.machine_mut()?.start_again(shared).await?;
    let next = stack.run(&stack.bob).await?;
    processes::until(Duration::from_secs(15), || Ok(!file(&stack).exists())).await?;
    let other = next.call("script_run", json!({ "name": "other" })).await?;
    assert_eq!(other.text().trim_end(), "other");
    // What was removed is forgotten, and only that.
    let mut db = stack.database().await?;
    let mut forgotten = false;
    for _ in 0..100 {
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM artifacts WHERE kind = 'script'")
            .fetch_one(&mut db)
            .await?;
        forgotten = left == 1;
        if forgotten {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(forgotten, "the deleted script's name is kept");
    Ok(())
}
