//! `guilds run`: runs and, call by call, what happened in them.

mod follow;
mod timeline;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::{CALL_PATIENCE, Client, Role as Token, segment};
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Limit, ago, text, words};
use crate::table::Role;
use crate::{Context, Format, output, progress};

pub(super) const KIND: Kind = Kind {
    plural: "runs",
    noun: "run",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "run")),
        Column::new("AGENT", Role::Word, |object, _| text(object, "agent")),
        Column::new("STATE", Role::Word, |object, _| text(object, "state")),
        Column::new("KIND", Role::Word, |object, _| text(object, "kind")),
        Column::new("STARTED", Role::Word, |object, screen| {
            ago(object, "created_at", screen)
        }),
        Column::new("TURN", Role::Number, |object, _| text(object, "turn")),
        Column::new("LEFT", Role::Number, |object, _| {
            text(object, "remaining_tool_calls")
        }),
    ],
};

/// What to do with runs.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List runs, the newest first.
    List {
        /// Of this agent only.
        #[arg(long)]
        agent: Option<String>,
        /// In this state only.
        #[arg(long, value_parser = ["open", "ended"])]
        state: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show a run and its calls.
    Show {
        /// The run's id.
        run: String,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show the calls as they are answered, until the run ends.
    Follow {
        /// The run's id.
        run: String,
    },
    /// End a run; what it still does is cancelled.
    End {
        /// The run's id.
        run: String,
    },
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Token::Backend)?;
    match &arguments.what {
        What::List {
            agent,
            state,
            limit,
        } => {
            let query = [("agent", agent.as_deref()), ("state", state.as_deref())];
            KIND.list_at(&client, "/v1/runs", &query, limit, context)
                .await
        }
        What::Show { run, limit } => show(&client, run, limit, context).await,
        What::Follow { run } => follow::run(&client, run, context).await,
        What::End { run } => {
            let (path, nothing) = (format!("{}/end", path(run)), json!({}));
            let ended = client.post(&path, &nothing, CALL_PATIENCE);
            let ended = progress::watch("ending the run", ended).await?;
            match context.format {
                Format::Json => output::json(&ended)?,
                Format::Table => {
                    output::payload(&format!("ended run {}\n", words(&ended, "run")))?;
                }
            }
            Ok(Exit::Done)
        }
    }
}

/// A run's path.
fn path(run: &str) -> String {
    format!("/v1/runs/{}", segment(run))
}

async fn show(
    client: &Client,
    run: &str,
    limit: &Limit,
    context: &Context,
) -> Result<Exit, Failure> {
    let path = path(run);
    let messages = format!("{path}/messages");
    let both = async {
        tokio::try_join!(
            client.get(&path),
            client.list(&messages, "messages", &[], limit.count())
        )
    };
    let (run, messages) = progress::watch("reading the run", both).await?;
    if context.format == Format::Json {
        let more = messages.has_more();
        let mut whole = run;
        if let Value::Object(whole) = &mut whole {
            whole.insert("messages".to_owned(), Value::Array(messages.items));
            whole.insert("more_messages".to_owned(), Value::Bool(more));
        }
        output::json(&whole)?;
        return Ok(Exit::Done);
    }
    output::payload(&timeline::head(&run, &context.screen))?;
    if messages.items.is_empty() {
        output::note("no calls");
    } else {
        let table = timeline::table(&run, &messages.items);
        output::payload(&format!("\n{}", table.show(&context.screen)))?;
    }
    if messages.has_more() {
        output::note("there are more calls than these; --limit shows more");
    }
    Ok(Exit::Done)
}
