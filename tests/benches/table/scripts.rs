//! `script_run` from the backend's request to its result, against Python alone; and where the difference goes.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use hyper::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use tests::kept_connection::KeptConnection;
use tests::{Run, Stack, spawn};

use crate::timing::{KeptClient, Row, median_ms};

const SOURCE: &str = "import sys\nsys.stdin.read()\nprint('ran')\n";
const COUNT: usize = 60;
/// The first rounds make account, runner and file, and fill caches.
const WARM: usize = 3;
/// Most that the path may add to Python at the median, in milliseconds.
const MOST_ADDED_MS: f64 = 12.0;

/// What was measured, a duration a round each.
#[derive(Default)]
struct Times {
    whole: Vec<Duration>,
    python: Vec<Duration>,
    launcher: Vec<Duration>,
    runner: Vec<Duration>,
    front: Vec<Duration>,
    /// Parts of `whole`, by the moments that the database noted.
    claim: Vec<Duration>,
    send: Vec<Duration>,
    machine: Vec<Duration>,
    store: Vec<Duration>,
}

/// All of them run the same source with the same input, in turns.
pub async fn script_run(stack: &Stack) -> Result<Vec<Row>> {
    let run = stack
        .backend
        .start(&json!({ "agent": stack.bob.id, "kind": "direct", "max_tool_calls": 1000 }))
        .await?;
    run.call(
        "script_create",
        json!({ "name": "bench", "description": "d", "source": SOURCE }),
    )
    .await?;
    let file = stack.directory.path().join("bench.py");
    std::fs::write(&file, SOURCE)?;
    let mut client = KeptClient::connect(stack).await?;
    let mut layers = Layers::new(stack).await?;
    let mut db = stack.database().await?;
    let mut times = Times::default();
    for round in 0..COUNT + WARM {
        if round == WARM {
            times = Times::default();
        }
        let begun_at = SystemTime::now();
        let took = client
            .call(&run, "script_run", &json!({ "name": "bench" }))
            .await?;
        times.whole.push(took);
        let begun = Instant::now();
        let output =
            spawn::output_with_input(spawn::command("/usr/bin/python3").arg(&file), b"{}")?;
        times.python.push(begun.elapsed());
        ensure!(output.stdout == b"ran\n", "{output:?}");
        times.launcher.push(layers.launcher(stack)?);
        times.runner.push(layers.runner().await?);
        times.front.push(layers.front().await?);
        let moments = Moments::of_last_call(&mut db, &run).await?;
        moments.split(begun_at, took, &mut times)?;
    }
    Ok(rows(times))
}

fn rows(mut times: Times) -> Vec<Row> {
    let whole = median_ms(&mut times.whole);
    let python = median_ms(&mut times.python);
    let launcher = median_ms(&mut times.launcher);
    let runner = median_ms(&mut times.runner);
    let front = median_ms(&mut times.front);
    let machine = median_ms(&mut times.machine);
    let row = |what: &str, ours: f64, other: Option<f64>, against: &str| Row {
        what: what.to_owned(),
        ours: Some(ours),
        other,
        unit: "ms",
        count: COUNT,
        against: against.to_owned(),
    };
    let part = |what: &str, ours: f64, against: &str| row(what, ours, None, against);
    vec![
        row(
            "script_run, whole path",
            whole,
            Some(python),
            "python3 alone",
        ),
        row(
            "script_run, added",
            whole - python,
            Some(MOST_ADDED_MS),
            "the most that it may add",
        ),
        part(
            "  claim",
            median_ms(&mut times.claim),
            "from the request until the call is claimed",
        ),
        part(
            "  send",
            median_ms(&mut times.send),
            "from there until it is marked as sent",
        ),
        part(
            "  front",
            front - runner,
            "mutual TLS and the front, over the runner's socket",
        ),
        part(
            "  runner",
            runner - launcher,
            "the runner, over its helper alone",
        ),
        part(
            "  helper start",
            launcher - python,
            "the helper, over python3 alone",
        ),
        part("  python", python, "python3 alone"),
        part(
            "  result",
            machine - front,
            "commit of the sending, then filter, redaction, cap and stamp",
        ),
        part(
            "  store",
            median_ms(&mut times.store),
            "from the stored message until the answer is read",
        ),
    ]
}

