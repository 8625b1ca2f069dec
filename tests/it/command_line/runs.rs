//! `guilds run`: a run's calls in time, and following them.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tests::Stack;

use super::Guilds;

#[tokio::test]
async fn a_run_is_listed_shown_and_ended() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let run = stack.run(&stack.ada).await?;
    run.call("note_find", json!({})).await?;
    run.call("note_get", json!({"path": "agent/nobody/a.md"}))
        .await?;
    let id = run.id.as_str();

    let list = guilds.run(&["run", "list", "--state", "open"])?.done();
    let line = list.lines().nth(1).context("a run")?;
    assert!(
        line.starts_with(&format!("{id}  {}  open   direct  ", stack.ada.id)),
        "{list}"
    );
    let shown = guilds.wide(200, &["run", "show", id])?.done();
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines[0], format!("run {id}"));
    assert!(
        lines[1].starts_with(&format!(
            "{}, direct, open, turn 1, 58 calls left, started ",
            stack.ada.id
        )),
        "{shown}"
    );
    assert!(
        lines[2].starts_with("notice: machine local can't be reached"),
        "{shown}"
    );
    assert_eq!(lines[3], "");
    let headings: Vec<_> = lines[4].split_whitespace().collect();
    assert_eq!(
        headings,
        ["START", "TOOK", "TOOL", "E", "SIZE", "RESULT", "CALL"]
    );
    assert!(
        lines[5].starts_with('+') && lines[5].contains("  note_find  "),
        "{shown}"
    );
    assert!(
        lines[6].contains("  note_get   ") && lines[6].contains("  404 "),
        "{shown}"
    );
    assert_eq!(lines.len(), 7);

    let whole = guilds.run(&["run", "show", id, "-o", "json"])?.json()?;
    assert_eq!(whole["run"], json!(id));
    assert_eq!(whole["messages"][0]["metadata"]["tool_name"], "note_find");
    assert_eq!(
        guilds.run(&["run", "end", id])?.done(),
        format!("ended run {id}\n")
    );
    assert_eq!(
        guilds.run(&["run", "end", id, "-o", "json"])?.json()?,
        json!({"run": id, "state": "ended"})
    );
    Ok(())
}

#[tokio::test]
async fn following_shows_each_call_once_and_ends_with_the_run() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let run = stack.run(&stack.ada).await?;
    run.call("note_find", json!({})).await?;
    let mut command = guilds.command(&["run", "follow", &run.id, "-o", "json"]);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    run.call("script_list", json!({})).await?;
    run.end().await?;
    let output = child.wait_with_output()?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let tools: Vec<_> = String::from_utf8(output.stdout)?
        .lines()
        .map(|line| Ok(serde_json::from_str::<serde_json::Value>(line)?["name"].clone()))
        .collect::<Result<_>>()?;
    assert_eq!(tools, [json!("note_find"), json!("script_list")]);
    Ok(())
}

#[tokio::test]
async fn an_interrupt_ends_the_following_and_not_the_run() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let run = stack.run(&stack.ada).await?;
    let mut command = guilds.command(&["run", "follow", &run.id]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // Its first line shows that it listens for the signal.
    let mut first = [0; 4];
    child
        .stdout
        .as_mut()
        .context("stdout")?
        .read_exact(&mut first)?;
    assert_eq!(&first, b"run ");
    tokio::time::sleep(Duration::from_millis(50)).await;
    kill(Pid::from_raw(i32::try_from(child.id())?), Signal::SIGINT)?;
    let output = child.wait_with_output()?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let state = stack.backend.get(&run.path("")).await?.expect(200)?;
    assert_eq!(state["state"], "open");
    Ok(())
}
