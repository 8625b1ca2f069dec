//! "Tools in a run": what a run offers.

use anyhow::Result;
use serde_json::{Value, json};
use tests::api::names;
use tests::{Run, Stack};

/// Tools of each row of the page that are built.
const BROWSER: [&str; 8] = [
    "browser_click",
    "browser_eval",
    "browser_fill",
    "browser_navigate",
    "browser_screenshot",
    "browser_scroll",
    "browser_snapshot",
    "browser_type",
];
const CODE: [&str; 5] = [
    "code_search",
    "code_task",
    "file_read",
    "shell",
    "shell_status",
];
const SCRIPT: [&str; 5] = [
    "script_create",
    "script_delete",
    "script_list",
    "script_read",
    "script_run",
];
const SCHEDULE: [&str; 6] = [
    "schedule_create_cron",
    "schedule_create_window",
    "schedule_delete",
    "schedule_list",
    "schedule_pause",
    "schedule_resume",
];
/// A family's word and the tools that its binding switches.
const FAMILIES: [(&str, &[&str]); 7] = [
    (
        "note",
        &["note_delete", "note_find", "note_get", "note_write"],
    ),
    (
        "record",
        &[
            "record_add",
            "record_list",
            "record_remove",
            "record_search",
            "record_update",
        ],
    ),
    ("memory", &["memory_write"]),
    ("script", &SCRIPT),
    ("schedule", &SCHEDULE),
    ("secret", &["secret_request", "secret_store"]),
    ("group_post", &["group_post"]),
];

/// The tools that this build has, read from an offer of everything.
async fn built(stack: &Stack) -> Result<Vec<String>> {
    Ok(stack.run(&stack.ada).await?.offered())
}

async fn kind(stack: &Stack, kind: &str) -> Result<Run> {
    stack
        .backend
        .start(&json!({ "agent": stack.ada.id, "kind": kind }))
        .await
}

async fn with(stack: &Stack, config: Value) -> Result<Vec<String>> {
    let mut document = stack.document();
    document["agents"][0]["config"] = config;
    stack.apply(&document).await?;
    Ok(stack.run(&stack.ada).await?.offered())
}

fn of(all: &[String], wanted: &[&str]) -> Vec<String> {
    all.iter()
        .filter(|name| wanted.contains(&name.as_str()))
        .cloned()
        .collect()
}