/// When the database saw a call, in microseconds of the Unix clock.
struct Moments {
    claimed: i64,
    sent: i64,
    stored: i64,
}

impl Moments {
    async fn of_last_call(db: &mut PgConnection, run: &Run) -> Result<Self> {
        let (claimed, sent, stored) = sqlx::query_as(
            "SELECT floor(extract(epoch FROM claimed_at) * 1000000)::bigint,
                    floor(extract(epoch FROM sent_at) * 1000000)::bigint,
                    floor(extract(epoch FROM stored_at) * 1000000)::bigint
             FROM calls WHERE run = $1::uuid AND name = 'script_run'
             ORDER BY claimed_at DESC, call_id LIMIT 1",
        )
        .bind(&run.id)
        .fetch_one(db)
        .await?;
        Ok(Self {
            claimed,
            sent,
            stored,
        })
    }

    fn split(&self, begun: SystemTime, took: Duration, times: &mut Times) -> Result<()> {
        let begun = i64::try_from(begun.duration_since(UNIX_EPOCH)?.as_micros())?;
        let ended = begun + i64::try_from(took.as_micros())?;
        let between = |from: i64, to: i64| -> Result<Duration> {
            Ok(Duration::from_micros(u64::try_from((to - from).max(0))?))
        };
        times.claim.push(between(begun, self.claimed)?);
        times.send.push(between(self.claimed, self.sent)?);
        times.machine.push(between(self.sent, self.stored)?);
        times.store.push(between(self.stored, ended)?);
        Ok(())
    }
}

/// The way to the script from ever further in.
struct Layers {
    agent: String,
    home: String,
    body: Value,
    front: KeptConnection,
    runner: KeptConnection,
    next: u32,
}

impl Layers {
    async fn new(stack: &Stack) -> Result<Self> {
        let sha256: String = Sha256::digest(SOURCE)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let slot = stack.bob.slot();
        Ok(Self {
            agent: stack.bob.id.clone(),
            home: stack.bob.home(),
            body: json!({
                "arguments": {}, "env": {}, "limit_ms": 120_000, "max_output_bytes": 131_072,
                "script": { "name": "bench", "sha256": sha256, "source": SOURCE },
            }),
            front: stack.machine_client()?.keep(slot).await?,
            runner: KeptConnection::to_runner(stack.machine()?, &stack.bob.id, slot).await?,
            next: 0,
        })
    }

    /// The helper as a process, from its start to its end.
    fn launcher(&self, stack: &Stack) -> Result<Duration> {
        let mut input = self.body.clone();
        let script = input
            .as_object_mut()
            .and_then(|input| input.remove("script"))
            .context("a script")?;
        input["sha256"] = script["sha256"].clone();
        input["source"] = script["source"].clone();
        let program = stack.shared.program("guilds-script-run");
        let mut command = spawn::command(Path::new(&program));
        command.args(["--name", "bench", "--home", &self.home]);
        let begun = Instant::now();
        let output = spawn::output_with_input(&mut command, input.to_string().as_bytes())?;
        let took = begun.elapsed();
        let reply: Value = serde_json::from_slice(&output.stdout)?;
        ensure!(reply["output"] == "ran\n", "{reply}");
        Ok(took)
    }

    async fn runner(&mut self) -> Result<Duration> {
        let path = self.path();
        timed(&mut self.runner, &path, &self.body).await
    }

    async fn front(&mut self) -> Result<Duration> {
        let path = self.path();
        timed(&mut self.front, &path, &self.body).await
    }

    /// A call of its own: 26 characters of base32.
    fn path(&mut self) -> String {
        self.next += 1;
        let id: String = format!("{:026b}", self.next)
            .bytes()
            .map(|digit| if digit == b'0' { 'a' } else { 'b' })
            .collect();
        format!("/v1/agents/{}/script-run/run/calls/{id}", self.agent)
    }
}

async fn timed(connection: &mut KeptConnection, path: &str, body: &Value) -> Result<Duration> {
    let begun = Instant::now();
    let answer = connection.send(Method::POST, path, Some(body)).await?;
    let took = begun.elapsed();
    ensure!(
        answer.status == 200 && answer.json()?["reply"]["output"] == "ran\n",
        "{answer:?}"
    );
    Ok(took)
}
