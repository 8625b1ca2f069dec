//! A `note_get` call, against all the statements it sends: prepared, on one connection, one durable commit.
//!
//! Then calls a second over eight connections, against pgbench with eight clients doing the same.
//! The statements are read from the server's log of one such call, so that the
//! comparison follows the code; pgbench replays them as one transaction.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor};
use tests::cluster::Cluster;
use tests::statements::{Statement, parse_log};
use tests::{Run, Stack, spawn};

use crate::timing::{KeptClient, Row, median_ms};

const COUNT: usize = 400;
/// Connections and runs when calls a second are counted, and calls of each in a round.
const CLIENTS: usize = 8;
const CALLS_A_ROUND: usize = 250;
const ROUNDS: usize = 3;
/// Stands in the logged parameters where a replay needs a fresh id.
const CALL_ID: &str = "the-logged-call";

/// Measures both, in turns of a hundred.
pub async fn note_get(stack: &Stack) -> Result<Vec<Row>> {
    let run = stack.run_with_budget(1000).await?;
    let content = "A note of usual size. ".repeat(40);
    run.call(
        "note_write",
        json!({ "level": "agent", "key": "bench.md", "content": content }),
    )
    .await?;
    let arguments = json!({ "path": format!("agent/{}/bench.md", stack.ada.id) });
    let statements = logged_statements(stack, &run, &arguments).await?;
    let replayed_run = stack.run_with_budget(1000).await?;
    let mut client = KeptClient::connect(stack).await?;
    for _ in 0..50 {
        client.call(&run, "note_get", &arguments).await?;
    }
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..COUNT / 100 {
        for _ in 0..100 {
            ours.push(client.call(&run, "note_get", &arguments).await?);
        }
        bare.extend(replay(stack, &statements, &run, &replayed_run)?);
    }
    let at_once = calls_a_second(stack, &statements, &run, &arguments).await?;
    Ok(vec![
        Row {
            what: "note_get, whole path".to_owned(),
            ours: Some(median_ms(&mut ours)),
            other: Some(median_ms(&mut bare)),
            unit: "ms",
            count: COUNT,
            against: format!(
                "its {} statements, prepared, one durable commit",
                statements.len()
            ),
        },
        at_once,
    ])
}

/// Calls a second, each client with a connection and a run of its own; medians of some rounds
/// that take turns.
async fn calls_a_second(
    stack: &Stack,
    statements: &[Statement],
    from: &Run,
    arguments: &Value,
) -> Result<Row> {
    let (mut runs, mut replayed, mut clients) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..CLIENTS {
        runs.push(stack.run_with_budget(1000).await?);
        replayed.push(stack.run_with_budget(1000).await?);
        clients.push(KeptClient::connect(stack).await?);
    }
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let mut working = tokio::task::JoinSet::new();
        for (mut client, run) in clients.drain(..).zip(&runs) {
            let (run, arguments) = (run.clone(), arguments.clone());
            working.spawn(async move {
                for _ in 0..CALLS_A_ROUND {
                    client.call(&run, "note_get", &arguments).await?;
                }
                anyhow::Ok(client)
            });
        }
        while let Some(client) = working.join_next().await {
            clients.push(client??);
        }
        let calls = u32::try_from(CLIENTS * CALLS_A_ROUND)?;
        ours.push(f64::from(calls) / begun.elapsed().as_secs_f64());
        let replay = Replay {
            clients: CLIENTS,
            transactions: CALLS_A_ROUND,
        };
        bare.push(replay.run(stack, statements, from, &replayed)?);
    }
    Ok(Row {
        what: format!("note_get, {CLIENTS} connections"),
        ours: Some(median(&mut ours)),
        other: Some(median(&mut bare)),
        unit: "calls/s",
        count: ROUNDS * CLIENTS * CALLS_A_ROUND,
        against: format!(
            "pgbench, {CLIENTS} clients, the same statements, one durable commit each"
        ),
    })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The statements of one call, without those that only begin and end transactions.
async fn logged_statements(stack: &Stack, run: &Run, arguments: &Value) -> Result<Vec<Statement>> {
    let mut db = stack.database().await?;
    let mut shortest: Option<Vec<Statement>> = None;
    // The control plane's clockwork speaks to the database too: of some calls, the
    // one with the fewest statements is the one that it didn't fall into.
    for number in 0..5 {
        let id = format!("{CALL_ID}-{number}");
        set_logging(&mut db, "all").await?;
        let before = stack.shared.cluster.log()?.len();
        run.call_as(&id, "note_get", arguments.clone()).await?;
        let log = stack.shared.cluster.log()?;
        set_logging(&mut db, "none").await?;
        let mut found = parse_log(&log[before..]);
        for parameter in found.iter_mut().flat_map(|found| &mut found.parameters) {
            *parameter = parameter.take().map(|text| text.replace(&id, CALL_ID));
        }
        if shortest
            .as_ref()
            .is_none_or(|shortest| found.len() < shortest.len())
        {
            shortest = Some(found);
        }
    }
    let shortest = shortest.unwrap_or_default();
    ensure!(
        shortest
            .iter()
            .any(|statement| statement.sql.contains("INSERT INTO calls")),
        "the log shows no call: {shortest:?}"
    );
    Ok(shortest)
}

