//! `guilds call`: one tool call in a direct run of its own.

mod pairs;
mod session;

use clap::Args;
use serde_json::{Value, json};

use self::session::Session;
use crate::api::{CALL_PATIENCE, Client, Role};
use crate::error::{Exit, Failure};
use crate::nearest::nearest;
use crate::signals::Stop;
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

/// Opens a run, makes the call, prints its content and ends the run, whatever
/// comes between: a signal, or a control plane that goes away for a moment.
///
/// # Errors
/// When the run can't be started or the call can't be made. A tool's own
/// `ERROR:` is its content, and exit 1.
pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Role::Backend)?;
    let raw = arguments.json.as_deref().map(object).transpose()?;
    let mut stop = Stop::new()?;
    let session = Session::new(&client);
    let (run, is_stopped) = session.start(&arguments.agent, &mut stop).await?;
    let called = if is_stopped {
        Err(interrupted())
    } else {
        let call = call(&client, &run, arguments, raw);
        tokio::select! {
            called = progress::watch(&arguments.tool, call) => called,
            () = stop.asked() => Err(interrupted()),
        }
    };
    let ended = session.end(&mut stop).await;
    let result = match (called, ended) {
        (Ok(result), ended) => {
            print(&result, context)?;
            ended?;
            result
        }
        (Err(failure), Ok(())) if is_interrupt(&failure) => {
            return Err(failure.and("the run is ended"));
        }
        (Err(failure), Ok(())) => return Err(failure),
        (Err(failure), Err(left)) => return Err(failure.and(left.message())),
    };
    if !text(&result, "content")?.starts_with("ERROR:") {
        return Ok(Exit::Done);
    }
    if context.format == Format::Table {
        help(&result, &run, &arguments.tool);
    }
    Ok(Exit::Failed)
}

const INTERRUPTED: &str = "interrupted";

fn interrupted() -> Failure {
    Failure::local(INTERRUPTED)
}

fn is_interrupt(failure: &Failure) -> bool {
    failure.message() == INTERRUPTED
}

fn print(result: &Value, context: &Context) -> Result<(), Failure> {
    let content = text(result, "content")?;
    match context.format {
        Format::Json => output::json(result),
        // Programs read it as it is; a terminal would obey it.
        Format::Table if context.screen.is_terminal => {
            output::payload(&format!("{}\n", shown::lines(&content)))
        }
        Format::Table => output::payload(&format!("{content}\n")),
    }
}

/// Says which tool may have been meant by one that there isn't.
fn help(result: &Value, run: &Value, tool: &str) {
    let content = result.get("content").and_then(Value::as_str);
    if !content.is_some_and(|content| content.starts_with("ERROR: unknown tool")) {
        return;
    }
    let names = names(run);
    match nearest(tool, &names) {
        Some(name) => output::note(&format!("guilds: did you mean `{name}`?")),
        None => output::note(&format!("guilds: this run offers {}", names.join(", "))),
    }
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
    let body = body("call_1", &arguments.tool, &raw);
    let path = format!("/v1/runs/{}/calls", text(run, "run")?);
    // The same call by the same id is never done twice.
    first(session::persistently(client, &path, &body).await?)
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
    let path = format!("/v1/runs/{run}/calls");
    first(
        client
            .post(&path, &body(id, tool, arguments), CALL_PATIENCE)
            .await?,
    )
}

/// A batch of one call.
fn body(id: &str, tool: &str, arguments: &Value) -> Value {
    json!({"calls": [{"id": id, "name": tool, "arguments": arguments}]})
}

/// The result of such a batch.
fn first(mut answer: Value) -> Result<Value, Failure> {
    match answer
        .get_mut("results")
        .and_then(|results| results.get_mut(0))
    {
        Some(result) => Ok(result.take()),
        None => Err(Failure::stranger("its answer holds no result")),
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
        .ok_or_else(|| Failure::stranger(format!("its answer has no `{key}`")))
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
