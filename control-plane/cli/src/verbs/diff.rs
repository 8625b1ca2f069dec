//! `guilds diff`: what a document would change, field by field.

use clap::Args;
use serde_json::{Map, Value};

use super::apply::{Change, Files, changes, line, pending, summary};
use crate::api::{Client, Role};
use crate::error::{Exit, Failure};
use crate::{Context, Format, output, progress, text};

/// Fields whose content is never shown.
const SECRET: [&str; 2] = ["value", "key"];

/// Fields whose members stand for themselves; every other is replaced whole.
const MERGED: [&str; 2] = ["config", "tools"];

/// Which files.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    files: Files,
}

/// Prints the plan: exit 2 when something is pending.
pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let document = arguments.files.read()?;
    let client = Client::from_environment(Role::Operator)?;
    let answer = progress::watch("planning", document.send(&client, true)).await?;
    let changes = changes(&answer)?;
    let exit = if pending(&changes) {
        Exit::Pending
    } else {
        Exit::Done
    };
    if context.format == Format::Json {
        output::json(&answer)?;
        return Ok(exit);
    }
    let stored = if changes.iter().any(|change| change.action == "update") {
        let export = client.get("/v1/operator/export");
        progress::watch("reading what is stored", export).await?
    } else {
        Value::Null
    };
    let mut shown = String::new();
    for change in changes.iter().filter(|change| change.action != "unchanged") {
        shown.push_str(&line(change));
        shown.push('\n');
        if change.action == "update" {
            for line in fields(change, document.body(), &stored) {
                shown.push_str(&text::cut(&line, context.screen.width));
                shown.push('\n');
            }
        }
    }
    shown.push_str(&summary(&changes, true));
    shown.push('\n');
    output::payload(&shown)?;
    Ok(exit)
}

/// A line for each field of an object that changes: from what to what.
fn fields(change: &Change, document: &Value, stored: &Value) -> Vec<String> {
    let find = |all: &Value| {
        let objects = all.get(&change.kind)?.as_array()?;
        let organisation = stored.get("organisation").and_then(Value::as_str);
        let organisation = organisation.unwrap_or_default();
        let found = objects
            .iter()
            .find(|object| id(&change.kind, object, organisation) == change.id);
        found?.as_object().cloned()
    };
    let (Some(before), Some(after)) = (find(stored), find(document)) else {
        return Vec::new();
    };
    change
        .fields
        .iter()
        .flat_map(|field| differences(field, before.get(field), after.get(field)))
        .map(|line| format!("        {}", text::line(&line)))
        .collect()
}

fn differences(field: &str, before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    if SECRET.contains(&field) {
        return vec![format!("{field}: (changed)")];
    }
    if let (None | Some(Value::Object(_)), Some(Value::Object(after))) = (before, after) {
        let empty = Map::new();
        let before = before.and_then(Value::as_object).unwrap_or(&empty);
        return members(field, before, after);
    }
    let (old, new) = (items(before), items(after));
    let gone = old.iter().filter(|item| !new.contains(item));
    let lines: Vec<_> = gone
        .map(|item| format!("{field}: - {item}"))
        .chain(
            new.iter()
                .filter(|item| !old.contains(item))
                .map(|item| format!("{field}: + {item}")),
        )
        .collect();
    if !lines.is_empty() {
        return lines;
    }
    let show = |value: Option<&Value>| value.map_or("(default)".to_owned(), Value::to_string);
    vec![format!("{field}: {} → {}", show(before), show(after))]
}

/// What becomes of an object's members.
fn members(field: &str, before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<String> {
    // Those that are not named stay here, and go elsewhere.
    let stay = MERGED.contains(&field);
    let none = if stay { "(default)" } else { "(none)" };
    let show = |value: Option<&Value>| value.map_or(none.to_owned(), Value::to_string);
    let gone = before
        .keys()
        .filter(|name| !stay && !after.contains_key(*name));
    after
        .keys()
        .filter(|name| before.get(*name) != after.get(*name))
        .chain(gone)
        .map(|name| {
            let (old, new) = (show(before.get(name)), show(after.get(name)));
            format!("{field}.{name}: {old} → {new}")
        })
        .collect()
}

/// A list's items; none for what is no list.
fn items(value: Option<&Value>) -> &[Value] {
    value
        .and_then(Value::as_array)
        .map_or(&[], |items| items.as_slice())
}

/// An object's id as changes name it.
fn id(kind: &str, object: &Value, organisation: &str) -> String {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    let named = match kind {
        "bindings" | "logins" => {
            let of = text("tool").or(text("connector")).unwrap_or_default();
            let owner = |level: &str| Some(format!("{level}:{}:{of}", text(level)?));
            return owner("agent")
                .or_else(|| owner("guild"))
                .unwrap_or_else(|| format!("organisation:{organisation}:{of}"));
        }
        "notes" => text("path"),
        "collections" | "secrets" => text("name"),
        _ => text("id"),
    };
    named.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_is_told_from_what_to_what() {
        let stored = json!({"organisation": "acme", "bindings": [
            {"tool": "note", "organisation": true, "enabled": true},
        ], "agents": [{
            "id": "ada", "slot": 1, "config": {"browser": true, "max_scripts": 10},
        }], "secrets": [{"name": "KEY", "grants": ["ada", "bob"]}], "connectors": [
            {"id": "web", "filters": {"a": "jq:.a", "b": "jq:.b"}},
        ], "logins": [{"connector": "web", "organisation": true, "tools": {"a": false, "b": false}}]});
        let document = json!({"bindings": [
            {"tool": "note", "organisation": true, "enabled": false},
        ], "agents": [{
            "id": "ada", "slot": 2, "config": {"browser": false},
        }], "secrets": [{"name": "KEY", "grants": ["ada", "eve"], "value": "hidden"}], "connectors": [
            {"id": "web", "filters": {"b": "jq:.c", "c": "jq:.d"}},
        ], "logins": [{"connector": "web", "organisation": true, "tools": {"b": true, "c": false}}]});
        let change = |kind: &str, id: &str, fields: &[&str]| Change {
            action: "update".to_owned(),
            kind: kind.to_owned(),
            id: id.to_owned(),
            fields: fields.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(
            fields(
                &change("agents", "ada", &["slot", "config"]),
                &document,
                &stored
            ),
            [
                "        slot: 1 → 2",
                "        config.browser: true → false",
            ]
        );
        assert_eq!(
            fields(
                &change("secrets", "KEY", &["grants", "value"]),
                &document,
                &stored
            ),
            [
                "        grants: - \"bob\"",
                "        grants: + \"eve\"",
                "        value: (changed)",
            ]
        );
        assert_eq!(
            fields(
                &change("bindings", "organisation:acme:note", &["enabled"]),
                &document,
                &stored
            ),
            ["        enabled: true → false"]
        );
        assert_eq!(
            fields(
                &change("connectors", "web", &["filters"]),
                &document,
                &stored
            ),
            [
                "        filters.b: \"jq:.b\" → \"jq:.c\"",
                "        filters.c: (none) → \"jq:.d\"",
                "        filters.a: \"jq:.a\" → (none)",
            ]
        );
        assert_eq!(
            fields(
                &change("logins", "organisation:acme:web", &["tools"]),
                &document,
                &stored
            ),
            [
                "        tools.b: false → true",
                "        tools.c: (default) → false",
            ]
        );
    }
}
