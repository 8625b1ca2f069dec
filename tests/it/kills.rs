//! Daemons killed at random inside calls: one message a call, no handler twice, no budget lost, `unknown` only by its rule.
//!
//! Clients make batches over two replicas and ask again until they are answered, while one
//! daemon after another is killed and started again. Then the books are read.

mod books;
mod client;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tests::control_plane::ControlPlane;
use tests::numbers::Numbers;
use tests::{Agent, Run, Stack, processes};
use tokio::sync::watch;
use tokio::task::JoinSet;

use client::{Client, Sandbox};

/// Kills of one test; `GUILDS_KILLS` in the environment says how many instead.
const KILLS: u64 = 100;
/// Clients of each agent.
const CLIENTS: usize = 12;
/// Calls that a client's run has.
const BUDGET: u32 = 1_000;

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    /// One of the two control planes.
    ControlPlane,
    /// Both at once.
    BothControlPlanes,
    /// The machine agent's front.
    Front,
    /// An agent's runner.
    Runner,
}

/// A kill, until its victim answered again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kill {
    pub(crate) victim: Victim,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
}

#[tokio::test]
async fn daemons_killed_at_random_lose_no_call_and_repeat_none() -> Result<()> {
    let kills = match std::env::var("GUILDS_KILLS") {
        Ok(text) => text.parse().context("GUILDS_KILLS")?,
        Err(_) => KILLS,
    };
    let seed = match std::env::var("GUILDS_SEED") {
        Ok(text) => text.parse().context("GUILDS_SEED")?,
        Err(_) => u64::from(std::process::id()) ^ now_ms(),
    };
    eprintln!("GUILDS_SEED={seed} GUILDS_KILLS={kills}");
    let mut stack = Stack::whole().await?;
    let mut other = ControlPlane::start(
        stack.shared,
        stack.directory.path(),
        stack.database_name(),
        "",
    )
    .await?;
    let addresses = [
        stack.control_plane.address().to_owned(),
        other.address().to_owned(),
    ];
    let (stop, stopped) = watch::channel(false);
    let mut clients = JoinSet::new();
    let mut numbers = Numbers::of(seed);
    for number in 0..2 * CLIENTS {
        let (agent, sandbox) = if number % 2 == 0 {
            (&stack.ada, Sandbox::Shell)
        } else {
            (&stack.bob, Sandbox::Script)
        };
        let run = begin(&stack, agent, &sandbox).await?;
        let client = Client::new(number, &run, sandbox, &addresses, numbers.below(1 << 30));
        clients.spawn(client.work(stopped.clone()));
    }
    let killed = storm(&mut stack, &mut other, &mut numbers, kills).await?;
    stop.send_replace(true);
    let mut pieces = Vec::new();
    while let Some(done) = clients.join_next().await {
        pieces.extend(done??);
    }
    books::balance(&stack, &killed, &pieces).await
}

/// A run of its own for each client, with what it calls.
async fn begin(stack: &Stack, agent: &Agent, sandbox: &Sandbox) -> Result<Run> {
    let start = json!({ "agent": agent.id, "kind": "direct", "max_tool_calls": BUDGET });
    let run = stack.backend.start(&start).await?;
    if matches!(sandbox, Sandbox::Script) {
        let made = run
            .call_as("made", "script_create", client::script())
            .await?;
        ensure!(made.metadata["error"] == Value::Null, "{made:?}");
    }
    Ok(run)
}

/// Kills one daemon after another, each at a moment of its own, and starts it again.
async fn storm(
    stack: &mut Stack,
    other: &mut ControlPlane,
    numbers: &mut Numbers,
    kills: u64,
) -> Result<Vec<Kill>> {
    let shared = stack.shared;
    let mut killed = Vec::new();
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(numbers.below(300))).await;
        let began = Instant::now();
        let victim = match numbers.below(20) {
            0..=4 => {
                stack.control_plane.kill()?;
                stack.control_plane.start_again().await?;
                Victim::ControlPlane
            }
            5..=9 => {
                other.kill()?;
                other.start_again().await?;
                Victim::ControlPlane
            }
            10..=11 => {
                stack.control_plane.kill()?;
                other.kill()?;
                stack.control_plane.start_again().await?;
                other.start_again().await?;
                Victim::BothControlPlanes
            }
            12..=17 => {
                stack.machine_mut()?.kill()?;
                stack.machine_mut()?.start_again(shared).await?;
                Victim::Front
            }
            _ => {
                let agents = [&stack.ada, &stack.bob];
                kill_runner(agents[usize::try_from(numbers.below(2))?])?;
                Victim::Runner
            }
        };
        killed.push(Kill {
            victim,
            began,
            ended: Instant::now(),
        });
    }
    Ok(killed)
}

/// Kills an agent's runner, when it has one at the moment.
fn kill_runner(agent: &Agent) -> Result<()> {
    for process in processes::of_uid(agent.uid()?)? {
        if process.command.contains("runner --listen-fd") {
            kill(Pid::from_raw(i32::try_from(process.pid)?), Signal::SIGKILL)?;
        }
    }
    Ok(())
}

fn now_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(0))
}
