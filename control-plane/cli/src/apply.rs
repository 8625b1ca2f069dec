//! `guilds apply`: sends the operator's document and tells what changed.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::Format;
use crate::api::{Client, Role};
use crate::document;
use crate::error::{Exit, Failure};

/// A large document takes a while.
const PATIENCE: Duration = Duration::from_secs(120);

/// One line of the plan.
#[derive(Debug, Deserialize)]
struct Change {
    action: String,
    kind: String,
    id: String,
    #[serde(default)]
    fields: Vec<String>,
}

/// Applies the document in `file`.
///
/// # Errors
/// When it can't be read or is refused: every problem, with its line.
pub(crate) async fn run(file: &Path, dry_run: bool, format: Format) -> Result<Exit, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    let body = document::to_json(&text)
        .map_err(|failure| Failure::local(format!("{}: {}", file.display(), failure.message())))?;
    let client = Client::from_environment(Role::Operator)?;
    let answer = send(&client, &body, dry_run)
        .await
        .map_err(|failure| with_lines(failure, file, &text))?;
    let changes = changes(&answer)?;
    match format {
        Format::Json => println!("{answer}"),
        Format::Table => {
            for change in &changes {
                println!("{}", line(change));
            }
        }
    }
    let pending = changes.iter().any(|change| change.action != "unchanged");
    Ok(if dry_run && pending {
        Exit::Pending
    } else {
        Exit::Done
    })
}

/// `POST /v1/operator/apply`.
///
/// # Errors
/// As the API answers.
pub(crate) async fn send(client: &Client, body: &Value, dry_run: bool) -> Result<Value, Failure> {
    let path = format!("/v1/operator/apply?dry_run={dry_run}");
    client.post(&path, body, PATIENCE).await
}

fn changes(answer: &Value) -> Result<Vec<Change>, Failure> {
    let list = answer.get("changes").cloned().unwrap_or_default();
    serde_json::from_value(list)
        .map_err(|error| Failure::local(format!("the answer lists no changes: {error}")))
}

fn line(change: &Change) -> String {
    let fields = if change.fields.is_empty() {
        String::new()
    } else {
        format!("  ({})", change.fields.join(", "))
    };
    let Change {
        action, kind, id, ..
    } = change;
    format!("{action:<10} {kind:<10} {id}{fields}")
}

fn with_lines(failure: Failure, file: &Path, text: &str) -> Failure {
    let details = failure
        .problems()
        .into_iter()
        .map(|problem| {
            let line = document::line_of(text, &problem.path)
                .map_or_else(String::new, |line| format!(":{line}"));
            let (path, message) = (problem.path, problem.message);
            format!("{}{line}: {path}: {message}", file.display())
        })
        .collect();
    failure.with_details(details)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_is_one_line() {
        let answer = json!({"changes": [
            {"action": "update", "kind": "agents", "id": "ada", "fields": ["slot", "config"]},
            {"action": "unchanged", "kind": "guilds", "id": "core", "fields": []},
        ]});
        let lines: Vec<_> = changes(&answer).unwrap().iter().map(line).collect();
        assert_eq!(
            lines,
            [
                "update     agents     ada  (slot, config)",
                "unchanged  guilds     core",
            ]
        );
    }

    #[test]
    fn problems_are_told_with_their_lines() {
        let body = json!({"error": {
            "code": "document_rejected",
            "message": "1 problem",
            "problems": [{"path": "agents[0].slot", "message": "200 is over 99"}],
        }});
        let text = "organisation = \"acme\"\n[[agents]]\nid = \"ada\"\nslot = 200\n";
        let failure = with_lines(Failure::answered(422, &body), Path::new("acme.toml"), text);
        let shown = format!("{failure:?}");
        assert!(
            shown.contains("acme.toml:4: agents[0].slot: 200 is over 99"),
            "{shown}"
        );
    }
}
