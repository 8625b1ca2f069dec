//! The section "Scripts" of the native tools, a row a sentence.

use anyhow::Result;
use serde_json::{Value, json};
use tests::{CallResult, Run, Stack};

/// What a call of a row answers.
enum Expected {
    /// This JSON.
    Json(Value),
    /// A refusal with these words in it.
    Refused(&'static str),
    /// This output of the script.
    Output(&'static str),
}

use Expected::{Json, Output, Refused};

#[track_caller]
fn check(sentence: &str, result: &CallResult, expected: &Expected) {
    match expected {
        Json(json) => assert_eq!(result.json(), *json, "{sentence}"),
        Refused(words) => {
            assert!(
                result.content.starts_with("ERROR: "),
                "{sentence}: {result:?}"
            );
            assert!(result.content.contains(words), "{sentence}: {result:?}");
        }
        Output(text) => assert_eq!(result.text().trim_end(), *text, "{sentence}"),
    }
}

async fn rows(run: &Run, rows: &[(&str, &str, Value, Expected)]) -> Result<()> {
    for (sentence, tool, arguments, expected) in rows {
        check(
            sentence,
            &run.call(tool, arguments.clone()).await?,
            expected,
        );
    }
    Ok(())
}

fn script(name: &str, source: &str) -> Value {
    json!({ "name": name, "description": "d", "source": source })
}

#[tokio::test]
async fn names_descriptions_and_parameters() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(200).await?;
    let name = "name matches ^[a-z][a-z0-9_-]{0,62}$";
    let described =
        |description: &str| json!({ "name": "a", "description": description, "source": "pass" });
    let with = |parameters: Value| json!({ "name": "p", "description": "d", "source": "pass", "parameters": parameters });
    let made = |name: &str| Json(json!({ "name": name, "created": true, "runs_from": "now" }));
    let again =
        |name: &str| Json(json!({ "name": name, "created": false, "runs_from": "next run" }));
    let longest = "z".repeat(63);
    rows(
        &run,
        &[
            (name, "script_create", script("a", "pass"), made("a")),
            (
                name,
                "script_create",
                script("a-1_b", "pass"),
                made("a-1_b"),
            ),
            (
                name,
                "script_create",
                script(&longest, "pass"),
                made(&longest),
            ),
            (
                name,
                "script_create",
                script(&"z".repeat(64), "pass"),
                Refused("at most 63 characters"),
            ),
            (
                name,
                "script_create",
                script("1a", "pass"),
                Refused("lower-case letter"),
            ),
            (
                name,
                "script_create",
                script("A", "pass"),
                Refused("lower-case letter"),
            ),
            (
                name,
                "script_create",
                script("a.py", "pass"),
                Refused("lower-case letter"),
            ),
            (
                name,
                "script_create",
                script("a\n", "pass"),
                Refused("lower-case letter"),
            ),
            (
                "manifest is reserved",
                "script_create",
                script("manifest", "pass"),
                Refused("reserved"),
            ),
            (
                "a native tool's name",
                "script_create",
                script("note_get", "pass"),
                Refused("name of a tool"),
            ),
            (
                "a native tool's name",
                "script_create",
                script("code_task", "pass"),
                Refused("name of a tool"),
            ),
            (
                "a native tool's name",
                "script_create",
                script("secret_store", "pass"),
                Refused("name of a tool"),
            ),
            (
                "a native tool's name",
                "script_create",
                script("group_post", "pass"),
                Refused("name of a tool"),
            ),
            (
                "description is required",
                "script_create",
                json!({ "name": "a", "source": "pass" }),
                Refused("description"),
            ),
            (
                "source is required",
                "script_create",
                json!({ "name": "a", "description": "d" }),
                Refused("source"),
            ),
            (
                "at most 400 characters",
                "script_create",
                described(&"é".repeat(400)),
                again("a"),
            ),
            (
                "at most 400 characters",
                "script_create",
                described(&"é".repeat(401)),
                Refused("at most 400"),
            ),
            (
                "parameters is a JSON Schema object",
                "script_create",
                with(json!("object")),
                Refused("parameters"),
            ),
            (
                "parameters is a JSON Schema object",
                "script_create",
                with(json!({ "type": "array" })),
                Refused("object"),
            ),
            (
                "parameters is a JSON Schema",
                "script_create",
                with(json!({ "type": "object", "properties": { "n": { "type": "whole" } } })),
                Refused("parameters"),
            ),
            (
                "parameters is optional",
                "script_create",
                with(json!({ "type": "object" })),
                made("p"),
            ),
        ],
    )
    .await
}

#[tokio::test]
async fn no_script_has_the_name_of_a_connector_tool() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["connectors"] = json!([
        { "id": "web-search", "kind": "tavily", "url": "https://api.tavily.com" },
    ]);
    document["logins"] = json!([
        { "connector": "web-search", "organisation": true, "status": "pending",
          "tools": { "tavily_extract": false } },
        { "connector": "web-search", "agent": stack.bob.id, "status": "pending",
          "tools": { "tavily_crawl": true } },
    ]);
    stack.apply(&document).await?;
    let (ada, bob) = (stack.run(&stack.ada).await?, stack.run(&stack.bob).await?);
    let clash = "one of the agent's connector tool names is refused";
    let create = |name: &str| ("script_create", script(name, "pass"));
    // The nearest login is the agent's.
    for (run, name, refused) in [
        (&ada, "tavily_extract", true),
        (&ada, "tavily_crawl", false),
        (&bob, "tavily_crawl", true),
        (&bob, "tavily_extract", false),
    ] {
        let (tool, arguments) = create(name);
        let expected = if refused {
            Refused("the name of a tool of one of your connectors")
        } else {
            Json(json!({ "name": name, "created": true, "runs_from": "now" }))
        };
        check(clash, &run.call(tool, arguments).await?, &expected);
    }
    Ok(())
}

