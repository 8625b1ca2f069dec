//! Clients that are a fresh process for each call: the product's helper, and Node with playwright-core.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tests::{Stack, processes, spawn};

use super::timed;
use super::verbs::{Subject, Verb};

/// Where the helper is installed.
pub const HELPER: &str = "/usr/local/bin/guilds-browser";
/// How often a process is looked at while its memory is measured.
const LOOK: Duration = Duration::from_micros(500);

/// One call of the helper, as the runner starts it, and its output.
pub fn by_helper(stack: &Stack, verb: Verb, subject: &Subject) -> Result<(Duration, String)> {
    let request = request(verb, subject);
    let mut command = helper(stack, verb)?;
    let (output, took) = timed(|| spawn::output_with_input(&mut command, request.as_bytes()))?;
    let mut reply: Value =
        serde_json::from_slice(&output.stdout).with_context(|| format!("{verb:?}: {output:?}"))?;
    ensure!(reply.get("error").is_none(), "{verb:?}: {reply}");
    match reply["output"].take() {
        Value::String(text) => Ok((took, text)),
        other => bail!("{verb:?}: {other}"),
    }
}

/// One call by playwright-core over `connectOverCDP`.
pub fn by_node(node: &Path, port: u16, verb: Verb, subject: &Subject) -> Result<Duration> {
    let mut command = playwright(node, port, verb, subject)?;
    let (output, took) = timed(|| spawn::output(&mut command))?;
    ensure!(output.status.success(), "{verb:?}: {output:?}");
    Ok(took)
}

/// The most memory that the helper has in one call, in KiB.
pub fn helper_peak_kib(stack: &Stack, verb: Verb, subject: &Subject) -> Result<u64> {
    peak_kib(&mut helper(stack, verb)?, request(verb, subject).as_bytes())
}

/// The most memory that Node has in one call, in KiB.
pub fn node_peak_kib(node: &Path, port: u16, verb: Verb, subject: &Subject) -> Result<u64> {
    peak_kib(&mut playwright(node, port, verb, subject)?, b"")
}

fn request(verb: Verb, subject: &Subject) -> String {
    json!({ "arguments": subject.arguments(verb) }).to_string()
}

fn helper(stack: &Stack, verb: Verb) -> Result<Command> {
    let uid = stack.ada.uid()?;
    let home = stack.ada.home();
    let port = super::port(stack).to_string();
    let mut command = spawn::command(HELPER);
    command
        .args([verb.name(), "--port", &port, "--home", &home])
        .env_clear()
        .env("HOME", &home)
        .uid(uid)
        .gid(uid);
    Ok(command)
}

fn playwright(node: &Path, port: u16, verb: Verb, subject: &Subject) -> Result<Command> {
    let script = node
        .ancestors()
        .find(|folder| folder.ends_with("clients"))
        .context("node is not one of the test clients")?
        .join("playwright.mjs");
    let mut command = spawn::command(node);
    command
        .arg(script)
        .args([&port.to_string(), verb.name()])
        .args(subject.word(verb));
    Ok(command)
}

/// Runs a program to its end and looks at it meanwhile: what the kernel tells of an
/// ended child counts the pages of its parent before the program began.
fn peak_kib(command: &mut Command, input: &[u8]) -> Result<u64> {
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = child.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        std::io::Write::write_all(&mut stdin, input)?;
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut peak = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
        }
        // A process that is just ending has no memory any more.
        peak = processes::peak_kib(child.id()).map_or(peak, |now| peak.max(now));
        std::thread::sleep(LOOK);
    };
    ensure!(status.success(), "{command:?}: {status}");
    Ok(peak)
}
