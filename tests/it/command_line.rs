//! `guilds apply` and `guilds call`: payload on stdout, exit codes, tokens from the environment.

use std::process::Output;

use anyhow::Result;
use serde_json::{Value, json};
use tests::{Stack, spawn};

fn guilds(stack: &Stack, arguments: &[&str]) -> Result<Output> {
    spawn::output(
        spawn::command(stack.shared.program("guilds"))
            .args(arguments)
            .env(
                "GUILDS_URL",
                format!("http://{}", stack.control_plane.address()),
            )
            .env("GUILDS_BACKEND_TOKEN", &stack.shared.backend_token)
            .env("GUILDS_OPERATOR_TOKEN", &stack.shared.operator_token),
    )
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn call_opens_a_run_prints_the_content_and_ends_the_run() -> Result<()> {
    let stack = Stack::storage().await?;
    let ada = stack.ada.id.as_str();
    let output = guilds(
        &stack,
        &[
            "call",
            "--agent",
            ada,
            "note_write",
            "level=agent",
            "key=a.md",
            "content=5",
        ],
    )?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        stdout(&output),
        format!("{{\"path\":\"agent/{ada}/a.md\",\"created\":true}}\nremaining_tool_calls: 59\n")
    );
    // `limit` is an integer in the schema, so its text is read as one; `:=` is raw JSON.
    for limit in ["limit=1", "limit:=1"] {
        let output = guilds(&stack, &["call", "--agent", ada, "note_find", limit])?;
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let arguments = json!({ "path": format!("agent/{ada}/a.md") }).to_string();
    let output = guilds(
        &stack,
        &["call", "--agent", ada, "note_get", "--json", &arguments],
    )?;
    assert!(stdout(&output).contains("\"content\":\"5\""), "{output:?}");

    let runs = stack
        .backend
        .get(&format!("/v1/runs?agent={ada}"))
        .await?
        .expect(200)?;
    let states: Vec<_> = runs["runs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|run| run["state"].clone())
        .collect();
    assert_eq!(
        states,
        [
            json!("ended"),
            json!("ended"),
            json!("ended"),
            json!("ended")
        ]
    );
    Ok(())
}

#[tokio::test]
async fn exit_codes_tell_what_went_wrong() -> Result<()> {
    let stack = Stack::storage().await?;
    let ada = stack.ada.id.as_str();
    for (arguments, code) in [
        (vec!["call", "--agent", ada, "no_such_tool"], 1),
        (vec!["call", "--agent", "nobody-here", "note_find"], 3),
        (vec!["call", "--agent", ada], 64),
        (vec!["nonsense"], 64),
    ] {
        let output = guilds(&stack, &arguments)?;
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {output:?}"
        );
    }
    let denied = spawn::output(
        spawn::command(stack.shared.program("guilds"))
            .args(["call", "--agent", ada, "note_find"])
            .env(
                "GUILDS_URL",
                format!("http://{}", stack.control_plane.address()),
            )
            .env("GUILDS_BACKEND_TOKEN", "gb_wrong"),
    )?;
    assert_eq!(denied.status.code(), Some(4), "{denied:?}");
    assert!(denied.stdout.is_empty(), "{denied:?}");
    let unreachable = spawn::output(
        spawn::command(stack.shared.program("guilds"))
            .args(["call", "--agent", ada, "note_find"])
            .env("GUILDS_URL", "http://127.0.0.1:9")
            .env("GUILDS_BACKEND_TOKEN", &stack.shared.backend_token),
    )?;
    assert_eq!(unreachable.status.code(), Some(5), "{unreachable:?}");
    Ok(())
}

#[tokio::test]
async fn apply_reads_toml_and_a_token_from_a_file() -> Result<()> {
    let stack = Stack::storage().await?;
    let document = stack.directory.path().join("acme.toml");
    std::fs::write(
        &document,
        "organisation = \"acme\"\n\n[[guilds]]\nid = \"second\"\n",
    )?;
    let token = stack.directory.path().join("token");
    std::fs::write(&token, format!("{}\n", stack.shared.operator_token))?;
    let apply = |more: &[&str]| {
        spawn::output(
            spawn::command(stack.shared.program("guilds"))
                .args(["apply", "-o", "json", "-f"])
                .arg(&document)
                .args(more)
                .env(
                    "GUILDS_URL",
                    format!("http://{}", stack.control_plane.address()),
                )
                .env("GUILDS_OPERATOR_TOKEN_FILE", &token),
        )
    };
    let planned = apply(&["--dry-run"])?;
    assert_eq!(
        planned.status.code(),
        Some(2),
        "changes are pending: {planned:?}"
    );
    let applied = apply(&[])?;
    assert_eq!(applied.status.code(), Some(0), "{applied:?}");
    let body: Value = serde_json::from_str(&stdout(&applied))?;
    assert_eq!(body["changes"][0]["action"], "create");
    assert_eq!(body["changes"][0]["id"], "second");

    std::fs::write(
        &document,
        "organisation = \"acme\"\n\n[[guilds]]\nid = \"Not Fine\"\n",
    )?;
    let refused = apply(&[])?;
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(refused.stdout.is_empty(), "{refused:?}");
    let error: Value = serde_json::from_slice(&refused.stderr)?;
    assert_eq!(error["error"]["code"], "document_rejected");
    Ok(())
}
