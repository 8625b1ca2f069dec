//! `guilds apply`: sends the operator's document and tells what changed.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use crate::api::{Client, Role};
use crate::document::Document;
use crate::error::{Exit, Failure};
use crate::{Context, Format, output, progress, text};

/// Which files, and whether to change anything.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    files: Files,
    /// Tell what would change, and change nothing; exit 2 when something would.
    #[arg(long)]
    dry_run: bool,
}

/// The files of one document.
#[derive(Debug, Args)]
pub(super) struct Files {
    /// A file of the document, TOML or JSON; `-` is stdin. Several are joined.
    #[arg(short, long, value_name = "FILE", required = true)]
    file: Vec<PathBuf>,
}

impl Files {
    /// The document of these files.
    ///
    /// # Errors
    /// When it can't be read, or names variables that aren't set.
    pub(super) fn read(&self) -> Result<Document, Failure> {
        Document::read(&self.file)
    }
}

/// One line of the plan.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    pub(super) action: String,
    pub(super) kind: String,
    pub(super) id: String,
    #[serde(default)]
    pub(super) fields: Vec<String>,
}

/// Applies the document.
pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let document = arguments.files.read()?;
    let client = Client::from_environment(Role::Operator)?;
    let dry_run = arguments.dry_run;
    let what = if dry_run { "planning" } else { "applying" };
    let answer = progress::watch(what, document.send(&client, dry_run)).await?;
    print(&answer, dry_run, context)?;
    Ok(if dry_run && pending(&changes(&answer)?) {
        Exit::Pending
    } else {
        Exit::Done
    })
}

/// Prints what was changed, or would be.
///
/// # Errors
/// When the answer lists no changes, or stdout can't be written.
pub(super) fn print(answer: &Value, dry_run: bool, context: &Context) -> Result<(), Failure> {
    if context.format == Format::Json {
        return output::json(answer);
    }
    let changes = changes(answer)?;
    let mut lines: Vec<_> = changes
        .iter()
        .filter(|change| change.action != "unchanged")
        .map(line)
        .collect();
    lines.push(summary(&changes, dry_run));
    output::payload(&(lines.join("\n") + "\n"))
}

/// The changes of an answer.
///
/// # Errors
/// When it lists none.
pub(super) fn changes(answer: &Value) -> Result<Vec<Change>, Failure> {
    let list = answer.get("changes").cloned().unwrap_or_default();
    serde_json::from_value(list)
        .map_err(|error| Failure::local(format!("the answer lists no changes: {error}")))
}

/// Whether anything changes.
pub(super) fn pending(changes: &[Change]) -> bool {
    changes.iter().any(|change| change.action != "unchanged")
}

/// A change in a line.
pub(super) fn line(change: &Change) -> String {
    let Change {
        action,
        kind,
        id,
        fields,
    } = change;
    let fields = match (action.as_str(), fields.as_slice()) {
        ("create", _) | (_, []) => String::new(),
        (_, fields) => format!("  ({})", fields.join(", ")),
    };
    text::line(&format!("{action:<6}  {kind:<11}  {id}{fields}"))
}

/// How many of each.
pub(super) fn summary(changes: &[Change], dry_run: bool) -> String {
    let count = |action| {
        changes
            .iter()
            .filter(|change| change.action == action)
            .count()
    };
    let (made, changed, rest) = (count("create"), count("update"), count("unchanged"));
    if dry_run {
        format!("{made} to create, {changed} to update, {rest} unchanged")
    } else {
        format!("{made} created, {changed} updated, {rest} unchanged")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_is_one_line_and_their_number_another() {
        let answer = json!({"changes": [
            {"action": "create", "kind": "collections", "id": "contacts", "fields": ["columns"]},
            {"action": "update", "kind": "agents", "id": "ada", "fields": ["slot", "config"]},
            {"action": "unchanged", "kind": "guilds", "id": "core", "fields": []},
        ]});
        let changes = changes(&answer).unwrap();
        let lines: Vec<_> = changes.iter().map(line).collect();
        assert_eq!(
            lines,
            [
                "create  collections  contacts",
                "update  agents       ada  (slot, config)",
                "unchanged  guilds       core",
            ]
        );
        assert_eq!(
            summary(&changes, true),
            "1 to create, 1 to update, 1 unchanged"
        );
        assert_eq!(
            summary(&changes, false),
            "1 created, 1 updated, 1 unchanged"
        );
    }
}
