//! `guilds status`: machines, agents, open runs and the inbox on one screen.

use clap::Args;
use serde_json::{Map, Value, json};

use super::{agent, inbox, machine};
use crate::api::{Client, List, Role as Token};
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, ago, number, text, words};
use crate::screen::{Screen, Tone};
use crate::table::Role;
use crate::{Context, Format, output, progress, text as shown};

/// More of a kind than any screen shows.
const PART: usize = 1_000;
/// Lines that a part takes besides its rows: name, headings, an empty one.
const FRAME: usize = 3;
/// Rows that a part shows however low the screen is.
const MIN_ROWS: usize = 2;

const RUNS: Kind = Kind {
    plural: "runs",
    noun: "open run",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "id")),
        Column::new("AGENT", Role::Word, |object, _| text(object, "agent")),
        Column::new("KIND", Role::Word, |object, _| text(object, "kind")),
        Column::new("STARTED", Role::Word, |object, screen| {
            ago(object, "created_at", screen)
        }),
        Column::new("CALLS", Role::Number, |object, _| text(object, "calls")),
        Column::new("ERRORS", Role::Number, |object, _| text(object, "errors")),
    ],
};

/// Nothing to choose.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

/// A part of the screen.
struct Part {
    name: &'static str,
    kind: Kind,
    /// The verb that shows more.
    verb: &'static str,
    read: Result<List, Failure>,
}

/// Prints the screen. A part that fails is named there, and the others are shown.
pub(super) async fn run(_: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Token::Operator)?;
    let parts = progress::watch("looking", read(&client)).await;
    if parts.iter().all(|part| part.read.is_err()) {
        // Nothing to show; the first reason is the others' too.
        for part in parts {
            part.read?;
        }
        return Ok(Exit::Failed);
    }
    let failed: Vec<_> = parts
        .iter()
        .filter(|part| part.read.is_err())
        .map(|part| part.name)
        .collect();
    match context.format {
        Format::Json => output::json(&whole(&parts))?,
        Format::Table => {
            output::payload(&screen(&parts, client.authority(), &context.screen))?;
        }
    }
    if failed.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::local(format!(
        "{} could not be read",
        failed.join(", ")
    )))
}

async fn read(client: &Client) -> [Part; 4] {
    let read = async |kind: Kind, query| client.list(&kind.path(), kind.plural, query, PART).await;
    let (machines, agents, runs, items) = tokio::join!(
        read(machine::KIND, &[]),
        read(agent::KIND, &[]),
        read(RUNS, &[("state", Some("open"))]),
        read(inbox::KIND, &[]),
    );
    let part = |name, verb, kind, read| Part {
        name,
        verb,
        kind,
        read,
    };
    [
        part("machines", "guilds machine list", machine::KIND, machines),
        part("agents", "guilds agent list", agent::KIND, agents),
        part("open runs", "guilds run list --state open", RUNS, runs),
        part("inbox", "guilds inbox", inbox::KIND, items),
    ]
}

/// Everything as one object, with the reasons of what could not be read.
fn whole(parts: &[Part]) -> Value {
    let mut whole = Map::new();
    let mut errors = Map::new();
    for part in parts {
        match &part.read {
            Ok(list) => {
                if let Some(control_plane) = list.rest.get("control_plane") {
                    whole.insert("control_plane".to_owned(), control_plane.clone());
                }
                whole.insert(part.kind.plural.to_owned(), json!(list.items));
            }
            Err(failure) => {
                errors.insert(part.kind.plural.to_owned(), failure.to_json());
            }
        }
    }
    whole.insert("errors".to_owned(), Value::Object(errors));
    Value::Object(whole)
}

