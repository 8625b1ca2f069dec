//! What has to hold after the kills: in the answers, in the database, and in the agents' homes.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tests::{CallResult, Stack};

use super::client::Piece;
use super::{Kill, Victim};

/// How long a kill may be felt after its victim answers again: a runner is started by the
/// call that needs it.
const FELT_AFTERWARDS: Duration = Duration::from_secs(5);

const RUNNER_ENDED: &str = "outcome unknown: the agent's runner ended";
const NOT_KNOWN: &str = "outcome unknown: machine local does not know the call; it may have run";

/// Reads all books.
pub(super) async fn balance(stack: &Stack, kills: &[Kill], pieces: &[Piece]) -> Result<()> {
    let marks = marks(stack)?;
    let mut runs: BTreeMap<&str, Vec<&CallResult>> = BTreeMap::new();
    let (mut done, mut sandboxed) = (0, 0);
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    for piece in pieces {
        runs.entry(&piece.run).or_default().extend(&piece.results);
        for result in &piece.results {
            if result.id.ends_with("-run") {
                continue;
            }
            // Storage needs no machine: whoever died, it is done once.
            ensure!(result.metadata["error"] == Value::Null, "{result:?}");
            if result.id.ends_with("-write") {
                ensure!(
                    result.json()["created"] == true,
                    "written twice: {result:?}"
                );
            }
            if let Some(mark) = result.id.strip_suffix("-read") {
                ensure!(
                    result.json()["content"] == mark,
                    "read before it was written: {result:?}"
                );
            }
        }
        if let Some(mark) = &piece.mark {
            sandboxed += 1;
            let written = marks.get(mark).copied().unwrap_or(0);
            match sandbox_outcome(piece, mark, written, kills)? {
                None => done += 1,
                Some(error) => *others.entry(error).or_default() += 1,
            }
        }
    }
    for (run, results) in &runs {
        database(stack, run, results).await?;
    }
    eprintln!(
        "{} kills, {} batches, {sandboxed} machine calls: {done} done, {others:?}",
        kills.len(),
        pieces.len()
    );
    // Few enough to be what the kills hit, else the rest says nothing.
    ensure!(2 * done > sandboxed && sandboxed >= kills.len() / 2);
    Ok(())
}

/// What a machine call may have come to, by whom was killed while it was under way.
/// Answers the error it came to, if any.
fn sandbox_outcome<'a>(
    piece: &'a Piece,
    mark: &str,
    written: usize,
    kills: &[Kill],
) -> Result<Option<&'a str>> {
    let id = format!("{mark}-run");
    let result = piece
        .results
        .iter()
        .find(|result| result.id == id)
        .context("a result")?;
    let killed = |victims: &[Victim]| {
        kills.iter().any(|kill| {
            victims.contains(&kill.victim)
                && kill.began <= piece.ended
                && piece.began <= kill.ended + FELT_AFTERWARDS
        })
    };
    ensure!(written <= 1, "{written} times: {result:?}");
    let Some(error) = result.metadata["error"].as_str() else {
        ensure!(written == 1, "not done: {result:?}");
        return Ok(None);
    };
    match error {
        RUNNER_ENDED => ensure!(killed(&[Victim::Runner]), "{result:?}"),
        NOT_KNOWN => {
            ensure!(
                killed(&[
                    Victim::ControlPlane,
                    Victim::BothControlPlanes,
                    Victim::Front,
                    Victim::Runner
                ]),
                "{result:?}"
            );
            ensure!(written == 0 || killed(&[Victim::Runner]), "{result:?}");
        }
        _ => {
            ensure!(!error.starts_with("outcome unknown"), "{result:?}");
            ensure!(killed(&[Victim::Front, Victim::Runner]), "{result:?}");
            ensure!(written == 0, "done and refused: {result:?}");
        }
    }
    Ok(Some(error))
}

/// How many times each mark was written, by both agents.
fn marks(stack: &Stack) -> Result<BTreeMap<String, usize>> {
    let mut marks = BTreeMap::new();
    for agent in [&stack.ada, &stack.bob] {
        let text = std::fs::read_to_string(format!("{}/marks", agent.home()))?;
        for line in text.lines() {
            *marks.entry(line.to_owned()).or_default() += 1;
        }
    }
    Ok(marks)
}

/// The run's rows: every call one message with the answered content, in unbroken order,
/// paid once; every report counted once and told once.
async fn database(stack: &Stack, run: &str, results: &[&CallResult]) -> Result<()> {
    let mut db = stack.database().await?;
    let rows: Vec<(String, String, i64, Option<String>)> = sqlx::query_as(
        "SELECT call_id, state, coalesce(sequence, 0), content FROM calls
         WHERE run = $1::uuid ORDER BY sequence, call_id",
    )
    .bind(run)
    .fetch_all(&mut db)
    .await?;
    for (number, (id, state, sequence, _)) in (1..).zip(&rows) {
        ensure!(
            state == "stored" && *sequence == number,
            "{id}: {state}, {sequence}"
        );
    }
    let stored: BTreeMap<&str, Option<&str>> = rows
        .iter()
        .filter(|(id, ..)| id != "made")
        .map(|(id, _, _, content)| (id.as_str(), content.as_deref()))
        .collect();
    let answered: BTreeMap<&str, Option<&str>> = results
        .iter()
        .map(|result| (result.id.as_str(), Some(result.content.as_str())))
        .collect();
    ensure!(stored == answered, "{run}: stored and answered differ");
    let (remaining, budget): (i32, i32) =
        sqlx::query_as("SELECT remaining, max_tool_calls FROM runs WHERE id = $1::uuid")
            .bind(run)
            .fetch_one(&mut db)
            .await?;
    ensure!(
        usize::try_from(budget - remaining)? == rows.len(),
        "{} calls, and {remaining} of {budget} remain",
        rows.len()
    );
    let (reports, events): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM issue_reports WHERE run = $1::uuid),
                (SELECT count(*) FROM events WHERE detail->>'run' = $1)",
    )
    .bind(run)
    .fetch_one(&mut db)
    .await?;
    let made = results
        .iter()
        .filter(|result| result.id.ends_with("-report"))
        .count();
    let made = i64::try_from(made)?;
    ensure!(
        reports == made && events == made,
        "{made} reports, {reports} counted, {events} told"
    );
    Ok(())
}
