//! Results: metadata, validation, arguments' forms, the cap, NUL characters.

use anyhow::Result;
use serde_json::{Value, json};
use tests::{Stack, StackBuilder};

#[tokio::test]
async fn metadata_has_exactly_its_seven_fields() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run
        .call(
            "note_write",
            json!({ "level": "agent", "key": "ä.md", "content": "x" }),
        )
        .await?;
    // The key's grammar is ASCII: this is a refusal, and refusals have the same metadata.
    assert!(result.content.starts_with("ERROR: "), "{result:?}");
    let result = run
        .call(
            "note_write",
            json!({ "level": "agent", "key": "a.md", "content": "x" }),
        )
        .await?;
    let mut metadata = result.metadata.clone();
    let duration = metadata["duration_ms"].take();
    assert!(duration.is_u64(), "{duration}");
    let raw = format!(
        "{{\"path\":\"agent/{}/a.md\",\"created\":true}}",
        stack.ada.id
    );
    assert_eq!(
        metadata,
        json!({
            "tool_name": "note_write", "duration_ms": null, "output_filter": "none",
            "truncated": false, "original_bytes": raw.len(),
            "stored_bytes": raw.len() + "\nremaining_tool_calls: 58".len(), "error": null,
        })
    );
    Ok(())
}

#[tokio::test]
async fn an_errors_first_line_is_in_the_metadata_without_its_mark() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.bob).await?;
    for (name, error) in [
        ("no_such_tool", "unknown tool no_such_tool"),
        ("shell", "tool shell is not offered this run"),
        ("code_search", "tool code_search is not offered this run"),
    ] {
        let result = run.call(name, json!({})).await?;
        assert_eq!(result.text(), format!("ERROR: {error}"));
        assert_eq!(result.metadata["error"], error);
        assert_eq!(result.metadata["tool_name"], name);
    }
    Ok(())
}

#[tokio::test]
async fn validation_reports_every_problem_in_one_line() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run
        .call(
            "note_find",
            json!({ "query": ["a"], "level": "galaxy", "limit": "5", "qurey": "x" }),
        )
        .await?;
    let text = result.text();
    assert!(text.starts_with("ERROR: "), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    for word in [
        "query", "array", "string", "level", "agent", "guild", "org", "limit", "integer", "qurey",
    ] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    let missing = run.call("note_get", json!({})).await?;
    assert!(missing.text().starts_with("ERROR: "), "{missing:?}");
    assert!(missing.text().contains("path"), "{missing:?}");
    Ok(())
}

#[tokio::test]
async fn arguments_are_an_object_or_its_text_and_nothing_else() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for empty in [json!({}), json!(null), json!(""), json!(" \n"), json!("{}")] {
        let result = run.call("note_find", empty.clone()).await?;
        assert_eq!(result.metadata["error"], Value::Null, "{empty}: {result:?}");
    }
    let absent = run
        .batch(json!([{ "id": "absent", "name": "note_find" }]))
        .await?;
    assert_eq!(absent[0].metadata["error"], Value::Null, "{absent:?}");
    let text = json!({ "path": format!("agent/{}/task.md", stack.ada.id) }).to_string();
    let by_text = run.call("note_get", json!(text)).await?;
    assert_eq!(by_text.json()["content"], "");
    for (wrong, word) in [
        (json!([1]), "array"),
        (json!(5), "number"),
        (json!(true), "boolean"),
        (json!("[1]"), "array"),
        (json!("\"x\""), "string"),
        (json!("{\"path\":"), "JSON"),
    ] {
        let result = run.call("note_find", wrong.clone()).await?;
        assert!(result.text().starts_with("ERROR: "), "{wrong}: {result:?}");
        assert!(result.text().contains(word), "{wrong}: {result:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_result_over_the_cap_is_cut_on_a_character() -> Result<()> {
    let stack = StackBuilder::default()
        .control_plane("tool_result_max_bytes = 1024\n")
        .start()
        .await?;
    let run = stack.run(&stack.ada).await?;
    let path = format!("agent/{}/long.md", stack.ada.id);
    run.call("note_write", json!({ "path": path, "content": "x" }))
        .await?;
    // Two bytes a character, at both alignments of the cut.
    for content in ["é".repeat(3000), format!("a{}", "é".repeat(3000))] {
        let written = run
            .call(
                "note_write",
                json!({ "level": "agent", "key": "long.md", "content": content }),
            )
            .await?;
        assert_eq!(written.metadata["truncated"], false);
        let read = run.call("note_get", json!({ "path": path })).await?;
        assert!(read.text().ends_with("\n[truncated]"), "{read:?}");
        assert!(
            (1023..=1024).contains(&read.text().len()),
            "{} bytes",
            read.text().len()
        );
        assert_eq!(read.metadata["truncated"], true);
        assert_eq!(read.metadata["stored_bytes"], read.content.len());
        let original = read.metadata["original_bytes"].as_u64().unwrap_or_default();
        assert!(
            original > content.len() as u64,
            "{original} bytes where the note alone has {}",
            content.len()
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_nul_character_is_replaced_before_anything_is_stored() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    run.call(
        "note_write",
        json!({ "level": "agent", "key": "a.md", "content": "a\u{0}b" }),
    )
    .await?;
    let read = run
        .call(
            "note_get",
            json!({ "path": format!("agent/{}/a.md", stack.ada.id) }),
        )
        .await?;
    assert_eq!(read.json()["content"], "a\u{fffd}b");
    let unknown = run.call("a\u{0}b", json!({})).await?;
    assert_eq!(unknown.text(), "ERROR: unknown tool a\u{fffd}b");
    Ok(())
}