fn screen(parts: &[Part], authority: &str, screen: &Screen) -> String {
    let mut shown = head(parts, authority, screen);
    let wanted: Vec<_> = parts
        .iter()
        .map(|part| part.read.as_ref().map_or(0, |list| list.items.len()))
        .collect();
    let rows = match screen.height {
        None => wanted.clone(),
        Some(height) => {
            // The first line and the prompt after all.
            let filled = wanted.iter().filter(|count| **count > 0).count();
            let empty = wanted.len() - filled;
            let frame = 2 + filled * FRAME + empty;
            share(&wanted, height.saturating_sub(frame))
        }
    };
    for (part, rows) in parts.iter().zip(rows) {
        shown.push_str(&part.show(rows, screen));
    }
    shown
}

fn head(parts: &[Part], authority: &str, screen: &Screen) -> String {
    let told = parts.iter().find_map(|part| {
        let list = part.read.as_ref().ok()?;
        list.rest.get("control_plane")
    });
    let mut line = format!("control plane at {authority}");
    if let Some(told) = told {
        let version = words(told, "version");
        if !version.is_empty() {
            line.push_str(&format!(", version {version}"));
        }
        let end = words(told, "certificate_expires_at");
        if !end.is_empty() {
            let left = crate::moment::remaining(&end, screen.now);
            line.push_str(&format!(", certificate {left}"));
        }
    }
    shown::cut(&shown::line(&line), screen.width) + "\n"
}

impl Part {
    fn show(&self, rows: usize, screen: &Screen) -> String {
        let name = screen.paint(&self.name.to_uppercase(), Tone::Title);
        let list = match &self.read {
            Ok(list) => list,
            Err(failure) => {
                let why = format!("{}  {}", self.name.to_uppercase(), failure.message());
                let why = shown::cut(&shown::line(&why), screen.width);
                return screen.paint(&why, Tone::Bad) + "\n";
            }
        };
        let count = list.items.len();
        let more = if list.has_more() { "+" } else { "" };
        let mut shown = format!("{name}  {}\n", self.count(&list.items, more));
        if count == 0 {
            return shown;
        }
        // The line about the rest takes a row's place.
        let kept = if count > rows {
            rows.saturating_sub(1).max(1)
        } else {
            count
        };
        let table = self.kind.table(&list.items[..kept], screen).indented(2);
        shown.push_str(&table.show(screen));
        if kept < count {
            let rest = format!("  {} more: {}", count - kept, self.verb);
            shown.push_str(&crate::text::cut(&rest, screen.width));
            shown.push('\n');
        }
        shown.push('\n');
        shown
    }

    /// How many, and what of them matters.
    fn count(&self, items: &[Value], more: &str) -> String {
        let count = |test: &dyn Fn(&Value) -> bool| items.iter().filter(|item| test(item)).count();
        let total = format!("{}{more}", items.len());
        let note = match self.kind.plural {
            "machines" => match count(&|machine| words(machine, "state") == "down") {
                0 => return total,
                down => format!("{down} down"),
            },
            "agents" => match count(&|agent| number(agent, "open_runs") > 0) {
                0 => return total,
                busy => format!("{busy} with an open run"),
            },
            "inbox" if !items.is_empty() => {
                let requests = count(&|item| words(item, "type") == "secret_request");
                let issues = items.len() - requests;
                format!("issues {issues}, secret requests {requests}")
            }
            _ => return total,
        };
        format!("{total} ({note})")
    }
}

