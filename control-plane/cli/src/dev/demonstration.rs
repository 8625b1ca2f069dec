//! The demonstration: one run of an agent, as a chat backend makes it, with a call of every kind.

use serde_json::{Value, json};

use super::show;
use crate::api::{CALL_PATIENCE, Client};
use crate::error::Failure;
use crate::verbs::call;

/// Lines of a result that are shown; a page's tree may be longer.
const SHOWN_LINES: usize = 36;
const AGENT: &str = "ada";

/// One call, and what a newcomer should see in it.
struct Step {
    what: &'static str,
    tool: &'static str,
    arguments: Value,
}

/// Starts a run, shows its offer, makes the calls, ends the run. Answers how many
/// calls ended in an error: on a machine that is set up right, none does.
///
/// # Errors
/// When the API doesn't answer as it should.
pub(crate) async fn run(client: &Client, site: &str) -> Result<usize, Failure> {
    show(&format!(
        "\nA chat backend starts a run for the agent `{AGENT}`, and is told which tools it may offer the model.\n\n"
    ));
    let start = json!({"agent": AGENT, "kind": "direct"});
    show(&format!("POST /v1/runs {start}\n"));
    let run = client.post("/v1/runs", &start, CALL_PATIENCE).await?;
    let id = call::text(&run, "run")?;
    show(&offer(&run));
    show(
        "\nThe model answers with tool calls. The backend sends each to the run, and gets back the text\n\
         the model reads next. Its last line is the stamp: how many calls the run has left.\n",
    );
    let outcome = make_calls(client, &id, site).await;
    show(&format!(
        "\nThe backend ends the run.\n\nPOST /v1/runs/{id}/end\n"
    ));
    let ended = client
        .post(&format!("/v1/runs/{id}/end"), &json!({}), CALL_PATIENCE)
        .await?;
    show(&format!("  {ended}\n\n"));
    outcome
}

async fn make_calls(client: &Client, run: &str, site: &str) -> Result<usize, Failure> {
    let mut errors = 0;
    for (number, step) in steps(site).into_iter().enumerate() {
        show(&format!(
            "\n{}. {}\n\n> {} {}\n",
            number + 1,
            step.what,
            step.tool,
            step.arguments
        ));
        let id = format!("call_{}", number + 1);
        let result = call::one(client, run, &id, step.tool, &step.arguments).await?;
        let content = call::text(&result, "content")?;
        errors += usize::from(content.starts_with("ERROR: "));
        show(&shown(&content));
    }
    Ok(errors)
}

fn steps(site: &str) -> Vec<Step> {
    let mut steps = kept(site);
    steps.extend(browsed(site));
    steps.extend(ran());
    steps
}

/// What is kept in the database.
fn kept(site: &str) -> Vec<Step> {
    let note = "agent/ada/bindery.md";
    vec![
        Step {
            what: "The agent keeps a note. Notes are in the database, and outlive the run.",
            tool: "note_write",
            arguments: json!({
                "level": "agent",
                "key": "bindery.md",
                "content": format!("# Bindery\n\nTheir site is {site}. Repairs take eight days."),
            }),
        },
        Step {
            what: "It finds the note again by its words.",
            tool: "note_find",
            arguments: json!({"query": "repairs"}),
        },
        Step {
            what: "It reads the note.",
            tool: "note_get",
            arguments: json!({"path": note}),
        },
        Step {
            what: "It deletes the note.",
            tool: "note_delete",
            arguments: json!({"path": note}),
        },
        Step {
            what: "What was deleted says so, instead of failing.",
            tool: "note_get",
            arguments: json!({"path": note}),
        },
    ]
}

/// What happens in the agent's own Chrome.
fn browsed(site: &str) -> Vec<Step> {
    vec![
        Step {
            what: "Now the agent's machine: the agent's own Chrome starts there and opens a page.",
            tool: "browser_navigate",
            arguments: json!({"url": site}),
        },
        Step {
            what: "The page as a model reads it: roles, names and states.",
            tool: "browser_snapshot",
            arguments: json!({}),
        },
        Step {
            what: "It clicks the button it found there.",
            tool: "browser_click",
            arguments: json!({"target": "role=button[name=\"Ring the bell\"]"}),
        },
        Step {
            what: "The page has changed.",
            tool: "browser_snapshot",
            arguments: json!({}),
        },
        Step {
            what: "A picture, in the agent's home.",
            tool: "browser_screenshot",
            arguments: json!({}),
        },
    ]
}

