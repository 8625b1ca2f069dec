//! The sections "Results" and "Reference": filter, redaction, cap, trailer, metadata.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::{Run, Stack, StackBuilder};

const LOW_BUDGET_LINE: &str =
    "Write durable findings and finish with text. A batch costs one call each.";

/// Gives the organisation one secret.
async fn keep(stack: &Stack, name: &str, value: &str) -> Result<()> {
    let mut document = stack.document();
    document["secrets"] = json!([{ "name": name, "value": value }]);
    stack.apply(&document).await?;
    Ok(())
}

async fn write(run: &Run, key: &str, content: &str) -> Result<()> {
    let arguments = json!({ "level": "agent", "key": key, "content": content });
    let written = run.call("note_write", arguments).await?;
    assert_eq!(written.metadata["error"], Value::Null, "{written:?}");
    Ok(())
}

#[tokio::test]
async fn redaction_comes_before_the_cap_so_that_no_cut_shows_a_part() -> Result<()> {
    let stack = StackBuilder::default()
        .control_plane("tool_result_max_bytes = 1024\n")
        .start()
        .await?;
    let run = stack.run(&stack.ada).await?;
    keep(&stack, "DOOR", "Sesame-Open-0123456789-Sesame-Open").await?;
    // The value lies across the place where the cap cuts, at several alignments.
    for before in [920, 940, 960] {
        let content = format!(
            "{}Sesame-Open-0123456789-Sesame-Open{}",
            "x".repeat(before),
            "y".repeat(200)
        );
        write(&run, "door.md", &content).await?;
        let path = format!("agent/{}/door.md", stack.ada.id);
        let read = run.call("note_get", json!({ "path": path })).await?;
        assert!(!read.content.contains("Sesame"), "{read:?}");
        assert!(read.text().ends_with("\n[truncated]"), "{read:?}");
        assert!(read.text().len() <= 1024, "{}", read.text().len());
    }
    Ok(())
}

#[tokio::test]
async fn a_result_is_what_the_messages_store_and_the_raw_one_is_nowhere() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    keep(&stack, "DOOR", "Sesame-Open-0123456789").await?;
    write(&run, "door.md", "the door: Sesame-Open-0123456789").await?;
    let path = format!("agent/{}/door.md", stack.ada.id);
    let read = run.call("note_get", json!({ "path": path })).await?;
    assert_eq!(read.json()["content"], "the door: [redacted:DOOR]");
    let messages = stack
        .backend
        .get(&run.path("/messages"))
        .await?
        .expect(200)?;
    let last = messages["messages"].as_array().and_then(|all| all.last());
    assert_eq!(
        last.map(|last| &last["content"]),
        Some(&json!(read.content))
    );
    let mut db = stack.database().await?;
    let kept: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM calls WHERE concat(content, metadata, arguments, name) LIKE '%Sesame%'",
    )
    .fetch_one(&mut db)
    .await?;
    assert_eq!(kept, 0);
    Ok(())
}