/// Rows for each part: what it wants where there is room, else an equal share.
fn share(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut given = vec![0; wanted.len()];
    let mut left = room;
    loop {
        let hungry = (0..wanted.len())
            .filter(|part| given[*part] < wanted[*part])
            .min_by_key(|part| given[*part]);
        let Some(part) = hungry else {
            return given;
        };
        if left == 0 && given[part] >= MIN_ROWS {
            return given;
        }
        given[part] += 1;
        left = left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &'static str, kind: Kind, items: Value) -> Part {
        let Value::Array(items) = items else {
            panic!("a list");
        };
        let mut rest = Map::new();
        if name == "machines" {
            rest.insert(
                "control_plane".to_owned(),
                json!({"version": "0.1.0", "certificate_expires_at": "2026-03-31T12:00:00Z"}),
            );
        }
        Part {
            name,
            kind,
            verb: "guilds … list",
            read: Ok(List { items, rest }),
        }
    }

    fn parts(agents: usize) -> [Part; 4] {
        let agents: Vec<_> = (0..agents)
            .map(|slot| {
                json!({"id": format!("agent-{slot}"), "guild": "core", "machine": "local", "slot": slot,
                    "open_runs": usize::from(slot == 0), "last_run_at": "2026-03-01T11:58:00Z"})
            })
            .collect();
        [
            part(
                "machines",
                machine::KIND,
                json!([{"id": "local", "address": "https://127.0.0.1:8443", "agents": 2, "open_runs": 1, "state": "up",
                    "version": "0.1.0", "certificate_expires_at": "2026-03-31T12:00:00Z", "created_at": "2026-02-01T12:00:00Z"}]),
            ),
            part("agents", agent::KIND, Value::Array(agents)),
            part(
                "open runs",
                RUNS,
                json!([{"id": "0192f3a0-0000-7000-8000-000000000001", "agent": "agent-0", "kind": "direct",
                    "created_at": "2026-03-01T11:58:00Z", "calls": 3, "errors": 1}]),
            ),
            part(
                "inbox",
                inbox::KIND,
                json!([{"type": "secret_request", "id": "0192f3a0-0000-7000-8000-000000000002", "agent": "agent-1",
                    "name": "STRIPE_KEY", "reason": "to read invoices", "created_at": "2026-03-01T09:00:00Z"}]),
            ),
        ]
    }

    #[test]
    fn a_small_organisation_fits_a_screen() {
        let mut of = Screen::of(80);
        of.height = Some(24);
        let shown = screen(&parts(2), "127.0.0.1:8440", &of);
        assert_eq!(
            shown,
            "\
control plane at 127.0.0.1:8440, version 0.1.0, certificate 30 days
MACHINES  1
  ID     STATE  VERSION  CERTIFICATE  AGENTS  OPEN RUNS  ADDRESS
  local  up     0.1.0    30 days           2          1  https://127.0.0.1:8443

AGENTS  2 (1 with an open run)
  ID       GUILD  MACHINE  SLOT  OPEN RUNS  LAST RUN
  agent-0  core   local       0          1  2m ago
  agent-1  core   local       1          0  2m ago

OPEN RUNS  1
  ID                                    AGENT    KIND    STARTED  CALLS  ERRORS
  0192f3a0-0000-7000-8000-000000000001  agent-0  direct  2m ago       3       1

INBOX  1 (issues 0, secret requests 1)
  ID                                    WHAT    SUMMARY          WHEN    FROM
  0192f3a0-0000-7000-8000-000000000002  secret  STRIPE_KEY: to…  3h ago  agent-1

"
        );
        assert!(shown.lines().count() < 24);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut of = Screen::of(80);
        of.height = Some(24);
        let shown = screen(&parts(40), "127.0.0.1:8440", &of);
        assert_eq!(shown.lines().count(), 23, "{shown}");
        assert!(shown.contains("\n  agent-4  "), "{shown}");
        assert!(!shown.contains("\n  agent-7  "), "{shown}");
        assert!(shown.contains(" more: guilds … list\n"), "{shown}");
    }

    #[test]
    fn a_part_that_fails_is_named_in_its_place() {
        let mut parts = parts(1);
        parts[0].read = Err(Failure::local("the database did not answer"));
        let shown = screen(&parts, "127.0.0.1:8440", &Screen::of(80));
        assert!(
            shown.starts_with(
                "control plane at 127.0.0.1:8440\nMACHINES  the database did not answer\nAGENTS  1 "
            ),
            "{shown}"
        );
        assert_eq!(
            whole(&parts)["errors"],
            json!({"machines": {"code": "unavailable", "message": "the database did not answer"}})
        );
    }
}
