//! The MCP face as other people's clients see it: the official SDKs, the inspector, the conformance suite.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::api::names;
use tests::mcp::Mcp;
use tests::{Run, Stack, spawn};

/// Longer than any of these clients takes.
const LIMIT: Duration = Duration::from_secs(180);

struct World {
    stack: Stack,
    run: Run,
    client: Mcp,
}

impl World {
    /// A run whose next turn loses `note_delete`.
    async fn new() -> Result<Self> {
        let stack = Stack::storage().await?;
        let run = stack.run(&stack.ada).await?;
        let client = Mcp::of(stack.control_plane.address(), &run)?;
        let off = json!({ "tool": "note_delete", "agent": stack.ada.id, "enabled": false });
        stack
            .apply(&json!({ "organisation": "acme", "bindings": [off] }))
            .await?;
        Ok(Self { stack, run, client })
    }

    fn clients(&self) -> PathBuf {
        self.stack.shared.repository.join("tests/clients")
    }

    fn url(&self) -> String {
        format!("http://{}{}", self.client.address, self.client.path)
    }

    /// A client with what it has to know in its environment, and ours out of it.
    fn command(&self, program: &str) -> Result<Command> {
        let program = self.clients().join(program);
        ensure!(
            program.exists(),
            "{} is missing: scripts/set-up.sh test installs it",
            program.display()
        );
        let turns = self.run.path("/turns");
        let mut command = spawn::command(program);
        command
            .env_clear()
            .env("HOME", self.stack.directory.path())
            .env("PATH", "/usr/bin:/bin")
            .env("MCP_URL", self.url())
            .env("MCP_TOKEN", &self.client.token)
            .env(
                "TURNS_URL",
                format!("http://{}{turns}", self.client.address),
            )
            .env("BACKEND_TOKEN", &self.stack.shared.backend_token)
            .current_dir(self.clients().join("mcp"));
        Ok(command)
    }

    fn node(&self) -> Result<Command> {
        self.command("node_modules/.bin/node")
    }
}

/// Runs a client to its end beside the test's own tasks.
async fn output(mut command: Command) -> Result<Output> {
    let output = tokio::task::spawn_blocking(move || spawn::output(&mut command));
    tokio::time::timeout(LIMIT, output)
        .await
        .context("the client did not end")??
}

async fn stdout(command: Command) -> Result<String> {
    let output = output(command).await?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(
        output.status.success(),
        "{}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(text)
}

/// What every SDK has to have seen.
async fn check_session(world: &World, command: Command, revision: &str) -> Result<()> {
    let seen: Value = serde_json::from_str(&stdout(command).await?)?;
    assert_eq!(seen["revision"], revision);
    let offered = world.run.offered();
    assert_eq!(names(&seen["tools"]), offered);
    let own: Vec<Value> = world.run.body["tools"]
        .as_array()
        .context("tools")?
        .iter()
        .map(|tool| {
            json!({ "name": tool["name"], "description": tool["description"],
                    "inputSchema": tool["input_schema"] })
        })
        .collect();
    assert_eq!(seen["tools"], json!(own));
    assert_eq!(seen["written"]["isError"], false);
    let written = seen["written"]["text"].as_str().context("a text")?;
    assert!(written.ends_with("\nremaining_tool_calls: 59"), "{written}");
    assert_eq!(
        seen["unknown"],
        json!({ "isError": true,
                "text": "ERROR: unknown tool note_raed\nremaining_tool_calls: 58" })
    );
    let left: Vec<String> = offered
        .into_iter()
        .filter(|name| name != "note_delete")
        .collect();
    assert_eq!(names(&seen["after"]), left);
    Ok(())
}

#[tokio::test]
async fn the_typescript_sdk_of_the_first_era_lists_calls_and_hears_of_turns() -> Result<()> {
    let world = World::new().await?;
    let mut command = world.node()?;
    command.args(["session.mjs", "v1"]);
    check_session(&world, command, "2025-11-25").await
}

#[tokio::test]
async fn the_typescript_sdk_of_the_second_era_lists_calls_and_hears_of_turns() -> Result<()> {
    let world = World::new().await?;
    let mut command = world.node()?;
    command.args(["session.mjs", "v2"]);
    check_session(&world, command, "2026-07-28").await
}

#[tokio::test]
async fn the_python_sdk_lists_calls_and_hears_of_turns_in_both_eras() -> Result<()> {
    for (mode, revision) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let world = World::new().await?;
        let mut command = world.command("venv/bin/python")?;
        command.args(["session.py", mode]);
        check_session(&world, command, revision)
            .await
            .with_context(|| format!("mode {mode}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn the_inspectors_command_line_lists_and_calls() -> Result<()> {
    let world = World::new().await?;
    let inspect =
        |arguments: &[&str]| -> Result<Command> {
            let mut command = world.node()?;
            command
            .arg("../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
            .args(["--cli", &world.url(), "--transport", "http"])
            .args(["--header", &format!("Authorization: Bearer {}", world.client.token)])
            .args(arguments);
            Ok(command)
        };
    let list: Value = serde_json::from_str(&stdout(inspect(&["--method", "tools/list"])?).await?)?;
    assert_eq!(names(&list["tools"]), world.run.offered());
    let call = [
        "--method",
        "tools/call",
        "--tool-name",
        "note_write",
        "--tool-arg",
    ];
    let pairs = ["level=agent", "key=inspected.md", "content=hello"];
    let call = inspect(&[&call[..], &pairs[..]].concat())?;
    let called: Value = serde_json::from_str(&stdout(call).await?)?;
    assert_eq!(called["isError"], false);
    let text = called["content"][0]["text"].as_str().context("a text")?;
    assert!(text.ends_with("\nremaining_tool_calls: 59"), "{text}");
    let strict = output(inspect(&["--method", "tools/list", "--strict"])?).await?;
    assert_ne!(
        strict.status.code(),
        Some(6),
        "{}",
        String::from_utf8_lossy(&strict.stderr)
    );
    Ok(())
}

#[tokio::test]
async fn the_conformance_suite_fails_nothing_but_what_is_listed_with_its_reason() -> Result<()> {
    let world = World::new().await?;
    let mut command = world.node()?;
    command
        .args([
            "with-token.mjs",
            "../node_modules/@modelcontextprotocol/conformance/dist/index.js",
        ])
        .args(["server", "--url", "{url}", "--suite", "active"])
        .args(["--expected-failures", "conformance.yml", "--output-dir"])
        .arg(world.stack.directory.path().join("conformance"));
    let text = stdout(command).await?;
    for scenario in [
        "server-initialize",
        "ping",
        "tools-list",
        "dns-rebinding-protection",
    ] {
        assert!(text.contains(scenario), "{scenario} did not run:\n{text}");
    }
    Ok(())
}
