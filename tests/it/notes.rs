//! The note tools: round trips and access by level.

use anyhow::Result;
use serde_json::json;
use tests::Stack;

use crate::checks::{check, check_refused};

#[tokio::test]
async fn a_note_is_written_read_found_rewritten_and_deleted() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let path = format!("agent/{}/plan.md", stack.ada.id);
    check(
        &run,
        "note_write",
        json!({ "level": "agent", "key": "plan.md", "content": "Buy seven lamps." }),
        json!({ "path": path, "created": true }),
    )
    .await?;
    check(
        &run,
        "note_write",
        json!({ "path": path, "content": "Buy eight lamps." }),
        json!({ "path": path, "created": false }),
    )
    .await?;
    let read = run.call("note_get", json!({ "path": path })).await?.json();
    let keys: Vec<_> = read
        .as_object()
        .into_iter()
        .flat_map(|read| read.keys().cloned())
        .collect();
    assert_eq!(keys, ["path", "level", "access", "content", "updated_at"]);
    assert_eq!(read["level"], "agent");
    assert_eq!(read["access"], "write");
    assert_eq!(read["content"], "Buy eight lamps.");

    let found = run
        .call("note_find", json!({ "query": "lamps" }))
        .await?
        .json();
    let notes = found["notes"].as_array().cloned().unwrap_or_default();
    assert_eq!(notes.len(), 1, "{found}");
    let keys: Vec<_> = notes[0]
        .as_object()
        .into_iter()
        .flat_map(|note| note.keys().cloned())
        .collect();
    assert_eq!(
        keys,
        ["path", "level", "access", "bytes", "updated_at", "excerpt"]
    );
    assert_eq!(notes[0]["path"], path);
    assert_eq!(notes[0]["bytes"], 16);

    check(
        &run,
        "note_delete",
        json!({ "path": path }),
        json!({ "path": path, "deleted": true }),
    )
    .await?;
    let tombstone = run.call("note_get", json!({ "path": path })).await?.json();
    assert_eq!(tombstone["path"], path);
    assert_eq!(tombstone["deleted"], true);
    assert!(tombstone["deleted_at"].is_string(), "{tombstone}");
    let found = run
        .call("note_find", json!({ "query": "lamps" }))
        .await?
        .json();
    assert_eq!(found, json!({ "notes": [] }));
    check_refused(
        &run,
        "note_delete",
        json!({ "path": path }),
        "ERROR: 404 ",
        &path,
    )
    .await?;
    let again = run
        .call(
            "note_write",
            json!({ "level": "agent", "key": "plan.md", "content": "Back." }),
        )
        .await?;
    assert_eq!(again.json()["path"], path);
    let read = run.call("note_get", json!({ "path": path })).await?.json();
    assert_eq!(read["content"], "Back.");
    Ok(())
}

#[tokio::test]
async fn a_guilds_note_is_shared_with_write_and_an_agents_is_its_own() -> Result<()> {
    let stack = Stack::storage().await?;
    let ada = stack.run(&stack.ada).await?;
    let bob = stack.run(&stack.bob).await?;
    check(
        &ada,
        "note_write",
        json!({ "level": "guild", "key": "shared.md", "content": "from ada" }),
        json!({ "path": "guild/core/shared.md", "created": true }),
    )
    .await?;
    let read = bob
        .call("note_get", json!({ "path": "guild/core/shared.md" }))
        .await?
        .json();
    assert_eq!(read["access"], "write");
    check(
        &bob,
        "note_write",
        json!({ "path": "guild/core/shared.md", "content": "from bob" }),
        json!({ "path": "guild/core/shared.md", "created": false }),
    )
    .await?;

    let own = format!("agent/{}/own.md", stack.ada.id);
    ada.call(
        "note_write",
        json!({ "level": "agent", "key": "own.md", "content": "mine" }),
    )
    .await?;
    let absent = format!("agent/{}/absent.md", stack.ada.id);
    let (theirs, nothing) = (
        bob.call("note_get", json!({ "path": own })).await?,
        bob.call("note_get", json!({ "path": absent })).await?,
    );
    // The same words for what may not be read and what is not there.
    assert_eq!(
        theirs.text().replace("own.md", "*.md"),
        nothing.text().replace("absent.md", "*.md")
    );
    assert!(theirs.content.starts_with("ERROR: 404 "), "{theirs:?}");
    check_refused(
        &bob,
        "note_write",
        json!({ "path": own, "content": "x" }),
        "ERROR: 404 ",
        &own,
    )
    .await?;
    check_refused(
        &bob,
        "note_delete",
        json!({ "path": own }),
        "ERROR: 404 ",
        &own,
    )
    .await?;
    let found = bob
        .call("note_find", json!({ "query": "mine" }))
        .await?
        .json();
    assert_eq!(found, json!({ "notes": [] }));
    Ok(())
}

#[tokio::test]
async fn a_note_shared_to_read_is_not_written_and_an_own_row_of_none_keeps_out() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut db = stack.database().await?;
    for (key, rows) in [
        ("handbook.md", vec![("organisation", "acme", "read")]),
        (
            "better.md",
            vec![("organisation", "acme", "read"), ("guild", "core", "write")],
        ),
        (
            "kept.md",
            vec![
                ("organisation", "acme", "write"),
                ("agent", stack.bob.id.as_str(), "none"),
            ],
        ),
    ] {
        let artifact: i64 = sqlx::query_scalar(
            "INSERT INTO artifacts (organisation, kind, level, owner, key, body) \
             VALUES ('acme', 'note', 'org', 'acme', $1, 'words') RETURNING id",
        )
        .bind(key)
        .fetch_one(&mut db)
        .await?;
        for (level, owner, access) in rows {
            sqlx::query("INSERT INTO artifact_access VALUES ($1, $2, $3, $4)")
                .bind(artifact)
                .bind(level)
                .bind(owner)
                .bind(access)
                .execute(&mut db)
                .await?;
        }
    }
    let bob = stack.run(&stack.bob).await?;
    let read = bob
        .call("note_get", json!({ "path": "org/handbook.md" }))
        .await?
        .json();
    assert_eq!(
        (&read["level"], &read["access"], &read["content"]),
        (&json!("org"), &json!("read"), &json!("words"))
    );
    check_refused(
        &bob,
        "note_write",
        json!({ "path": "org/handbook.md", "content": "x" }),
        "ERROR: 403 ",
        "org/handbook.md",
    )
    .await?;
    check_refused(
        &bob,
        "note_delete",
        json!({ "path": "org/handbook.md" }),
        "ERROR: 403 ",
        "org/handbook.md",
    )
    .await?;
    check(
        &bob,
        "note_write",
        json!({ "path": "org/better.md", "content": "x" }),
        json!({ "path": "org/better.md", "created": false }),
    )
    .await?;
    check_refused(
        &bob,
        "note_get",
        json!({ "path": "org/kept.md" }),
        "ERROR: 404 ",
        "org/kept.md",
    )
    .await?;
    check_refused(
        &bob,
        "note_write",
        json!({ "path": "org/kept.md", "content": "x" }),
        "ERROR: 404 ",
        "org/kept.md",
    )
    .await?;
    let ada = stack.run(&stack.ada).await?;
    assert_eq!(
        ada.call("note_get", json!({ "path": "org/kept.md" }))
            .await?
            .json()["access"],
        "write"
    );
    Ok(())
}