#[tokio::test]
async fn families_are_bindings_and_a_run_offers_those_that_resolve_enabled() -> Result<()> {
    let stack = Stack::storage().await?;
    let all = built(&stack).await?;
    for (family, tools) in FAMILIES {
        let mut document = stack.document();
        document["bindings"] = json!([{ "tool": family, "organisation": true, "enabled": false }]);
        stack.apply(&document).await?;
        let expected: Vec<String> = all
            .iter()
            .filter(|name| !tools.contains(&name.as_str()))
            .cloned()
            .collect();
        assert_eq!(built(&stack).await?, expected, "{family}");
        document["bindings"] = json!([{ "tool": family, "agent": stack.ada.id, "enabled": true }]);
        stack.apply(&document).await?;
        assert_eq!(built(&stack).await?, all, "{family}");
        document["bindings"] = json!([
            { "tool": family, "organisation": true, "enabled": true },
            { "tool": family, "agent": stack.ada.id, "enabled": true },
        ]);
        stack.apply(&document).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_eight_browser_tools_are_offered_when_config_browser_is_true() -> Result<()> {
    let stack = Stack::storage().await?;
    let on = with(&stack, json!({ "browser": true, "coding": false })).await?;
    assert_eq!(of(&on, &BROWSER), BROWSER);
    let off = with(&stack, json!({ "browser": false, "coding": true })).await?;
    assert_eq!(of(&off, &BROWSER), Vec::<String>::new());
    let unsaid = stack.run(&stack.bob).await?.offered();
    assert_eq!(of(&unsaid, &BROWSER), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn the_code_tools_are_offered_when_config_coding_is_true() -> Result<()> {
    let stack = Stack::storage().await?;
    let on = with(&stack, json!({ "coding": true })).await?;
    assert!(on.contains(&"shell".to_owned()), "{on:?}");
    let off = with(&stack, json!({ "browser": true, "coding": false })).await?;
    assert_eq!(of(&off, &CODE), Vec::<String>::new());
    let unsaid = stack.run(&stack.bob).await?.offered();
    assert_eq!(of(&unsaid, &CODE), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn the_five_script_tools_are_offered_unless_config_scripting_is_false() -> Result<()> {
    let stack = Stack::storage().await?;
    for config in [json!({}), json!({ "scripting": true })] {
        assert_eq!(of(&with(&stack, config).await?, &SCRIPT), SCRIPT);
    }
    let off = with(&stack, json!({ "scripting": false })).await?;
    assert_eq!(of(&off, &SCRIPT), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn memory_write_is_offered_unless_config_memory_is_false() -> Result<()> {
    let stack = Stack::storage().await?;
    let all = of(&built(&stack).await?, &["memory_write"]);
    for config in [json!({}), json!({ "memory": true })] {
        assert_eq!(of(&with(&stack, config).await?, &["memory_write"]), all);
    }
    let off = with(&stack, json!({ "memory": false })).await?;
    assert_eq!(of(&off, &["memory_write"]), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn the_schedule_tools_are_offered_in_chats_and_not_in_a_schedule_run() -> Result<()> {
    let stack = Stack::storage().await?;
    let direct = of(&built(&stack).await?, &SCHEDULE);
    let chat = kind(&stack, "group_chat").await?.offered();
    assert_eq!(of(&chat, &SCHEDULE), direct);
    let scheduled = kind(&stack, "schedule").await?.offered();
    assert_eq!(of(&scheduled, &SCHEDULE), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn secret_request_is_offered_in_a_direct_run_alone() -> Result<()> {
    let stack = Stack::storage().await?;
    let store = of(&built(&stack).await?, &["secret_store"]);
    for other in ["group_chat", "schedule"] {
        let offered = kind(&stack, other).await?.offered();
        assert_eq!(of(&offered, &["secret_request"]), Vec::<String>::new());
        assert_eq!(of(&offered, &["secret_store"]), store, "{other}");
    }
    Ok(())
}

#[tokio::test]
async fn report_issue_is_offered_always() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    let off: Vec<Value> = FAMILIES
        .iter()
        .map(|(family, _)| json!({ "tool": family, "organisation": true, "enabled": false }))
        .collect();
    document["bindings"] = json!(off);
    document["agents"][0]["config"] = json!({ "browser": false, "coding": false,
        "scripting": false, "memory": false });
    stack.apply(&document).await?;
    for word in ["direct", "group_chat", "schedule"] {
        assert_eq!(kind(&stack, word).await?.offered(), ["report_issue"]);
    }
    Ok(())
}

#[tokio::test]
async fn each_turn_rereads_bindings_and_flags_and_what_is_off_leaves_at_the_next() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let mut document = stack.document();
    document["bindings"] = json!([{ "tool": "note_find", "guild": "core", "enabled": false }]);
    document["agents"][0]["config"] = json!({ "browser": false, "coding": true });
    stack.apply(&document).await?;
    assert_eq!(
        run.call("note_find", json!({})).await?.metadata["error"],
        Value::Null
    );
    let turn = run.turn().await?;
    let mut expected: Vec<String> = BROWSER.map(str::to_owned).to_vec();
    expected.push("note_find".to_owned());
    assert_eq!(names(&turn["removed"]), expected);
    assert_eq!(
        run.call("note_find", json!({})).await?.text(),
        "ERROR: tool note_find is not offered this run"
    );
    document["bindings"][0]["enabled"] = json!(true);
    document["agents"][0]["config"] = json!({ "browser": true, "coding": true });
    stack.apply(&document).await?;
    assert_eq!(names(&run.turn().await?["added"]), expected);
    assert_eq!(
        run.call("note_find", json!({})).await?.metadata["error"],
        Value::Null
    );
    Ok(())
}

#[tokio::test]
async fn a_script_with_parameters_is_a_tool_of_its_own_while_script_run_is_offered() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for (name, parameters) in [
        ("count", json!({ "type": "object" })),
        ("plain", Value::Null),
    ] {
        let mut arguments = json!({ "name": name, "description": "Counts.", "source": "pass" });
        if !parameters.is_null() {
            arguments["parameters"] = parameters;
        }
        assert_eq!(
            run.call("script_create", arguments).await?.json()["created"],
            true
        );
    }
    assert!(
        !names(&run.turn().await?["tools"]).contains(&"count".to_owned()),
        "before the next run"
    );
    let next = stack.run(&stack.ada).await?;
    let last = next.body["tools"]
        .as_array()
        .and_then(|tools| tools.last())
        .cloned();
    let last = last.unwrap_or_default();
    assert_eq!(
        (&last["name"], &last["source"]),
        (&json!("count"), &json!("script"))
    );
    assert!(!next.offered().contains(&"plain".to_owned()));
    let mut document = stack.document();
    document["bindings"] =
        json!([{ "tool": "script_run", "agent": stack.ada.id, "enabled": false }]);
    stack.apply(&document).await?;
    assert_eq!(
        names(&next.turn().await?["removed"]),
        ["count", "script_run"]
    );
    assert_eq!(
        next.call("count", json!({})).await?.text(),
        "ERROR: tool count is not offered this run"
    );
    Ok(())
}

#[tokio::test]
async fn a_tool_out_of_the_offer_answers_not_offered_this_run() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.bob).await?;
    for name in BROWSER.into_iter().chain(CODE) {
        assert_eq!(
            run.call(name, json!({})).await?.text(),
            format!("ERROR: tool {name} is not offered this run")
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_name_that_no_tool_has_answers_unknown_tool() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for name in [
        "note_gett",
        "NOTE_GET",
        "web_search",
        "tavily_search",
        "note_get ",
    ] {
        assert_eq!(
            run.call(name, json!({})).await?.text(),
            format!("ERROR: unknown tool {name}")
        );
    }
    Ok(())
}

#[tokio::test]
async fn connectors_that_are_set_up_bring_no_native_tool() -> Result<()> {
    let stack = Stack::storage().await?;
    let all = built(&stack).await?;
    let mut document = stack.document();
    document["connectors"] =
        json!([{ "id": "hub", "kind": "github", "url": "https://github.com" }]);
    stack.apply(&document).await?;
    // GitHub offers no tools and takes no part at a start.
    assert_eq!(built(&stack).await?, all);
    Ok(())
}