/// What runs as a program.
fn ran() -> Vec<Step> {
    let source = "import json, sys\n\narguments = json.load(sys.stdin)\nwords = arguments.get(\"text\", \"\").split()\nprint(f\"{len(words)} words, the longest is {max(words, key=len)}\")\n";
    vec![
        Step {
            what: "The agent writes itself a Python script.",
            tool: "script_create",
            arguments: json!({
                "name": "count-words",
                "description": "Counts the words of a text.",
                "source": source,
            }),
        },
        Step {
            what: "Its scripts, and why each exists.",
            tool: "script_list",
            arguments: json!({}),
        },
        Step {
            what: "The script runs on the agent's machine, in its home.",
            tool: "script_run",
            arguments: json!({
                "name": "count-words",
                "arguments": {"text": "we sew notebooks by hand"},
            }),
        },
        Step {
            what: "Its source can be read again.",
            tool: "script_read",
            arguments: json!({"name": "count-words"}),
        },
        Step {
            what: "It removes the script.",
            tool: "script_delete",
            arguments: json!({"name": "count-words"}),
        },
        Step {
            what: "A shell command. The first line tells how it ended, how long it took, and where it ran.",
            tool: "shell",
            arguments: json!({"command": "id -un; ls -l screenshots; echo done >&2"}),
        },
        Step {
            what: "When a tool doesn't do what it should, the agent tells its operators.",
            tool: "report_issue",
            arguments: json!({
                "summary": "The demonstration ran",
                "detail": "No tool failed: this shows where a report of one would go.",
                "kind": "other",
                "severity": "low",
            }),
        },
    ]
}

/// The run, its budget and its tools.
fn offer(run: &Value) -> String {
    let names: Vec<_> = run["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let mut text = format!(
        "  run {}, {} calls, {} tools:\n",
        run["run"].as_str().unwrap_or_default(),
        run["remaining_tool_calls"],
        names.len()
    );
    for line in names.chunks(5) {
        text.push_str(&format!("    {}\n", line.join("  ")));
    }
    for notice in run["notices"].as_array().into_iter().flatten() {
        text.push_str(&format!(
            "  notice: {}\n",
            notice.as_str().unwrap_or_default()
        ));
    }
    text
}

/// A result, indented; a long one without its middle, never without its stamp.
fn shown(content: &str) -> String {
    let lines: Vec<_> = content.lines().collect();
    let (head, tail) = if lines.len() > SHOWN_LINES {
        (&lines[..SHOWN_LINES - 2], &lines[lines.len() - 1..])
    } else {
        (&lines[..], &lines[..0])
    };
    let mut text: String = head.iter().map(|line| format!("  {line}\n")).collect();
    if !tail.is_empty() {
        let left_out = lines.len() - head.len() - tail.len();
        text.push_str(&format!("  … {left_out} more lines …\n"));
        text.extend(tail.iter().map(|line| format!("  {line}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_keeps_its_stamp() {
        let content: String = (0..50).map(|n| format!("line {n}\n")).collect();
        let text = shown(&format!("{content}remaining_tool_calls: 41"));
        assert!(text.starts_with("  line 0\n"));
        assert!(text.ends_with("  line 33\n  … 16 more lines …\n  remaining_tool_calls: 41\n"));
        assert_eq!(
            shown("a\nremaining_tool_calls: 3"),
            "  a\n  remaining_tool_calls: 3\n"
        );
    }

    #[test]
    fn one_tool_of_every_kind_is_called() {
        let called: Vec<_> = steps("http://127.0.0.1:8447")
            .iter()
            .map(|step| step.tool)
            .collect();
        for tool in [
            "note_write",
            "note_find",
            "note_get",
            "note_delete",
            "browser_navigate",
            "browser_snapshot",
            "browser_click",
            "browser_screenshot",
            "script_create",
            "script_list",
            "script_run",
            "script_read",
            "script_delete",
            "shell",
            "report_issue",
        ] {
            assert!(called.contains(&tool), "{tool}");
        }
    }

    #[test]
    fn the_offer_lists_tools_and_notices() {
        let run = json!({
            "run": "0192",
            "remaining_tool_calls": 60,
            "tools": [{"name": "note_find"}, {"name": "shell"}],
            "notices": ["machine local does not answer"],
        });
        assert_eq!(
            offer(&run),
            "  run 0192, 60 calls, 2 tools:\n    note_find  shell\n  notice: machine local does not answer\n"
        );
    }
}
