//! What the note tools refuse, and how `note_find` reads a query.

use anyhow::Result;
use serde_json::json;
use tests::Stack;

use crate::checks::check_refused;

#[tokio::test]
async fn every_refusal_of_a_write_says_what_is_allowed() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for (arguments, begin, word) in [
        (json!({ "content": "x" }), "ERROR: 422 ", "path"),
        (
            json!({ "content": "x", "path": "guild/core/a.md", "level": "guild", "key": "a.md" }),
            "ERROR: 422 ",
            "path",
        ),
        (
            json!({ "content": "x", "level": "guild" }),
            "ERROR: 422 ",
            "key",
        ),
        (
            json!({ "content": "x", "level": "org", "key": "a.md" }),
            "ERROR: 403 ",
            "org",
        ),
        (
            json!({ "content": "x", "level": "agent", "key": ".hidden.md" }),
            "ERROR: ",
            "key",
        ),
        (
            json!({ "content": "x", "level": "agent", "key": "a.txt" }),
            "ERROR: ",
            ".md",
        ),
        (
            json!({ "content": "x", "level": "agent", "key": "a/b.md" }),
            "ERROR: ",
            "key",
        ),
        (
            json!({ "content": "x", "path": "guild/core/absent.md" }),
            "ERROR: 404 ",
            "guild/core/absent.md",
        ),
        (
            json!({ "content": "x", "path": "guild/other/a.md" }),
            "ERROR: 404 ",
            "guild/other/a.md",
        ),
        (
            json!({ "content": "x".repeat(200_001), "level": "agent", "key": "a.md" }),
            "ERROR: ",
            "200",
        ),
        (
            json!({ "content": "x", "path": "record/contacts/1" }),
            "ERROR: ",
            "record_",
        ),
        (
            json!({ "content": "x", "path": "collection/contacts" }),
            "ERROR: ",
            "record_",
        ),
        (
            json!({ "content": "x", "path": "script/ada/job" }),
            "ERROR: ",
            "script_",
        ),
        (
            json!({ "content": "x", "path": "nonsense" }),
            "ERROR: ",
            "agent/",
        ),
    ] {
        check_refused(&run, "note_write", arguments, begin, word).await?;
    }
    for name in ["note_get", "note_delete"] {
        check_refused(
            &run,
            name,
            json!({ "path": "record/contacts/1" }),
            "ERROR: ",
            "record_",
        )
        .await?;
        check_refused(
            &run,
            name,
            json!({ "path": "script/ada/job" }),
            "ERROR: ",
            "script_",
        )
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn finding_follows_the_grammar_of_a_web_search() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for (key, content) in [
        ("one.md", "Invoice INV-2024-001 for bob@example.com"),
        ("two.md", "The quick brown fox"),
        ("three.md", "A brown paper bag, quickly packed"),
        ("four.md", "ÄPFEL und Birnen 100%"),
    ] {
        run.call(
            "note_write",
            json!({ "level": "guild", "key": key, "content": content }),
        )
        .await?;
    }
    for (query, expected) in [
        ("2024", vec!["one"]),
        ("bob", vec!["one"]),
        ("brown fox", vec!["two"]),
        ("fox OR bag", vec!["three", "two"]),
        ("\"brown fox\"", vec!["two"]),
        ("brown -fox", vec!["three"]),
        ("äpfel", vec!["four"]),
        ("irne", vec!["four"]),
        ("nothing", vec![]),
        ("one", vec!["one"]),
    ] {
        let found = run
            .call("note_find", json!({ "query": query, "level": "guild" }))
            .await?
            .json();
        let mut names: Vec<_> = found["notes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|note| note["path"].as_str())
            .map(|path| {
                path.trim_start_matches("guild/core/")
                    .trim_end_matches(".md")
            })
            .collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{query}");
    }
    let whole_first = run
        .call("note_find", json!({ "query": "quick" }))
        .await?
        .json();
    assert_eq!(whole_first["notes"][0]["path"], "guild/core/two.md");
    assert_eq!(whole_first["notes"][1]["path"], "guild/core/three.md");
    check_refused(
        &run,
        "note_find",
        json!({ "query": "-fox" }),
        "ERROR: 422 ",
        "query",
    )
    .await?;
    check_refused(
        &run,
        "note_find",
        json!({ "query": "!!!" }),
        "ERROR: 422 ",
        "query",
    )
    .await?;
    for limit in [0, 101] {
        check_refused(
            &run,
            "note_find",
            json!({ "limit": limit }),
            "ERROR: ",
            "limit",
        )
        .await?;
    }
    let newest = run
        .call("note_find", json!({ "level": "guild", "limit": 1 }))
        .await?
        .json();
    assert_eq!(newest["notes"].as_array().map(Vec::len), Some(1));
    assert_eq!(newest["notes"][0]["path"], "guild/core/four.md");
    Ok(())
}
