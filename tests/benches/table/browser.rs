//! Browser calls: our helper and the whole path, against playwright-core from a fresh Node process.

use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::site::Site;
use tests::{Run, Stack, spawn};

use crate::timing::{KeptClient, Row, median_ms};

const COUNT: usize = 30;

/// All three do the same thing on the same page of the same Chrome, in turns.
pub async fn calls(stack: &Stack) -> Result<Vec<Row>> {
    let page = page()?;
    let site = Site::serve(&[("/", &page)]).await?;
    let url = site.url("/");
    let run = stack
        .backend
        .start(&json!({ "agent": stack.ada.id, "kind": "direct", "max_tool_calls": 1000 }))
        .await?;
    let mut client = KeptClient::connect(stack).await?;
    client
        .call(&run, "browser_navigate", &json!({ "url": url }))
        .await?;
    let photo = stack.directory.path().join("photo.jpg");
    let photo = photo.to_str().context("a path that is not UTF-8")?;
    let mut rows = Vec::new();
    for (verb, arguments, foreign) in [
        ("navigate", json!({ "url": url }), Some(url.as_str())),
        ("snapshot", json!({}), None),
        ("click", json!({ "target": "#go" }), Some("#go")),
        (
            "eval",
            json!({ "expression": "return document.title" }),
            Some("document.title"),
        ),
        ("screenshot", json!({}), Some(photo)),
    ] {
        rows.extend(one(stack, &run, &mut client, verb, &arguments, foreign).await?);
    }
    Ok(rows)
}

async fn one(
    stack: &Stack,
    run: &Run,
    client: &mut KeptClient,
    verb: &str,
    arguments: &Value,
    foreign: Option<&str>,
) -> Result<[Row; 2]> {
    let (mut helper, mut path, mut node) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=COUNT {
        let by_helper = by_helper(stack, verb, arguments)?;
        let by_path = client
            .call(run, &format!("browser_{verb}"), arguments)
            .await?;
        let by_node = by_node(stack, verb, foreign)?;
        if round > 0 {
            helper.push(by_helper);
            path.push(by_path);
            node.push(by_node);
        }
    }
    let other = median_ms(&mut node);
    let row = |what: String, times: &mut [Duration]| Row {
        what,
        ours: median_ms(times),
        other: Some(other),
        unit: "ms",
        count: COUNT,
        against: "playwright-core connectOverCDP, fresh Node".to_owned(),
    };
    Ok([
        row(format!("browser_{verb}, helper"), &mut helper),
        row(format!("browser_{verb}, whole path"), &mut path),
    ])
}

fn port(stack: &Stack) -> String {
    (9300 + u16::from(stack.ada.slot())).to_string()
}

fn by_helper(stack: &Stack, verb: &str, arguments: &Value) -> Result<Duration> {
    let uid = stack.ada.uid()?;
    let request = json!({ "arguments": arguments }).to_string();
    let mut command = spawn::command("/usr/local/bin/guilds-browser");
    command
        .args([verb, "--port", &port(stack), "--home", &stack.ada.home()])
        .env_clear()
        .env("HOME", stack.ada.home())
        .uid(uid)
        .gid(uid);
    let begun = Instant::now();
    let output = spawn::output_with_input(&mut command, request.as_bytes())?;
    let took = begun.elapsed();
    let reply: Value =
        serde_json::from_slice(&output.stdout).with_context(|| format!("{verb}: {output:?}"))?;
    ensure!(reply.get("error").is_none(), "{verb}: {reply}");
    Ok(took)
}

fn by_node(stack: &Stack, verb: &str, argument: Option<&str>) -> Result<Duration> {
    let clients: PathBuf = stack.shared.repository.join("tests/clients");
    let node = clients.join("node_modules/.bin/node");
    ensure!(
        node.exists(),
        "the test clients are missing: scripts/set-up.sh test installs them"
    );
    let mut command = spawn::command(node);
    command
        .arg(clients.join("playwright.mjs"))
        .args([&port(stack), verb])
        .args(argument);
    let begun = Instant::now();
    let output = spawn::output(&mut command)?;
    let took = begun.elapsed();
    ensure!(output.status.success(), "{verb}: {output:?}");
    Ok(took)
}

/// About the size of a shop's list: 1,200 named nodes.
fn page() -> Result<String> {
    let mut page = String::from(
        "<!doctype html><title>Lamps</title><h1>Lamps</h1><button id=go>Go</button><ul>",
    );
    for number in 0..400 {
        write!(
            page,
            "<li><a href='#{number}'>Lamp {number}</a> <span>{number}.00</span> <button>Buy {number}</button></li>"
        )?;
    }
    page.push_str("</ul>");
    Ok(page)
}
