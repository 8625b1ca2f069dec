//! `guilds call`: one tool call in a direct run of its own.

mod pairs;

use clap::Args;
use serde_json::{Value, json};

use crate::Format;
use crate::api::{CALL_PATIENCE, Client, Role};
use crate::error::{Exit, Failure};

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
pub(crate) async fn run(arguments: &Arguments, format: Format) -> Result<Exit, Failure> {
    let client = Client::from_environment(Role::Backend)?;
    let raw = arguments.json.as_deref().map(object).transpose()?;
    let start = json!({"agent": arguments.agent, "kind": "direct"});
    let run = client.post("/v1/runs", &start, CALL_PATIENCE).await?;
    let id = text(&run, "run")?;
    let called = tokio::select! {
        called = call(&client, &run, arguments, raw) => called,
        _ = tokio::signal::ctrl_c() => Err(Failure::local("interrupted; the run is ended")),
    };
    let ended = client
        .post(&format!("/v1/runs/{id}/end"), &json!({}), CALL_PATIENCE)
        .await;
    let result = called?;
    ended?;
    let content = text(&result, "content")?;
    match format {
        Format::Json => println!("{result}"),
        Format::Table => println!("{content}"),
    }
    Ok(if content.starts_with("ERROR:") {
        Exit::Failed
    } else {
        Exit::Done
    })
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
