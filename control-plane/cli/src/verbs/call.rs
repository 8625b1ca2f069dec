//! `guilds call`: one tool call in a direct run of its own.

mod pairs;

use clap::Args;
use serde_json::{Value, json};

use crate::api::{CALL_PATIENCE, Client, Role};
use crate::error::{Exit, Failure};
use crate::{Context, Format, output, progress, text as shown};

/// What to call, for whom, with what.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The agent that calls.
    #[arg(long)]
    agent: String,
    /// The tool's name.
    tool: String,
    /// `key=value`, read by the tool's schema, or `key:=json`.
    #[arg(value_name = "KEY=VALUE", conflicts_with = "json")]
    pairs: Vec<String>,
    /// All arguments as one JSON object.
    #[arg(long, value_name = "OBJECT")]
    json: Option<String>,
}

/// Opens a run, makes the call, prints its content and ends the run.
///
/// # Errors
/// When the run can't be started or the call can't be made. A tool's own
/// `ERROR:` is its content, and exit 1.
pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Role::Backend)?;
    let raw = arguments.json.as_deref().map(object).transpose()?;
    let start = json!({"agent": arguments.agent, "kind": "direct"});
    let start = client.post("/v1/runs", &start, CALL_PATIENCE);
    let run = progress::watch("starting a run", start).await?;
    let id = text(&run, "run")?;
    let called = tokio::select! {
        called = progress::watch(&arguments.tool, call(&client, &run, arguments, raw)) => called,
        _ = tokio::signal::ctrl_c() => Err(Failure::local("interrupted; the run is ended")),
    };
    let ended = client
        .post(&format!("/v1/runs/{id}/end"), &json!({}), CALL_PATIENCE)
        .await;
    let result = called?;
    let content = text(&result, "content")?;
    match context.format {
        Format::Json => output::json(&result)?,
        // Programs read it as it is; a terminal would obey it.
        Format::Table if context.screen.is_terminal => {
            output::payload(&format!("{}\n", shown::lines(&content)))?;
        }
        Format::Table => output::payload(&format!("{content}\n"))?,
    }
    ended?;
    if !content.starts_with("ERROR:") {
        return Ok(Exit::Done);
    }
    if context.format == Format::Table && content.starts_with("ERROR: unknown tool") {
        match nearest(&arguments.tool, &names(&run)) {
            Some(name) => output::note(&format!("guilds: did you mean `{name}`?")),
            None => output::note(&format!(
                "guilds: this run offers {}",
                names(&run).join(", ")
            )),
        }
    }
    Ok(Exit::Failed)
}

async fn call(
    client: &Client,
    run: &Value,
    arguments: &Arguments,
    raw: Option<Value>,
) -> Result<Value, Failure> {
    let raw = match raw {
        Some(raw) => raw,
        None => pairs::read(&arguments.pairs, schema(run, &arguments.tool))?,
    };
    one(client, &text(run, "run")?, "call_1", &arguments.tool, &raw).await
}

/// Makes one call in an open run: its result object.
///
/// # Errors
/// As the API answers.
pub(crate) async fn one(
    client: &Client,
    run: &str,
    id: &str,
    tool: &str,
    arguments: &Value,
) -> Result<Value, Failure> {
    let body = json!({"calls": [{"id": id, "name": tool, "arguments": arguments}]});
    let path = format!("/v1/runs/{run}/calls");
    let mut answer = client.post(&path, &body, CALL_PATIENCE).await?;
    match answer
        .get_mut("results")
        .and_then(|results| results.get_mut(0))
    {
        Some(result) => Ok(result.take()),
        None => Err(Failure::local("the answer holds no result")),
    }
}

/// A string of an answer.
///
/// # Errors
/// When the answer has none under that key.
pub(crate) fn text(answer: &Value, key: &str) -> Result<String, Failure> {
    answer
        .get(key)
        .and_then(Value::as_str)
        .map(ToOwned::to_owned)
        .ok_or_else(|| Failure::local(format!("the answer has no `{key}`")))
}

fn object(text: &str) -> Result<Value, Failure> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(Failure::usage("--json is not an object")),
        Err(error) => Err(Failure::usage(format!("--json is not JSON: {error}"))),
    }
}

/// The schema of an offered tool; without one the server says why it isn't offered.
fn schema<'a>(run: &'a Value, tool: &str) -> Option<&'a Value> {
    run.get("tools")?
        .as_array()?
        .iter()
        .find(|offered| offered["name"] == tool)?
        .get("input_schema")
}

/// Names of the tools that a run offers.
fn names(run: &Value) -> Vec<&str> {
    let tools = run.get("tools").and_then(Value::as_array);
    tools
        .into_iter()
        .flatten()
        .filter_map(|tool| tool.get("name")?.as_str())
        .collect()
}

/// The name that is meant by one that is nearly it: a third of its letters may differ.
fn nearest<'a>(wrong: &str, names: &[&'a str]) -> Option<&'a str> {
    names
        .iter()
        .map(|name| (distance(wrong, name), *name))
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .min()
        .map(|(_, name)| name)
}

/// Letters to add, drop or replace until one word is the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<_> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut corner = index;
        row[0] = index + 1;
        for (at, wanted) in other.iter().enumerate() {
            let replaced = corner + usize::from(letter != *wanted);
            corner = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(row[at + 1] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_one_is_that_one() {
        let names = ["note_find", "note_get", "shell", "browser_click"];
        assert_eq!(nearest("note_fnd", &names), Some("note_find"));
        assert_eq!(nearest("browser-click", &names), Some("browser_click"));
        assert_eq!(nearest("sehll", &names), None);
        assert_eq!(nearest("shel", &names), Some("shell"));
        assert_eq!(nearest("everything", &names), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
