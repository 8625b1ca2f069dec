//! One call from its request to its reply, under one deadline.

use std::time::{Duration, Instant};

use helper_protocol::{Reply, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::command_line::{CommandLine, Verb};
use crate::problem::Problem;
use crate::session::Session;

/// Kept for the reply itself, at most a tenth of the limit.
const RESERVE: Duration = Duration::from_secs(1);
/// How long letting go of the mouse may take.
const CLEAN_UP: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Navigate {
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Click {
    target: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Type {
    target: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fill {
    target: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scroll {
    direction: String,
    target: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Eval {
    expression: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Answers a request; its limit counts from `started`.
///
/// # Errors
/// What the operator must see and the caller can't act on.
pub fn answer(line: &CommandLine, request: &Request, started: Instant) -> Result<Reply, Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::Failed(format!("the helper's runtime did not start: {error}")))?;
    runtime.block_on(under_deadline(line, request, started))
}

async fn under_deadline(
    line: &CommandLine,
    request: &Request,
    started: Instant,
) -> Result<Reply, Problem> {
    let limit = Duration::from_millis(request.limit_ms);
    let deadline = tokio::time::Instant::from_std(started + limit - RESERVE.min(limit / 10));
    let mut cancelled = signal(SignalKind::terminate())
        .map_err(|error| Problem::Failed(format!("signals can't be listened to: {error}")))?;
    let session = tokio::select! {
        session = Session::connect(line.port, &line.home) => session,
        () = tokio::time::sleep_until(deadline) => Err(out_of_time(request, "connecting to the browser")),
        _ = cancelled.recv() => Err(Problem::Cancelled),
    };
    let mut session = match session {
        Ok(session) => session,
        Err(problem) => return reply(Err(problem), Vec::new()),
    };
    let result = tokio::select! {
        result = perform(&mut session, line.verb, request) => result,
        () = tokio::time::sleep_until(deadline) => Err(Problem::OutOfTime(0, "")),
        _ = cancelled.recv() => Err(Problem::Cancelled),
    };
    // Nothing more can be done about a button when Chrome doesn't answer even that.
    let _ = timeout(CLEAN_UP, session.release()).await;
    let result = match result {
        Err(Problem::OutOfTime(..)) => Err(out_of_time(request, session.doing)),
        other => other,
    };
    let notes = if result.is_err() {
        session.take_notes()
    } else {
        Vec::new()
    };
    // What changed since the tab was entered only spares the next call some work.
    let _ = session.keep_memory();
    let mut reply = reply(result, notes)?;
    if let Some(bytes) = &mut reply.original_bytes {
        *bytes += session.left_out;
    }
    Ok(reply)
}

async fn perform(session: &mut Session, verb: Verb, request: &Request) -> Result<String, Problem> {
    let limit = Duration::from_millis(request.limit_ms);
    match verb {
        Verb::Navigate => {
            let Navigate { url } = arguments(request)?;
            session.navigate(&url).await
        }
        Verb::Snapshot => {
            let Nothing {} = arguments(request)?;
            session.snapshot(request.max_output_bytes).await
        }
        Verb::Click => {
            let Click { target } = arguments(request)?;
            session.click(&target, limit).await
        }
        Verb::Type => {
            let Type { target, text } = arguments(request)?;
            session.type_text(&target, &text, limit).await
        }
        Verb::Fill => {
            let Fill { target, value } = arguments(request)?;
            session.fill(&target, &value, limit).await
        }
        Verb::Scroll => {
            let Scroll { direction, target } = arguments(request)?;
            session.scroll(&direction, target.as_deref(), limit).await
        }
        Verb::Eval => {
            let Eval { expression } = arguments(request)?;
            let most = request.max_output_bytes;
            session.evaluate(&expression, limit, most).await
        }
        Verb::Screenshot => {
            let Nothing {} = arguments(request)?;
            session.screenshot().await
        }
    }
}

fn arguments<T: DeserializeOwned>(request: &Request) -> Result<T, Problem> {
    serde_json::from_str(request.arguments.get())
        .map_err(|error| Problem::refused(format!("the arguments are not right: {error}")))
}

fn out_of_time(request: &Request, doing: &'static str) -> Problem {
    Problem::OutOfTime(request.limit_ms.div_ceil(1000), doing)
}

fn reply(result: Result<String, Problem>, notes: Vec<String>) -> Result<Reply, Problem> {
    match result {
        Ok(output) => Ok(Reply::output(output)),
        Err(Problem::Failed(cause)) => Err(Problem::Failed(cause)),
        Err(problem) => {
            let mut sentence = problem.to_string();
            for note in notes {
                sentence.push('\n');
                sentence.push_str(&note);
            }
            Ok(Reply::refused(sentence))
        }
    }
}
