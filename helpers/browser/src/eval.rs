//! `eval`: runs the caller's JavaScript as the body of an async function in the page and answers its value as JSON.

use std::time::Duration;

use chromiumoxide::cdp::js_protocol::runtime::{
    EvaluateParams, TerminateExecutionParams, TimeDelta,
};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::after::Before;
use crate::problem::Problem;
use crate::session::Session;
use crate::settle::Settled;
use crate::watch::shortened;
use crate::wire::{Declined, went_away};

/// How long a script may run, at most the call's limit less what the answer needs.
const RUNNING: Duration = Duration::from_secs(30);
/// Kept of the call's limit for stopping the script and answering.
const ANSWERING: Duration = Duration::from_secs(3);
/// How long a stopped script may take to stop.
const STOPPING: Duration = Duration::from_secs(1);
/// Lines the wrapper puts before the caller's first.
const LINES_BEFORE: u64 = 1;
/// Writes a value of the page as JSON.
const WRITER: &str = include_str!("page/value.js");

/// The value as the page wrote it.
#[derive(Debug, Deserialize)]
struct Written {
    #[serde(default)]
    refused: Option<String>,
    #[serde(default)]
    json: String,
    /// Bytes of the whole text in UTF-8; only the beginning of a long one is here.
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    left: Vec<String>,
    #[serde(default)]
    more: u64,
}

/// How a script ended.
enum Ended {
    /// With a value.
    With(Written),
    /// Without one, since its page went away.
    Elsewhere,
}

impl Session {
    /// Runs `expression`; `most` bounds the bytes of the answer.
    pub(crate) async fn evaluate(
        &mut self,
        expression: &str,
        limit: Duration,
        most: usize,
    ) -> Result<String, Problem> {
        let session = self.come_forward().await?;
        let before = self.before().await?;
        self.forget_the_past();
        self.doing = "running the script";
        let patience = RUNNING.min(limit.saturating_sub(ANSWERING.min(limit / 4)));
        match self.run(&session, expression, patience, most).await {
            Ok(Ended::With(written)) => {
                if let Some(sentence) = written.refused {
                    return Err(Problem::Refused(sentence));
                }
                self.left_out = written.bytes.saturating_sub(written.json.len() as u64);
                let notes = notes(&written);
                self.tell(&before, written.json, notes).await
            }
            Ok(Ended::Elsewhere) => {
                let first = "undefined".to_owned();
                let note = "note: the page went elsewhere before the script was done".to_owned();
                self.tell(&before, first, vec![note]).await
            }
            Err(Problem::Closed) => Ok(self.closed_by("undefined\n\nthe script did not answer")),
            Err(problem) => Err(problem),
        }
    }

    async fn run(
        &mut self,
        session: &str,
        expression: &str,
        patience: Duration,
        most: usize,
    ) -> Result<Ended, Problem> {
        // The body stands in the source itself, so no policy of the page on eval
        // concerns it; its own lines keep a last comment from the rest. The value
        // is written before the script's end is told, so that a page which then
        // goes elsewhere does not take it along.
        let writer = WRITER.trim_start_matches(FIRST_LINE);
        let source = format!(
            "(async () => [await (async () => {{\n{expression}\n}})()])().then((box) => ({writer})(box, {most}))"
        );
        let mut script = EvaluateParams::new(source);
        script.await_promise = Some(true);
        script.return_by_value = Some(true);
        script.user_gesture = Some(true);
        script.timeout = Some(TimeDelta::new(milliseconds(patience)));
        self.running = true;
        let ticket = self.wire.submit(Some(session), script)?;
        let reply = match timeout(patience, self.wire.reply(ticket)).await {
            Ok(reply) => reply?,
            Err(_) => {
                self.stop(session).await?;
                return Err(out_of_patience(patience));
            }
        };
        self.running = false;
        let reply = match reply {
            Ok(reply) => reply,
            Err(Declined(why)) if went_away(&why) || why.contains("Promise was collected") => {
                return Ok(Ended::Elsewhere);
            }
            Err(Declined(why)) if why.contains("terminated") => {
                return Err(out_of_patience(patience));
            }
            Err(Declined(why)) => {
                return Err(Problem::refused(format!(
                    "the browser could not run the script: {why}"
                )));
            }
        };
        if let Some(exception) = reply.get("exceptionDetails") {
            let lines = expression.lines().count();
            return Err(Problem::refused(thrown(exception, lines)));
        }
        let value = reply.pointer("/result/value").cloned().unwrap_or_default();
        Ok(Ended::With(serde_json::from_value(value)?))
    }

    /// Ends what runs in the page; a wait of the script that never ends is left behind.
    async fn stop(&mut self, session: &str) -> Result<(), Problem> {
        self.running = false;
        let stop = self
            .wire
            .submit(Some(session), TerminateExecutionParams::default())?;
        match timeout(STOPPING, self.wire.reply(stop)).await {
            Ok(reply) => reply.map(|_| ()),
            Err(_) => Ok(()),
        }
    }

