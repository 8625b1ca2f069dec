//! What a run offers: flags, bindings by level, turns, and the list in other clients' shapes.

use anyhow::Result;
use serde_json::json;
use tests::Stack;
use tests::api::names;

/// Tools whose coming and going is watched here; the whole table is in `specification/`.
const WATCHED: [&str; 19] = [
    "browser_click",
    "browser_eval",
    "browser_fill",
    "browser_navigate",
    "browser_screenshot",
    "browser_scroll",
    "browser_snapshot",
    "browser_type",
    "note_delete",
    "note_find",
    "note_get",
    "note_write",
    "report_issue",
    "script_create",
    "script_delete",
    "script_list",
    "script_read",
    "script_run",
    "shell",
];

async fn watched(stack: &Stack, agent: &tests::Agent) -> Result<Vec<String>> {
    let mut offered = stack.run(agent).await?.offered();
    offered.retain(|name| WATCHED.contains(&name.as_str()));
    Ok(offered)
}

#[tokio::test]
async fn flags_decide_browser_and_code_tools() -> Result<()> {
    let stack = Stack::storage().await?;
    assert_eq!(watched(&stack, &stack.ada).await?, WATCHED);
    assert_eq!(watched(&stack, &stack.bob).await?, WATCHED[8..18]);
    Ok(())
}

#[tokio::test]
async fn scripting_off_takes_the_five_script_tools() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["agents"][1]["config"] = json!({ "scripting": false });
    stack.apply(&document).await?;
    assert_eq!(
        watched(&stack, &stack.bob).await?,
        [
            "note_delete",
            "note_find",
            "note_get",
            "note_write",
            "report_issue"
        ]
    );
    Ok(())
}

#[tokio::test]
async fn the_nearest_level_decides_and_a_tools_own_row_beats_its_familys() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["bindings"] = json!([
        // The organisation switches notes off; the guild switches them on again, but not this one.
        { "tool": "note", "organisation": true, "enabled": false },
        { "tool": "note", "guild": "core", "enabled": true },
        { "tool": "note_write", "guild": "core", "enabled": false },
        // For ada the family's row is nearer than the guild's row of the tool itself.
        { "tool": "note", "agent": stack.ada.id, "enabled": true },
        { "tool": "note_get", "agent": stack.ada.id, "enabled": false },
    ]);
    stack.apply(&document).await?;
    let notes = |offered: Vec<String>| -> Vec<String> {
        offered
            .into_iter()
            .filter(|name| name.starts_with("note_"))
            .collect()
    };
    assert_eq!(
        notes(stack.run(&stack.bob).await?.offered()),
        ["note_delete", "note_find", "note_get"]
    );
    assert_eq!(
        notes(stack.run(&stack.ada).await?.offered()),
        ["note_delete", "note_find", "note_write"]
    );
    Ok(())
}

#[tokio::test]
async fn what_is_switched_off_leaves_at_the_next_turn_and_not_before() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let mut document = stack.document();
    document["bindings"] = json!([{ "tool": "note_get", "agent": stack.ada.id, "enabled": false }]);
    document["agents"][0]["config"] = json!({ "browser": true, "coding": false });
    stack.apply(&document).await?;

    let path = format!("agent/{}/task.md", stack.ada.id);
    let still = run.call("note_get", json!({ "path": path })).await?;
    assert_eq!(still.json()["content"], "");

    let turn = run.turn().await?;
    assert_eq!(turn["turn"], 2);
    assert_eq!(turn["remaining_tool_calls"], 59);
    assert_eq!(names(&turn["removed"]), ["note_get", "shell"]);
    assert_eq!(names(&turn["added"]), Vec::<String>::new());
    assert!(!names(&turn["tools"]).contains(&"note_get".to_owned()));

    let gone = run.call("note_get", json!({ "path": path })).await?;
    assert_eq!(
        gone.content,
        "ERROR: tool note_get is not offered this run\nremaining_tool_calls: 58"
    );

    document["bindings"][0]["enabled"] = json!(true);
    stack.apply(&document).await?;
    let turn = run.turn().await?;
    assert_eq!(turn["turn"], 3);
    assert_eq!(names(&turn["added"]), ["note_get"]);
    assert_eq!(names(&turn["removed"]), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_turn_that_changes_nothing_answers_the_same_bytes() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let first = run.body["tools"].to_string();
    for _ in 0..2 {
        // Key order survives parsing here, so equal text means equal bytes.
        assert_eq!(run.turn().await?["tools"].to_string(), first);
    }
    Ok(())
}

#[tokio::test]
async fn the_offer_is_read_in_the_shapes_of_other_apis() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.bob).await?;
    let own = run.body["tools"][0].clone();
    let count = run.offered().len();
    for (format, expected) in [
        ("guilds", own.clone()),
        (
            "openai",
            json!({ "type": "function", "function": { "name": own["name"],
                "description": own["description"], "parameters": own["input_schema"] } }),
        ),
        (
            "anthropic",
            json!({ "name": own["name"], "description": own["description"],
                "input_schema": own["input_schema"] }),
        ),
        (
            "mcp",
            json!({ "name": own["name"], "description": own["description"],
                "inputSchema": own["input_schema"] }),
        ),
    ] {
        let list = stack
            .backend
            .get(&run.path(&format!("/tools?format={format}")))
            .await?
            .expect(200)?;
        assert_eq!(list["tools"][0], expected, "{format}");
        assert_eq!(list["tools"].as_array().map(Vec::len), Some(count));
    }
    let other = stack.backend.get(&run.path("/tools?format=yaml")).await?;
    assert_eq!(other.refusal(), (422, "invalid".to_owned()));
    Ok(())
}

#[tokio::test]
async fn each_shape_is_the_same_bytes_every_time_and_has_names_that_every_api_takes() -> Result<()>
{
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let offered = run.offered();
    for format in ["guilds", "openai", "anthropic", "mcp"] {
        let path = run.path(&format!("/tools?format={format}"));
        let first = stack.backend.get(&path).await?;
        run.turn().await?;
        let again = stack.backend.get(&path).await?;
        assert_eq!(first.text, again.text, "{format}");
        let list = again.expect(200)?;
        let tools = list["tools"].as_array().cloned().unwrap_or_default();
        let found: Vec<&str> = tools
            .iter()
            .map(|tool| match format {
                "openai" => &tool["function"]["name"],
                _ => &tool["name"],
            })
            .filter_map(serde_json::Value::as_str)
            .collect();
        assert_eq!(found, offered, "{format}");
        for name in found {
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            assert!(
                (1..=64).contains(&name.len()) && name.bytes().all(legal),
                "{name}"
            );
        }
    }
    Ok(())
}
