//! Lists that would be larger than the cap of a result are JSON all the same.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::{Run, Stack};

/// Calls a tool that lists, and answers the entries of its whole JSON, near the cap.
async fn listed(run: &Run, tool: &str, arguments: Value, plural: &str) -> Result<Vec<Value>> {
    let result = run.call(tool, arguments).await?;
    assert_eq!(result.metadata["truncated"], false);
    let length = result.text().len();
    assert!((48_000..=65_536).contains(&length), "{length}");
    let mut list = result.json();
    assert_eq!(list.get("left_out"), None);
    let entries = list[plural].take();
    Ok(entries.as_array().context("a list")?.clone())
}

#[tokio::test]
async fn a_hundred_notes_of_three_byte_letters_have_shorter_excerpts() -> Result<()> {
    let stack = Stack::storage().await?;
    let notes: Value = (0..100)
        .map(|number| {
            json!({ "path": format!("org/n{number}.md"), "content": "漢".repeat(300),
                "access": [{ "organisation": true, "access": "read" }] })
        })
        .collect();
    stack
        .apply(&json!({ "organisation": "acme", "notes": notes }))
        .await?;
    let run = stack.run(&stack.ada).await?;
    let arguments = json!({ "level": "org", "limit": 100 });
    let notes = listed(&run, "note_find", arguments, "notes").await?;
    assert_eq!(notes.len(), 100);
    for note in notes {
        let excerpt = note["excerpt"].as_str().context("an excerpt")?;
        let letters = excerpt.chars().filter(|letter| *letter == '漢').count();
        assert!(
            (100..240).contains(&letters) && excerpt.ends_with("漢…"),
            "{note}"
        );
        assert_eq!(note["access"], "read");
    }
    Ok(())
}

#[tokio::test]
async fn schemas_of_scripts_that_have_no_room_say_where_they_are() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let schema = |characters: usize| json!({ "type": "object", "properties": { "a": { "type": "string", "description": "x".repeat(characters) } } });
    // Nine of 5,800 characters have room, a tenth of 20,000 has none.
    for number in 0..10 {
        let characters = if number == 4 { 20_000 } else { 5_800 };
        let arguments = json!({ "name": format!("s{number}"), "description": "d", "source": "pass",
            "parameters": schema(characters) });
        let made = run.call("script_create", arguments).await?.json();
        assert_eq!(made["created"], true);
    }
    let scripts = listed(&run, "script_list", json!({}), "scripts").await?;
    assert_eq!(scripts.len(), 10);
    for (number, script) in scripts.iter().enumerate() {
        let expected = if number == 4 {
            json!({ "$comment": "left out of this list; script_read has it" })
        } else {
            schema(5_800)
        };
        assert_eq!(script["parameters"], expected, "{number}");
        assert_eq!(script["description"], "d");
    }
    let read = run.call("script_read", json!({ "name": "s4" })).await?;
    assert_eq!(read.json()["parameters"], schema(20_000));
    Ok(())
}