    /// The value first; beside it what the script did to the page, where it did something.
    async fn tell(
        &mut self,
        before: &Before,
        json: String,
        notes: Vec<String>,
    ) -> Result<String, Problem> {
        let mut lines = notes;
        match self.settle_since(before).await {
            Err(Problem::Closed) => lines.push(
                "the script closed the tab; browser_snapshot shows the one that is left".to_owned(),
            ),
            Err(problem) => return Err(problem),
            Ok(Settled::NewTab) => {
                let first = "the script opened a new tab, which is the current one now";
                lines.push(self.tab_result(first).await?);
            }
            Ok(Settled::Navigated) => {
                lines.push(self.page_result("the script opened another page").await?);
            }
            Ok(Settled::Here) => {
                let now = self.address().await?;
                if before.is_elsewhere(&now) {
                    lines.push(format!("url: {now}"));
                }
            }
        }
        lines.append(&mut self.take_notes());
        if lines.is_empty() {
            return Ok(json);
        }
        Ok(format!("{json}\n\n{}", lines.join("\n")))
    }
}

/// The writer's own first sentence is not part of the function.
const FIRST_LINE: &str =
    "//! A value of the page's own world as JSON, with what JSON can't say named by its path.\n\n";

fn notes(written: &Written) -> Vec<String> {
    let mut notes = Vec::new();
    if !written.left.is_empty() {
        let more = match written.more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        notes.push(format!(
            "note: JSON can't say {}{more}",
            written.left.join(", ")
        ));
    }
    notes
}

fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}

fn out_of_patience(patience: Duration) -> Problem {
    Problem::refused(format!(
        "the script was not done after {} s and was stopped",
        patience.as_secs()
    ))
}

/// What the script threw, and the line of it.
fn thrown(exception: &Value, lines: usize) -> String {
    let text = |pointer: &str| exception.pointer(pointer).and_then(Value::as_str);
    let what = match (text("/exception/subtype"), text("/exception/description")) {
        (Some("error"), Some(description)) => message_of(description),
        (_, Some(description)) if exception.pointer("/exception/objectId").is_some() => {
            description.to_owned()
        }
        _ => match exception.pointer("/exception/value") {
            Some(value) => value.to_string(),
            None => text("/exception/description")
                .or_else(|| text("/exception/type"))
                .or_else(|| text("/text"))
                .unwrap_or_default()
                .to_owned(),
        },
    };
    let what = shortened(&what, 1000);
    let line =
        own_line(exception).filter(|line| usize::try_from(*line).is_ok_and(|line| line <= lines));
    let line = line.map_or_else(String::new, |line| format!(" (line {line})"));
    format!("the script threw {what}{line}")
}

/// An error's description without the lines of its stack.
fn message_of(description: &str) -> String {
    let lines: Vec<&str> = description
        .lines()
        .take_while(|line| !line.trim_start().starts_with("at "))
        .collect();
    lines.join("\n")
}

/// The line of the caller's script that the error came from: of a frame without
/// an address in the stack, else of the place where it was reported.
fn own_line(exception: &Value) -> Option<u64> {
    let description = exception
        .pointer("/exception/description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let from_stack = description.lines().find_map(|line| {
        let place = line.trim_start().strip_prefix("at ")?;
        let place = place.rsplit('(').next().unwrap_or(place);
        let numbers = place.strip_prefix("<anonymous>:")?;
        numbers.split(':').next()?.parse::<u64>().ok()
    });
    let is_syntax = description.starts_with("SyntaxError") && from_stack.is_none();
    let reported = exception
        .get("lineNumber")
        .and_then(Value::as_u64)
        .map(|line| line + 1);
    let line = from_stack.or(if is_syntax { reported } else { None })?;
    line.checked_sub(LINES_BEFORE).filter(|line| *line > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_is_told_with_its_line() {
        let exception = json!({"text":"Uncaught (in promise)","lineNumber":2,"exception":{"type":"object","subtype":"error",
            "description":"TypeError: x is not a function\n    at <anonymous>:3:7\n    at <anonymous>:5:3","objectId":"1"}});
        assert_eq!(
            thrown(&exception, 2),
            "the script threw TypeError: x is not a function (line 2)"
        );
        let exception = json!({"text":"Uncaught","lineNumber":1,"exception":{"type":"object","subtype":"error",
            "description":"SyntaxError: Unexpected token ')'","objectId":"1"}});
        assert_eq!(
            thrown(&exception, 2),
            "the script threw SyntaxError: Unexpected token ')' (line 1)"
        );
    }

    #[test]
    fn what_is_no_error_is_told_as_it_is() {
        let exception =
            json!({"text":"Uncaught (in promise)","exception":{"type":"string","value":"no"}});
        assert_eq!(thrown(&exception, 2), "the script threw \"no\"");
        let exception = json!({"text":"Uncaught (in promise)","exception":{"type":"undefined"}});
        assert_eq!(thrown(&exception, 2), "the script threw undefined");
    }

    #[test]
    fn what_json_has_not_is_told() {
        let written = Written {
            refused: None,
            json: "{}".to_owned(),
            bytes: 10,
            left: vec![".a (function)".to_owned()],
            more: 2,
        };
        assert_eq!(
            notes(&written),
            ["note: JSON can't say .a (function) and 2 more"]
        );
    }

    #[test]
    fn the_writer_is_one_function() {
        assert!(
            WRITER
                .trim_start_matches(FIRST_LINE)
                .starts_with("function (box, most) {")
        );
    }
}
