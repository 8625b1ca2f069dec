//! Tables on screens of several widths, colours on terminals only, readers that leave.

use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::json;
use tests::{Stack, spawn};

use super::{Guilds, Said};

/// A guild and agents whose names are the same in every run.
async fn fixed(stack: &Stack) -> Result<()> {
    let agent = |id: &str, slot: u8| json!({"id": id, "guild": "workshop-of-the-far-north", "machine": "local", "slot": slot});
    stack
        .apply(&json!({
            "guilds": [{"id": "workshop-of-the-far-north"}],
            "agents": [agent("a-carpenter", 40), agent("b-smith", 41)],
        }))
        .await?;
    Ok(())
}

/// Lines of a table about the fixed agents, with the headings.
fn about_fixed(table: &str) -> String {
    let lines = table.lines().filter(|line| {
        ["ID", "a-carpenter", "b-smith"]
            .iter()
            .any(|start| line.starts_with(start))
    });
    lines.map(|line| format!("{line}\n")).collect()
}

#[tokio::test]
async fn tables_fit_screens_of_40_80_and_200_columns() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    fixed(&stack).await?;
    let at = |columns| -> Result<String> {
        Ok(about_fixed(
            &guilds.wide(columns, &["agent", "list"])?.done(),
        ))
    };
    assert_eq!(
        at(40)?,
        "\
ID           GUILD
a-carpenter  workshop-of-the-far-north
b-smith      workshop-of-the-far-north
"
    );
    let whole = "\
ID           GUILD                      MACHINE  SLOT  OPEN RUNS
a-carpenter  workshop-of-the-far-north  local      40          0
b-smith      workshop-of-the-far-north  local      41          0
";
    assert_eq!(at(80)?, whole);
    assert_eq!(at(200)?, whole);
    // Nothing says how wide a pipe is.
    assert_eq!(about_fixed(&guilds.run(&["agent", "list"])?.done()), whole);
    for columns in [40, 80, 200] {
        let table = guilds.wide(columns, &["machine", "list"])?.done();
        for line in table.lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn json_is_the_apis_list_in_as_many_pages_as_it_takes() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let many: Vec<_> = (0..1_200)
        .map(|n| json!({"id": format!("g{n:04}")}))
        .collect();
    stack.apply(&json!({ "guilds": many })).await?;
    let ids = |limit: &str| -> Result<(usize, bool)> {
        let list = guilds
            .run(&["guild", "list", "--limit", limit, "-o", "json"])?
            .json()?;
        let count = list["guilds"].as_array().context("a list")?.len();
        Ok((count, list["next"].is_null()))
    };
    assert_eq!(ids("100")?, (100, false));
    assert_eq!(ids("1100")?, (1_100, false));
    assert_eq!(ids("2000")?, (1_201, true));
    let table = guilds.run(&["guild", "list", "--limit", "1100"])?;
    assert_eq!(table.stdout.lines().count(), 1_101);
    assert_eq!(
        table.stderr,
        "there are more than these 1100; --limit shows more\n"
    );
    let none = guilds.run(&["connector", "list"])?;
    assert_eq!(
        (none.stdout.as_str(), none.stderr.as_str()),
        ("", "no connectors\n")
    );
    Ok(())
}

#[tokio::test]
async fn a_reader_that_leaves_ends_it_quietly() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    for words in [
        &["agent", "list"][..],
        &["agent", "list", "-o", "json"],
        &["export"],
        &["completion", "bash"],
        &["--help"],
        &["status"],
        &["doctor"],
    ] {
        // Nobody reads from the first byte on.
        let (read, write) = nix::unistd::pipe()?;
        drop(read);
        let mut command = guilds.command(words);
        command
            .stdin(Stdio::null())
            .stdout(write)
            .stderr(Stdio::piped());
        let output = command.spawn()?.wait_with_output()?;
        assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{words:?}: {output:?}");
    }
    let mut shell = spawn::command("/bin/bash");
    guilds.environ(&mut shell).args([
        "-c",
        "set -o pipefail; guilds agent list -o json | head -c 1",
    ]);
    let said = Said::of(spawn::output(&mut shell)?)?;
    assert_eq!(said.done(), "{");
    Ok(())
}

/// Runs a line on a terminal of its own; gives what it showed.
fn on_terminal(guilds: &Guilds, line: &str, input: &str) -> Result<Said> {
    let mut script = spawn::command("/usr/bin/script");
    guilds
        .environ(&mut script)
        .env("TERM", "xterm")
        .args(["-qec", line, "/dev/null"]);
    Said::of(spawn::output_with_input(&mut script, input.as_bytes())?)
}

#[tokio::test]
async fn a_terminal_gives_width_and_colours() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    fixed(&stack).await?;
    let shown = on_terminal(&guilds, "stty cols 40; guilds agent list", "")?;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown
            .stdout
            .contains("\u{1b}[1mID\u{1b}[0m           \u{1b}[1mGUILD\u{1b}[0m\r\n"),
        "{shown:?}"
    );
    assert!(!shown.stdout.contains("MACHINE"), "{shown:?}");
    let plain = on_terminal(&guilds, "stty cols 80; NO_COLOR=1 guilds agent list", "")?;
    assert!(!plain.stdout.contains('\u{1b}'), "{plain:?}");
    assert!(plain.stdout.contains("ID           GUILD  "), "{plain:?}");
    // What an agent wrote is shown, not obeyed.
    let written = stack.ada.id.as_str();
    let run = stack.run(&stack.ada).await?;
    run.call(
        "note_write",
        json!({"level": "agent", "key": "a.md", "content": "\u{1b}[2J\u{9b}31m\u{7}bell"}),
    )
    .await?;
    let read = format!(
        "NO_COLOR=1 TERM=dumb guilds call --agent {written} note_get path=agent/{written}/a.md"
    );
    let shown = on_terminal(&guilds, &read, "")?;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.contains("bell"), "{shown:?}");
    assert!(
        !shown.stdout.contains(['\u{1b}', '\u{9b}', '\u{7}']),
        "{shown:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_terminal_is_asked_before_something_is_removed() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    stack
        .apply(&json!({
            "guilds": [{"id": "spare"}],
            "bindings": [{"tool": "note", "guild": "spare", "enabled": false}],
        }))
        .await?;
    let list = || -> Result<String> { Ok(guilds.run(&["guild", "list"])?.done()) };
    let no = on_terminal(&guilds, "guilds guild rm spare", "n\n")?;
    assert_eq!(no.code, Some(1), "{no:?}");
    assert!(no.stdout.contains("remove guild spare? [y/N] "), "{no:?}");
    assert!(
        no.stdout.contains("removed  "),
        "what goes with it is told: {no:?}"
    );
    assert!(no.stdout.contains("guilds: nothing was removed"), "{no:?}");
    assert!(list()?.contains("spare"));
    let yes = on_terminal(&guilds, "guilds guild rm spare", "y\n")?;
    assert_eq!(yes.code, Some(0), "{yes:?}");
    assert!(yes.stdout.contains("removed guild spare\r\n"), "{yes:?}");
    assert!(!list()?.contains("spare"));
    Ok(())
}
