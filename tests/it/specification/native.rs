//! "Native tools": the parameters that each tool takes.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::json;
use tests::Stack;

/// The page's tables, and for the code tools their own page: the parameters of each
/// tool, and those among them that it says are required.
const PARAMETERS: [(&str, &str, &str); 38] = [
    ("note_find", "query level limit", ""),
    ("note_get", "path", "path"),
    ("note_write", "content level key path", "content"),
    ("note_delete", "path", "path"),
    ("record_search", "query collection where limit", "query"),
    (
        "record_list",
        "collection where since order limit offset",
        "collection",
    ),
    ("record_add", "collection body", "collection body"),
    ("record_update", "collection id body", "collection id body"),
    ("record_remove", "collection id", "collection id"),
    ("memory_write", "content", "content"),
    ("browser_navigate", "url", "url"),
    ("browser_snapshot", "", ""),
    ("browser_click", "target", "target"),
    ("browser_type", "target text", "target text"),
    ("browser_fill", "target value", "target value"),
    ("browser_scroll", "direction target", "direction"),
    ("browser_screenshot", "", ""),
    ("browser_eval", "expression", "expression"),
    ("shell", "command cwd wait_s limit_s stdin", "command"),
    (
        "shell_status",
        "job wait_s cursor signal stdin close_stdin",
        "",
    ),
    ("file_read", "path start_line line_count from_end", "path"),
    (
        "code_search",
        "pattern path literal case glob output context limit offset include_ignored",
        "pattern",
    ),
    (
        "code_task",
        "task task_id say repository cwd mode limit_min check wait_s stop",
        "",
    ),
    ("group_post", "content", "content"),
    (
        "report_issue",
        "summary detail kind severity tool_name",
        "summary detail kind",
    ),
    (
        "schedule_create_cron",
        "cron description instruction",
        "cron description instruction",
    ),
    (
        "schedule_create_window",
        "timezone start end max_wakes description instruction",
        "timezone start end max_wakes description instruction",
    ),
    ("schedule_list", "", ""),
    ("schedule_pause", "schedule_id", "schedule_id"),
    ("schedule_resume", "schedule_id", "schedule_id"),
    ("schedule_delete", "schedule_id", "schedule_id"),
    (
        "script_create",
        "name description source parameters",
        "name description source",
    ),
    ("script_list", "", ""),
    ("script_read", "name", "name"),
    ("script_run", "name arguments", "name"),
    ("script_delete", "name", "name"),
    ("secret_store", "name path description", "name path"),
    ("secret_request", "name reason", "name reason"),
];

const CODE: [&str; 5] = [
    "code_search",
    "code_task",
    "file_read",
    "shell",
    "shell_status",
];

fn words(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn each_tool_takes_the_parameters_of_its_row_and_requires_those_marked() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for tool in run.body["tools"].as_array().into_iter().flatten() {
        let name = tool["name"].as_str().unwrap_or_default();
        let row = PARAMETERS.iter().find(|(known, ..)| *known == name);
        let (_, parameters, required) =
            row.unwrap_or_else(|| panic!("{name} is no tool of the specification"));
        let schema = &tool["input_schema"];
        let found: BTreeSet<String> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, _)| key.clone())
            .collect();
        if CODE.contains(&name) {
            // Jobs, which some parameters are about, come with the code tools' own work.
            assert!(found.is_subset(&words(parameters)), "{name}: {found:?}");
        } else {
            assert_eq!(found, words(parameters), "{name}");
        }
        let found: BTreeSet<String> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|key| key.as_str().map(str::to_owned))
            .collect();
        assert_eq!(found, words(required), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn web_search_is_a_connectors_tool_and_no_native_one() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    assert!(!run.offered().contains(&"tavily_search".to_owned()));
    assert_eq!(
        run.call("tavily_search", json!({ "query": "x" }))
            .await?
            .text(),
        "ERROR: unknown tool tavily_search"
    );
    Ok(())
}

#[tokio::test]
async fn a_script_may_not_have_the_name_of_any_native_tool() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.bob).await?;
    for (name, ..) in PARAMETERS {
        let script = json!({ "name": name, "description": "d", "source": "pass" });
        let refused = run.call("script_create", script).await?;
        assert!(
            refused.content.starts_with("ERROR: 4"),
            "{name}: {refused:?}"
        );
        assert!(refused.content.contains(name), "{refused:?}");
    }
    Ok(())
}
