//! Memory of both idle daemons and of an agent's runner.

use anyhow::{Context, Result};
use serde_json::json;
use tests::{Stack, processes};

use crate::timing::Row;

/// After one call of each kind, at rest.
pub async fn of_daemons(stack: &Stack) -> Result<Vec<Row>> {
    let run = stack.run(&stack.bob).await?;
    run.call("note_find", json!({})).await?;
    run.call(
        "script_create",
        json!({ "name": "idle", "description": "d", "source": "pass" }),
    )
    .await?;
    run.call("script_run", json!({ "name": "idle" })).await?;
    let runner = processes::of_uid(stack.bob.uid()?)?
        .into_iter()
        .find(|process| process.command.contains("runner"))
        .context("bob's runner")?;
    [
        ("control plane", stack.control_plane.pid()),
        ("machine agent's front", stack.machine()?.pid()),
        ("one agent's runner", runner.pid),
    ]
    .into_iter()
    .flat_map(|(name, pid)| {
        [
            row(format!("{name}, idle, RSS"), processes::rss_kib(pid)),
            row(format!("{name}, idle, PSS"), processes::pss_kib(pid)),
        ]
    })
    .collect()
}

fn row(what: String, kib: Result<u64>) -> Result<Row> {
    let kib = u32::try_from(kib?)?;
    Ok(Row {
        what,
        ours: Some(f64::from(kib) / 1024.0),
        other: None,
        unit: "MiB",
        count: 1,
        against: String::new(),
    })
}