#[tokio::test]
async fn a_new_name_is_refused_once_the_agent_holds_max_scripts() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(200).await?;
    // The default is 10. Fifteen at once: ten of them fit, whichever.
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..15 {
        let run = run.clone();
        let arguments = script(&format!("s{number}"), "pass");
        calls.spawn(async move { run.call("script_create", arguments).await });
    }
    let mut created = 0;
    while let Some(result) = calls.join_next().await {
        let result = result??;
        if result.metadata["error"].is_null() {
            created += 1;
        } else {
            check("max_scripts", &result, &Refused("may hold 10"));
        }
    }
    assert_eq!(created, 10);
    let listed = run.call("script_list", json!({})).await?.json();
    let scripts = listed["scripts"].as_array().map_or(0, Vec::len);
    assert_eq!(scripts, 10);
    // Replacing a name does not count.
    let name = listed["scripts"][0]["name"].as_str().unwrap_or_default();
    let replaced = run.call("script_create", script(name, "print(2)")).await?;
    let expected = Json(json!({ "name": name, "created": false, "runs_from": "next run" }));
    check("replacing does not count", &replaced, &expected);
    Ok(())
}

#[tokio::test]
async fn running_and_deleting() -> Result<()> {
    let stack = Stack::whole().await?;
    // Without coding script_run is the only tool that runs a command.
    let run = stack.run(&stack.bob).await?;
    let home = stack.bob.home();
    let source = "import os, sys\nprint(sys.stdin.read(), os.getcwd() == os.path.dirname(os.path.dirname(__file__)))";
    rows(
        &run,
        &[
            (
                "creates a script",
                "script_create",
                script("echo", source),
                Json(json!({ "name": "echo", "created": true, "runs_from": "now" })),
            ),
            (
                "arguments on stdin as JSON, in its home",
                "script_run",
                json!({ "name": "echo", "arguments": { "a": [1, null] } }),
                Output("{\"a\":[1,null]} True"),
            ),
            (
                "{} without one",
                "script_run",
                json!({ "name": "echo" }),
                Output("{} True"),
            ),
            (
                "{} without one",
                "script_run",
                json!({ "name": "echo", "arguments": {} }),
                Output("{} True"),
            ),
            (
                "arguments are an object",
                "script_run",
                json!({ "name": "echo", "arguments": [1] }),
                Refused("arguments"),
            ),
            (
                "an unknown name",
                "script_run",
                json!({ "name": "none" }),
                Refused("404 "),
            ),
            (
                "returns name, description, and source",
                "script_read",
                json!({ "name": "echo" }),
                Json(json!({ "name": "echo", "description": "d", "source": source })),
            ),
            (
                "lists the scripts and why each exists",
                "script_list",
                json!({}),
                Json(json!({ "scripts": [{ "name": "echo", "description": "d" }] })),
            ),
        ],
    )
    .await?;
    let file = format!("{home}/scripts/echo.py");
    assert_eq!(
        std::fs::read_to_string(&file)?,
        source,
        "/home/<agent id>/scripts/<name>.py"
    );
    rows(
        &run,
        &[
            (
                "deletes a script",
                "script_delete",
                json!({ "name": "echo" }),
                Json(json!({ "name": "echo", "deleted": true })),
            ),
            (
                "the name from this run's snapshot",
                "script_run",
                json!({ "name": "echo" }),
                Refused("404 "),
            ),
            (
                "the stored script",
                "script_read",
                json!({ "name": "echo" }),
                Refused("404 "),
            ),
            (
                "a second time",
                "script_delete",
                json!({ "name": "echo" }),
                Refused("404 "),
            ),
        ],
    )
    .await?;
    let gone = || Ok(!std::fs::exists(&file)?);
    tests::processes::until(std::time::Duration::from_secs(10), gone).await
}
