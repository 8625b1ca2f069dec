//! `report_issue`: tell the guild's operators about a problem with the tools.

use serde::{Deserialize, Serialize};

use super::texts::has_lines;
use super::validation::storable;
use super::{Answer, Cx, Filter, Offered, Place, Tool, ToolError};
use crate::store::events::{Event, What};
use crate::store::issues;

/// Most characters of a summary.
const MAX_SUMMARY: usize = 200;
/// Most characters of a detail.
const MAX_DETAIL: usize = 20_000;
/// Most characters of a tool's name.
const MAX_TOOL_NAME: usize = 128;

pub(super) struct ReportIssue;

#[derive(Deserialize)]
pub(super) struct Args {
    summary: String,
    detail: String,
    kind: String,
    #[serde(default = "default_severity")]
    severity: String,
    tool_name: Option<String>,
}

fn default_severity() -> String {
    "medium".to_owned()
}

#[derive(Serialize)]
struct Reported {
    issue: i64,
}

impl Tool for ReportIssue {
    const NAME: &'static str = "report_issue";
    const DESCRIPTION: &'static str = "Reports a problem with your tools or their surroundings to the people who run your guild: a tool that keeps failing, a result that was cut where it mattered, an interface that answers wrongly. Use it once you are sure that the fault is not in your arguments, then go on with your work another way. Equal reports are counted on one issue. It is no place for questions or for results of your work.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "summary": {
      "type": "string",
      "description": "The problem in one line, at most 200 characters."
    },
    "detail": {
      "type": "string",
      "description": "What failed: the tool's name, what you asked of it and the text of the error."
    },
    "kind": {
      "type": "string",
      "enum": ["tool_failure", "truncated", "api", "other"],
      "description": "tool_failure: a tool failed. truncated: a result was cut. api: a service behind a tool answered wrongly. other: anything else."
    },
    "severity": {
      "type": "string",
      "enum": ["low", "medium", "high"],
      "default": "medium",
      "description": "low: in the way. medium: part of the work fails. high: nothing goes on. Omit it for medium."
    },
    "tool_name": {
      "type": "string",
      "description": "Name of the tool that failed. Omit it when there is none."
    }
  },
  "required": ["summary", "detail", "kind"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"summary": "browser_navigate ends at its limit on every page", "detail": "browser_navigate https://example.com: ERROR: the page did not answer", "kind": "tool_failure", "severity": "high", "tool_name": "browser_navigate"}"#;
    const OFFERED: Offered = Offered::Always;
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        check(&args)?;
        // Operators read it, so it is redacted before it is stored.
        let words = |text: &str| cx.words.redact(&storable(text.to_owned()));
        let summary = words(args.summary.trim());
        let detail = words(&args.detail);
        let tool_name = args
            .tool_name
            .map(|name| words(name.trim()))
            .filter(|name| !name.is_empty());
        let report = issues::Report {
            kind: &args.kind,
            tool_name: tool_name.as_deref(),
            summary: &summary,
            detail: &detail,
            severity: &args.severity,
        };
        let caller = cx.caller;
        let filed =
            issues::report(cx.db, &caller.agent, caller.run, &caller.call_id, report).await?;
        let text = serde_json::to_string(&Reported { issue: filed.issue })?;
        let event = Event {
            organisation: caller.agent.organisation.clone(),
            guild: Some(caller.agent.guild.clone()),
            agent: Some(caller.agent.id.clone()),
            what: What::Issue {
                issue: filed.issue,
                change: filed.change,
                kind: args.kind,
                tool_name,
                summary,
                severity: filed.severity,
                reports: filed.reports,
                run: caller.run,
                call_id: caller.call_id.clone(),
            },
        };
        Ok(Answer::TextAndEvent(text, Box::new(event)))
    }
}

/// Refuses what the schema can't say, all of it at once.
fn check(args: &Args) -> Result<(), ToolError> {
    let mut problems = Vec::new();
    let summary = args.summary.trim();
    if summary.is_empty() {
        problems.push("summary is empty".to_owned());
    }
    if has_lines(summary) {
        problems.push("summary has more than one line".to_owned());
    }
    let too_long = |name: &str, text: &str, most: usize| {
        let characters = text.chars().count();
        (characters > most)
            .then(|| format!("{name} has {characters} characters, at most {most} are allowed"))
    };
    problems.extend(too_long("summary", summary, MAX_SUMMARY));
    if args.detail.trim().is_empty() {
        problems.push("detail is empty".to_owned());
    }
    problems.extend(too_long("detail", &args.detail, MAX_DETAIL));
    let tool_name = args.tool_name.as_deref().unwrap_or_default();
    problems.extend(too_long("tool_name", tool_name, MAX_TOOL_NAME));
    if problems.is_empty() {
        return Ok(());
    }
    Err(ToolError::invalid(problems.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(summary: &str, detail: &str, expected: Option<&str>) {
        let args = Args {
            summary: summary.to_owned(),
            detail: detail.to_owned(),
            kind: "other".to_owned(),
            severity: default_severity(),
            tool_name: None,
        };
        let found = check(&args).err().map(|error| error.to_string());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn a_summary_is_one_line_of_at_most_200_characters() {
        refused(&"é".repeat(200), "d", None);
        refused(
            &"a".repeat(201),
            "d",
            Some("422 summary has 201 characters, at most 200 are allowed"),
        );
        refused("a\nb", "d", Some("422 summary has more than one line"));
    }

    #[test]
    fn every_problem_is_told_at_once() {
        refused(" ", "\n", Some("422 summary is empty; detail is empty"));
    }
}