#[tokio::test]
async fn every_listed_form_of_a_secret_is_redacted_in_a_notes_excerpt_too() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    keep(&stack, "DOOR", "s é\"s/me+0").await?;
    // Raw; JSON with and without ASCII escapes; percent in both cases and with a plus; base64 in
    // both alphabets and at each alignment.
    for form in [
        "s é\"s/me+0",
        r#"s é\"s/me+0"#,
        r#"s \u00e9\"s/me+0"#,
        "s%20%C3%A9%22s%2Fme%2B0",
        "s%20%c3%a9%22s%2fme%2b0",
        "s+%C3%A9%22s%2Fme%2B0",
        "cyDDqSJzL21lKzA=",
        "cyDDqSJzL21lKzA",
        "LnMgw6kicy9tZSsw",
        "Li5zIMOpInMvbWUrMA==",
    ] {
        write(&run, "door.md", &format!("needle {form} end")).await?;
        let found = run.call("note_find", json!({ "query": "needle" })).await?;
        assert!(
            found.content.contains("[redacted:DOOR]"),
            "{form}: {found:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn overlapping_secrets_are_replaced_as_one_under_the_first_ones_name() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let mut document = stack.document();
    document["secrets"] = json!([
        { "name": "FIRST", "value": "abcdefgh" },
        { "name": "SECOND", "value": "efghijkl" },
    ]);
    stack.apply(&document).await?;
    let result = run.call("1abcdefghijkl2", json!({})).await?;
    assert_eq!(result.text(), "ERROR: unknown tool 1[redacted:FIRST]2");
    assert_eq!(result.metadata["error"], "unknown tool 1[redacted:FIRST]2");
    assert_eq!(result.metadata["tool_name"], "1[redacted:FIRST]2");
    Ok(())
}

#[tokio::test]
async fn a_secret_stored_in_the_middle_of_a_run_counts_at_once() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    write(&run, "door.md", "Sesame-Open-0123456789").await?;
    let read = json!({ "path": format!("agent/{}/door.md", stack.ada.id) });
    let before = run.call("note_get", read.clone()).await?;
    assert_eq!(before.json()["content"], "Sesame-Open-0123456789");
    keep(&stack, "DOOR", "Sesame-Open-0123456789").await?;
    let after = run.call("note_get", read).await?;
    assert_eq!(after.json()["content"], "[redacted:DOOR]");
    Ok(())
}

#[tokio::test]
async fn only_what_redaction_depends_on_makes_an_organisations_secrets_new() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut db = stack.database().await?;
    let version = "SELECT secrets_version FROM organisations WHERE id = $1";
    let document = stack.document();
    let organisation = document["organisation"]
        .as_str()
        .context("its organisation")?;
    keep(&stack, "DOOR", "Sesame-Open-0123456789").await?;
    let first: i64 = sqlx::query_scalar(version)
        .bind(organisation)
        .fetch_one(&mut db)
        .await?;
    // A grant and a description are not redacted by.
    sqlx::query("UPDATE secrets SET description = 'another' WHERE organisation = $1")
        .bind(organisation)
        .execute(&mut db)
        .await?;
    let same: i64 = sqlx::query_scalar(version)
        .bind(organisation)
        .fetch_one(&mut db)
        .await?;
    assert_eq!(same, first);
    keep(&stack, "DOOR", "Another-0123456789").await?;
    let changed: i64 = sqlx::query_scalar(version)
        .bind(organisation)
        .fetch_one(&mut db)
        .await?;
    assert_ne!(changed, first);
    sqlx::query("DELETE FROM secrets WHERE organisation = $1")
        .bind(organisation)
        .execute(&mut db)
        .await?;
    let gone: i64 = sqlx::query_scalar(version)
        .bind(organisation)
        .fetch_one(&mut db)
        .await?;
    assert_ne!(gone, changed);
    Ok(())
}

#[tokio::test]
async fn at_eight_and_fewer_the_low_budget_line_sits_above_the_trailer() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(10).await?;
    let arguments = json!({ "query": "nothing has these words" });
    let nine = run.call("note_find", arguments.clone()).await?;
    assert_eq!(nine.content, "{\"notes\":[]}\nremaining_tool_calls: 9");
    let eight = run.call("note_find", arguments).await?;
    assert_eq!(
        eight.content,
        format!("{{\"notes\":[]}}\n{LOW_BUDGET_LINE}\nremaining_tool_calls: 8")
    );
    assert_eq!(eight.metadata["stored_bytes"], 12 + 1 + 73 + 1 + 23);
    assert_eq!(eight.metadata["original_bytes"], 12);
    Ok(())
}

#[tokio::test]
async fn the_cap_is_65536_bytes_with_its_marker_and_without_the_trailer() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    write(&run, "long.md", &"x".repeat(70_000)).await?;
    let path = format!("agent/{}/long.md", stack.ada.id);
    let read = run.call("note_get", json!({ "path": path })).await?;
    assert_eq!(read.text().len(), 65_536);
    assert!(
        read.content
            .ends_with("x\n[truncated]\nremaining_tool_calls: 58")
    );
    assert_eq!(read.metadata["truncated"], true);
    assert_eq!(read.metadata["error"], Value::Null);
    Ok(())
}
