//! A run's calls in time: when each began, how long it took, what came of it.

use serde_json::Value;

use crate::kind::{number, words};
use crate::moment;
use crate::screen::{Screen, Tone};
use crate::table::{Cell, Heading, Role, Table};
use crate::text;

/// One answered call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// From the run's start to the call's.
    pub(super) start: String,
    pub(super) took: String,
    pub(super) tool: String,
    /// What the model reads, and of how much.
    pub(super) size: String,
    /// The error, or a command's exit code when it isn't 0.
    pub(super) result: String,
    pub(super) is_error: bool,
    pub(super) call: String,
}

impl Entry {
    /// Reads a message of a run that was made at `created`.
    pub(super) fn read(message: &Value, created: &str) -> Self {
        let metadata = message.get("metadata").unwrap_or(&Value::Null);
        let took = metadata.get("duration_ms").and_then(Value::as_i64);
        let took = took.unwrap_or(0);
        // A message has the time of its end.
        let start = moment::between(created, &words(message, "at"))
            .map(|end| format!("+{}", offset((end - took).max(0))));
        let kept = moment::size(number(metadata, "stored_bytes"));
        let is_cut = metadata.get("truncated").and_then(Value::as_bool) == Some(true);
        let size = if is_cut {
            let whole = moment::size(number(metadata, "original_bytes"));
            format!("{kept} of {whole}")
        } else {
            kept
        };
        let error = metadata.get("error").and_then(Value::as_str);
        let exit = metadata.get("exit_code").and_then(Value::as_i64);
        let result = match (error, exit) {
            (Some(error), _) => error.to_owned(),
            (None, Some(code)) if code != 0 => format!("exit {code}"),
            _ => String::new(),
        };
        Self {
            start: start.unwrap_or_default(),
            took: moment::duration(took),
            tool: words(message, "name"),
            size,
            result,
            is_error: error.is_some(),
            call: words(message, "call_id"),
        }
    }

    /// In one column what has no room on a narrow screen: whether it went wrong.
    fn mark(&self) -> &'static str {
        match (self.is_error, self.result.is_empty()) {
            (true, _) => "E",
            (false, false) => "x",
            (false, true) => "",
        }
    }

    fn tone(&self) -> Tone {
        if self.is_error {
            Tone::Bad
        } else {
            Tone::Plain
        }
    }

    /// A line by itself, for calls that come one by one.
    pub(super) fn line(&self, screen: &Screen) -> String {
        let line = format!(
            "{:>9}  {:>8}  {:<18}  {:<8}  {}",
            self.start,
            self.took,
            text::line(&self.tool),
            self.size,
            text::line(&self.result)
        );
        let line = text::cut(line.trim_end(), screen.width);
        screen.paint(&line, self.tone()) + "\n"
    }
}

/// An offset: seconds with a tenth, then minutes and hours.
fn offset(milliseconds: i64) -> String {
    if milliseconds < 60_000 {
        format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100)
    } else {
        moment::duration(milliseconds)
    }
}

/// What the run is, in a line or two.
pub(super) fn head(run: &Value, screen: &Screen) -> String {
    let mut line = format!(
        "run {}\n{}, {}, {}, turn {}, {} calls left, started {}\n",
        words(run, "run"),
        words(run, "agent"),
        words(run, "kind"),
        words(run, "state"),
        words(run, "turn"),
        words(run, "remaining_tool_calls"),
        moment::relative(&words(run, "created_at"), screen.now),
    );
    let notices = run.get("notices").and_then(Value::as_array);
    for notice in notices.into_iter().flatten() {
        let notice = notice.as_str().unwrap_or_default();
        line.push_str(&format!("notice: {}\n", text::line(notice)));
    }
    line
}

/// The calls of a run.
pub(super) fn table(run: &Value, messages: &[Value]) -> Table {
    let mut table = Table::new(vec![
        Heading::new("START", Role::Word),
        Heading::new("TOOK", Role::Number),
        Heading::new("TOOL", Role::Id),
        Heading::new("E", Role::Word),
        Heading::new("SIZE", Role::Word),
        Heading::new("RESULT", Role::Text),
        Heading::new("CALL", Role::Text),
    ]);
    let created = words(run, "created_at");
    for message in messages {
        let entry = Entry::read(message, &created);
        let tone = entry.tone();
        table.push(vec![
            Cell::new(&entry.start),
            Cell::new(&entry.took),
            Cell::toned(&entry.tool, tone),
            Cell::toned(entry.mark(), tone),
            Cell::new(&entry.size),
            Cell::toned(&entry.result, tone),
            Cell::new(&entry.call),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages() -> Vec<Value> {
        let message = |call: &str, name: &str, at: &str, metadata: Value| json!({"id": "m", "call_id": call, "name": name, "at": at, "content": "…", "metadata": metadata});
        vec![
            message(
                "call_1",
                "note_find",
                "2026-03-01T11:00:01.012Z",
                json!({"duration_ms": 12, "truncated": false, "original_bytes": 310, "stored_bytes": 340, "error": null}),
            ),
            message(
                "call_2",
                "shell",
                "2026-03-01T11:00:08.200Z",
                json!({"duration_ms": 3_200, "truncated": true, "original_bytes": 1_259_000, "stored_bytes": 65_536, "error": null, "exit_code": 3}),
            ),
            message(
                "call_3",
                "browser_click",
                "2026-03-01T11:02:18Z",
                json!({"duration_ms": 10_000, "truncated": false, "original_bytes": 58, "stored_bytes": 90, "error": "no element matches text=Buy"}),
            ),
        ]
    }

    fn run() -> Value {
        json!({
            "run": "0192f3a0-0000-7000-8000-000000000001", "agent": "ada", "kind": "direct",
            "state": "open", "turn": 2, "remaining_tool_calls": 57, "notices": ["web-search is left out"],
            "created_at": "2026-03-01T11:00:00Z",
        })
    }

    #[test]
    fn a_runs_calls_are_a_timeline() {
        let screen = Screen::of(80);
        assert_eq!(
            head(&run(), &screen),
            "run 0192f3a0-0000-7000-8000-000000000001\n\
             ada, direct, open, turn 2, 57 calls left, started 1h ago\n\
             notice: web-search is left out\n"
        );
        assert_eq!(
            table(&run(), &messages()).show(&screen),
            "\
START      TOOK  TOOL           E  SIZE               RESULT              CALL
+1.0 s    12 ms  note_find         340 B                                  call_1
+5.0 s    3.2 s  shell          x  64 KiB of 1.2 MiB  exit 3              call_2
+2m 08s  10.0 s  browser_click  E  90 B               no element matche…  call_3
"
        );
        assert_eq!(
            table(&run(), &messages()).show(&Screen::of(40)),
            "\
START      TOOK  TOOL           E
+1.0 s    12 ms  note_find
+5.0 s    3.2 s  shell          x
+2m 08s  10.0 s  browser_click  E
"
        );
    }

    #[test]
    fn a_call_that_comes_alone_is_a_line() {
        let entry = Entry::read(&messages()[2], "2026-03-01T11:00:00Z");
        assert_eq!(
            entry.line(&Screen::of(80)),
            "  +2m 08s    10.0 s  browser_click       90 B      no element matches text=Buy\n"
        );
    }
}
