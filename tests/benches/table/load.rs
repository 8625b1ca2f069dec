//! A thousand open runs and a hundred calls a second for a minute: times, errors, and what memory does.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::{Run, Stack, processes};
use tokio::time::{Instant, sleep_until};

use crate::timing::{KeptClient, Row};

const RUNS: usize = 1_000;
const CALLS_A_SECOND: u32 = 100;
/// Connections of the chat backend; each makes every sixteenth call.
const CLIENTS: u32 = 16;
const WARM_UP: Duration = Duration::from_secs(20);
const MEASURED: Duration = Duration::from_secs(60);

/// What one stretch of calls came to.
#[derive(Default)]
struct Stretch {
    times: Vec<Duration>,
    errors: usize,
}

/// Starts the runs, warms up, and measures.
pub async fn many_runs(stack: &Stack) -> Result<Vec<Row>> {
    let pid = stack.control_plane.pid();
    let start = json!({ "agent": stack.bob.id, "kind": "direct", "max_tool_calls": 100 });
    let at_start = processes::rss_kib(pid)?;
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(stack.backend.start(&start).await?);
    }
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(KeptClient::connect(stack).await?);
    }
    let bob = &stack.bob.id;
    let (clients, _) = stretch(clients, &runs, bob, WARM_UP).await?;
    let warm = processes::rss_kib(pid)?;
    let (_, mut measured) = stretch(clients, &runs, bob, MEASURED).await?;
    let end = processes::rss_kib(pid)?;
    measured.times.sort_unstable();
    let count = measured.times.len();
    let against = format!(
        "{RUNS} open runs, {CALLS_A_SECOND} calls a second for {} s",
        MEASURED.as_secs()
    );
    let row = |what: &str, ours: f64, other: Option<f64>, unit, against: &str| Row {
        what: what.to_owned(),
        ours: Some(ours),
        other,
        unit,
        count,
        against: against.to_owned(),
    };
    Ok(vec![
        row(
            "load, median",
            at(&measured.times, 50)?,
            None,
            "ms",
            &against,
        ),
        row(
            "load, 99th percentile",
            at(&measured.times, 99)?,
            None,
            "ms",
            &against,
        ),
        row(
            "load, errors",
            f64::from(u32::try_from(measured.errors)?),
            None,
            "",
            &against,
        ),
        row(
            "load, RSS after warm-up",
            mib(warm)?,
            Some(mib(at_start)?),
            "MiB",
            "before the runs were started",
        ),
        row(
            "load, RSS at the end",
            mib(end)?,
            Some(mib(warm)?),
            "MiB",
            "after warm-up",
        ),
    ])
}

fn mib(kib: u64) -> Result<f64> {
    Ok(f64::from(u32::try_from(kib)?) / 1024.0)
}

fn at(sorted: &[Duration], percent: usize) -> Result<f64> {
    let index = sorted.len() * percent / 100;
    let time = sorted.get(index).context("no call was measured")?;
    Ok(time.as_secs_f64() * 1000.0)
}

/// Calls at fixed moments, whatever the ones before take: a time counts from its moment.
async fn stretch(
    clients: Vec<KeptClient>,
    runs: &[Run],
    bob: &str,
    length: Duration,
) -> Result<(Vec<KeptClient>, Stretch)> {
    let begun = Instant::now() + Duration::from_millis(50);
    let apart = Duration::from_secs(1) / CALLS_A_SECOND;
    let mut working = tokio::task::JoinSet::new();
    for (first, mut client) in (0..).zip(clients) {
        let (runs, bob) = (runs.to_vec(), bob.to_owned());
        working.spawn(async move {
            let mut stretch = Stretch::default();
            let mut number = first;
            while apart * number < length {
                let moment = begun + apart * number;
                sleep_until(moment).await;
                let run = &runs[number as usize % runs.len()];
                let (name, arguments) = call(number, &bob);
                match client.call(run, name, &arguments).await {
                    Ok(_) => stretch.times.push(moment.elapsed()),
                    Err(_) => stretch.errors += 1,
                }
                number += CLIENTS;
            }
            (client, stretch)
        });
    }
    let (mut clients, mut all) = (Vec::new(), Stretch::default());
    while let Some(done) = working.join_next().await {
        let (client, stretch) = done?;
        clients.push(client);
        all.times.extend(stretch.times);
        all.errors += stretch.errors;
    }
    Ok((clients, all))
}

/// Three kinds of storage calls; a hundred notes stay a hundred.
fn call(number: u32, bob: &str) -> (&'static str, Value) {
    let key = format!("load-{}.md", number / 4 % 100);
    match number % 4 {
        0 => (
            "note_write",
            json!({ "level": "agent", "key": key, "content": "Some lines of text. ".repeat(40) }),
        ),
        1 => ("note_find", json!({ "query": "lines", "limit": 5 })),
        2 => (
            "note_get",
            json!({ "path": format!("agent/{bob}/task.md") }),
        ),
        _ => ("script_list", json!({})),
    }
}