async fn set_logging(db: &mut sqlx::PgConnection, level: &str) -> Result<()> {
    db.execute(AssertSqlSafe(format!(
        "ALTER SYSTEM SET log_statement = '{level}'"
    )))
    .await?;
    db.execute("SELECT pg_reload_conf()").await?;
    // The other sessions read it when their next statement begins.
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(())
}

/// A hundred replays by pgbench in its `prepared` mode; it sends parameters as text.
fn replay(stack: &Stack, statements: &[Statement], from: &Run, to: &Run) -> Result<Vec<Duration>> {
    let replay = Replay {
        clients: 1,
        transactions: 110,
    };
    replay.run(stack, statements, from, std::slice::from_ref(to))?;
    let mut times = Vec::new();
    for entry in std::fs::read_dir(stack.directory.path())? {
        let path = entry?.path();
        if is_log(&path) {
            for line in std::fs::read_to_string(&path)?.lines() {
                let micros = line.split_whitespace().nth(2).context("a time")?;
                times.push(Duration::from_micros(micros.parse()?));
            }
        }
    }
    ensure!(times.len() == 110, "{} replays", times.len());
    // The first ones prepare.
    Ok(times.split_off(10))
}

fn is_log(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("replay-log."))
}

/// Runs of pgbench.
struct Replay {
    clients: usize,
    transactions: usize,
}

impl Replay {
    /// Replays the statements of a call of `from`, each client in one run of `to`, and answers
    /// the transactions a second. Its logs stay in the stack's folder.
    fn run(&self, stack: &Stack, statements: &[Statement], from: &Run, to: &[Run]) -> Result<f64> {
        let directory = stack.directory.path();
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if is_log(&path) {
                std::fs::remove_file(path)?;
            }
        }
        let script = directory.join("replay.sql");
        let log = directory.join("replay-log");
        let mut command = spawn::command(Cluster::program("pgbench"));
        command
            .args(["-n", "-M", "prepared", "-U", "postgres", "-l"])
            .args(["-c", &self.clients.to_string()])
            .args(["-t", &self.transactions.to_string()])
            .arg(format!("--log-prefix={}", log.display()))
            .arg("-h")
            .arg(stack.shared.cluster.socket());
        let mut text = String::from("\\set n random(1, 1000000000000)\nBEGIN;\n");
        for (index, statement) in statements.iter().enumerate() {
            // In one transaction the commit that counts is the last, and it is durable.
            let mut sql = statement.sql.replace("'off'", "'on'");
            for (number, parameter) in statement.parameters.iter().enumerate().rev() {
                let name = format!("p{index}_{number}");
                let place = match parameter {
                    None => "NULL".to_owned(),
                    Some(value) if *value == from.id => run_of_client(to),
                    Some(value) => {
                        command.arg("-D").arg(format!("{name}={value}"));
                        place(&name, value)
                    }
                };
                sql = sql.replace(&format!("${}", number + 1), &place);
            }
            text.push_str(&sql);
            text.push_str(";\n");
        }
        text.push_str("COMMIT;\n");
        std::fs::write(&script, &text)?;
        command.arg("-f").arg(&script).arg(stack.database_name());
        let output = spawn::output(&mut command)?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success() && !told.contains("ERROR"),
            "{told}\n{text}"
        );
        let told = String::from_utf8_lossy(&output.stdout);
        let line = told
            .lines()
            .find_map(|line| line.strip_prefix("tps = "))
            .with_context(|| told.to_string())?;
        Ok(line.split(' ').next().context("a number")?.parse()?)
    }
}

/// The run of a pgbench client.
fn run_of_client(runs: &[Run]) -> String {
    match runs {
        [run] => format!("'{}'", run.id),
        runs => {
            let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
            format!("(('{{{}}}'::uuid[])[:client_id + 1])", ids.join(","))
        }
    }
}

/// A parameter in its place, with a fresh id where the logged one's stands.
fn place(name: &str, value: &str) -> String {
    if !value.contains(CALL_ID) {
        return format!(":{name}");
    }
    let array = if value.starts_with('{') {
        "::text[]"
    } else {
        ""
    };
    format!("(replace(:{name}, '{CALL_ID}', 'c' || (:n)::text){array})")
}
