//! One object for people: a line a field, longer things below.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::read::scalar;
use crate::moment;
use crate::screen::{Screen, Tone};
use crate::text;

/// Between a field's name and its value.
const GAP: usize = 2;

/// An object's fields below each other; lists of objects one item a line, and
/// text of several lines last, under a line with its name.
pub(crate) fn describe(object: &Value, screen: &Screen) -> String {
    let Value::Object(fields) = object else {
        return format!("{}\n", text::lines(&scalar(object)));
    };
    let fields = || fields.iter().filter(|(_, value)| !value.is_null());
    let widest = fields()
        .filter(|(_, value)| !is_block(value, usize::MAX))
        .map(|(name, _)| text::width(&label(name)));
    let room = widest.max().unwrap_or(0) + GAP;
    let left = screen.width.saturating_sub(room);
    let (blocks, lines): (Vec<_>, Vec<_>) = fields().partition(|(_, value)| is_block(value, left));
    let mut shown = String::new();
    for (name, value) in lines {
        let name = label(name);
        let pad = " ".repeat(room - text::width(&name));
        let value = match value {
            // An empty list of whom something is open to says nothing of who may.
            Value::Array(rows) if rows.is_empty() && name == "access" => "no row".to_owned(),
            value => text::line(&field(value, screen)),
        };
        let line = format!("{}{pad}{value}", screen.paint(&name, Tone::Faint));
        shown.push_str(line.trim_end_matches(' '));
        shown.push('\n');
    }
    for (name, value) in blocks {
        shown.push_str(&format!("{}\n", screen.paint(&label(name), Tone::Faint)));
        shown.push_str(&block(value));
    }
    shown
}

fn label(name: &str) -> String {
    text::line(&name.replace('_', " "))
}

/// Whether a value doesn't go into a line of so many columns.
fn is_block(value: &Value, columns: usize) -> bool {
    match value {
        Value::Object(fields) => {
            fields.values().any(is_long) || text::width(&pairs(value)) > columns
        }
        Value::String(_) => is_long(value),
        Value::Array(items) => items.iter().any(Value::is_object),
        _ => false,
    }
}

fn field(value: &Value, screen: &Screen) -> String {
    match value {
        Value::String(time) if time.parse::<Timestamp>().is_ok() => {
            format!("{time} ({})", moment::relative(time, screen.now))
        }
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Object(fields) if fields.is_empty() => "none".to_owned(),
        Value::Object(_) => pairs(value),
        other => scalar(other),
    }
}

fn block(value: &Value) -> String {
    let lines: Vec<_> = match value {
        Value::Array(items) => items.iter().flat_map(item).collect(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .flat_map(|(name, value)| match value {
                Value::String(long) if is_long(value) => under(name, long),
                _ => vec![text::line(&format!("{} {}", label(name), pairs(value)))],
            })
            .collect(),
        other => several(&scalar(other)),
    };
    lines
        .iter()
        .map(|line| format!("  {line}").trim_end().to_owned() + "\n")
        .collect()
}

/// An item of a list: what goes into a line in one, longer text below it.
fn item(value: &Value) -> Vec<String> {
    let Value::Object(fields) = value else {
        return vec![text::line(&pairs(value))];
    };
    let (long, short): (Map<_, _>, Map<_, _>) = fields
        .clone()
        .into_iter()
        .partition(|(_, value)| is_long(value));
    let mut lines = vec![text::line(&pairs(&Value::Object(short)))];
    for (name, value) in &long {
        let below = under(name, &scalar(value));
        lines.extend(below.iter().map(|line| format!("  {line}")));
    }
    lines
}

/// Text of several lines under its name.
fn under(name: &str, long: &str) -> Vec<String> {
    let lines = several(long).into_iter().map(|line| format!("  {line}"));
    std::iter::once(label(name)).chain(lines).collect()
}

fn several(long: &str) -> Vec<String> {
    let shown = text::lines(long);
    let lines = shown.trim_end_matches('\n').split('\n');
    lines.map(ToOwned::to_owned).collect()
}

/// Whether a value is text of several lines.
fn is_long(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains('\n'))
}

/// An object in one line: `name email, type text`.
fn pairs(value: &Value) -> String {
    let Value::Object(fields) = value else {
        return scalar(value);
    };
    let fields: Vec<_> = fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| match value {
            Value::Object(_) => format!("{} ({})", label(name), pairs(value)),
            Value::Array(items) => format!(
                "{} [{}]",
                label(name),
                items.iter().map(pairs).collect::<Vec<_>>().join(", ")
            ),
            other => format!("{} {}", label(name), scalar(other)),
        })
        .collect();
    fields.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_a_line_a_field_and_longer_things_below() {
        let object = json!({
            "name": "contacts",
            "unique": null,
            "columns": [
                {"name": "email", "type": "text", "required": true},
                {"name": "stage", "type": "text", "values": ["lead", "lost"]},
            ],
            "records": 3,
            "access": [],
            "config": {"browser": true, "max_scripts": 10},
            "tags": ["a", "b"],
            "note": "one\n\u{1b}two\n",
            "updated_at": "2026-03-01T11:00:00Z",
            "description": "",
        });
        assert_eq!(
            describe(&object, &Screen::of(80)),
            "\
name         contacts
records      3
access       no row
config       browser yes, max scripts 10
tags         a, b
updated at   2026-03-01T11:00:00Z (1h ago)
description
columns
  name email, type text, required yes
  name stage, type text, values [lead, lost]
note
  one
  \u{fffd}two
"
        );
    }

    #[test]
    fn text_of_several_lines_stays_so_inside_of_other_things() {
        let report = |detail: &str| json!({"run": "0192", "detail": detail, "agent": "ada"});
        let object = json!({
            "id": 7,
            "last_report": report("one\n  two\n"),
            "reports": [report("short"), report("three\nfour")],
        });
        assert_eq!(
            describe(&object, &Screen::of(80)),
            "\
id  7
last report
  run 0192
  detail
    one
      two
  agent ada
reports
  run 0192, detail short, agent ada
  run 0192, agent ada
    detail
      three
      four
"
        );
    }
}
