//! `@playwright/mcp` as its users run it: one server kept alive, spoken to over its stdio.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tests::{processes, spawn};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout_at;

use super::verbs::{EXPRESSION, Subject, TARGET, Verb};

/// No answer of the server's is waited for longer.
const ANSWER: Duration = Duration::from_secs(60);

/// A running server; it ends with this value.
#[derive(Debug)]
pub struct Mcp {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last: u64,
}

impl Mcp {
    /// Starts the server below `packages`, which attaches to the browser at its first call.
    pub async fn start(node: &Path, packages: &Path, port: u16, folder: &Path) -> Result<Self> {
        let program = packages.join("node_modules/@playwright/mcp/cli.js");
        ensure!(program.exists(), "{} is missing", program.display());
        let mut command = spawn::command(node);
        command
            .arg(program)
            .args(["--cdp-endpoint", &format!("http://127.0.0.1:{port}")])
            .current_dir(folder)
            .env_clear()
            .env("HOME", folder)
            .env("PATH", "/usr/bin:/bin")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null());
        let mut child = Command::from(command).kill_on_drop(true).spawn()?;
        let input = child.stdin.take().context("no stdin")?;
        let output = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let mut mcp = Self {
            child,
            input,
            output,
            last: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        mcp.ask("initialize", hello).await?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        mcp.write(&ready).await?;
        Ok(mcp)
    }

    /// One tool call, and the text of its result.
    pub async fn call(&mut self, verb: Verb, subject: &Subject) -> Result<(Duration, String)> {
        let (tool, arguments) = match verb {
            Verb::Navigate => ("browser_navigate", json!({ "url": subject.url })),
            Verb::Snapshot => ("browser_snapshot", json!({})),
            Verb::Click => (
                "browser_click",
                json!({ "element": "Go", "target": TARGET }),
            ),
            Verb::Eval => (
                "browser_evaluate",
                json!({ "function": format!("() => {EXPRESSION}") }),
            ),
            // With a file name the picture is not put into the answer as well.
            Verb::Screenshot => (
                "browser_take_screenshot",
                json!({ "type": "jpeg", "filename": "picture.jpg" }),
            ),
        };
        let begun = Instant::now();
        let params = json!({ "name": tool, "arguments": arguments });
        let result = self.ask("tools/call", params).await?;
        let took = begun.elapsed();
        ensure!(result["isError"] != true, "{tool}: {result}");
        let text: Vec<&str> = result["content"]
            .as_array()
            .context("no content")?
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect();
        Ok((took, text.concat()))
    }

    /// The most memory it ever had, in KiB.
    pub fn peak_kib(&self) -> Result<u64> {
        processes::peak_kib(self.child.id().context("the server ended")?)
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last += 1;
        let request = json!({
            "jsonrpc": "2.0", "id": self.last, "method": method, "params": params,
        });
        self.write(&request).await?;
        let deadline = tokio::time::Instant::now() + ANSWER;
        loop {
            let line = timeout_at(deadline, self.output.next_line())
                .await
                .with_context(|| format!("{method}: no answer within {ANSWER:?}"))??;
            let Some(line) = line else {
                bail!("{method}: the server ended");
            };
            let mut message: Value = serde_json::from_str(&line)?;
            if message["id"] == self.last {
                ensure!(message["error"].is_null(), "{method}: {message}");
                return Ok(message["result"].take());
            }
        }
    }

    async fn write(&mut self, message: &Value) -> Result<()> {
        self.input
            .write_all(format!("{message}\n").as_bytes())
            .await?;
        Ok(self.input.flush().await?)
    }
}
