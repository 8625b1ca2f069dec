//! `guilds schedule`: when agents wake up by themselves.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::{Client, Role as Token};
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Limit, ago, text, words};
use crate::table::{Cell, Role};
use crate::{Context, Format, output, text as shown};

const KIND: Kind = Kind {
    plural: "schedules",
    noun: "schedule",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "schedule_id")),
        Column::new("AGENT", Role::Word, |object, _| text(object, "agent")),
        Column::new("STATE", Role::Word, |object, _| text(object, "state")),
        Column::new("NEXT", Role::Word, |object, screen| {
            ago(object, "next_fire", screen)
        }),
        Column::new("WHEN", Role::Text, |object, _| when(object)),
        Column::new("DESCRIPTION", Role::Text, |object, _| {
            text(object, "description")
        }),
    ],
};

/// What to do with schedules.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List them.
    List {
        /// Of this agent only.
        #[arg(long)]
        agent: Option<String>,
        /// In this state only.
        #[arg(long, value_parser = ["active", "paused"])]
        state: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show one with its instruction and its last fires.
    Show {
        /// Its id, as `list` names it.
        schedule: String,
    },
    /// Stop one from firing.
    Pause {
        /// Its id, as `list` names it.
        schedule: String,
    },
    /// Let one fire again, from now on.
    Resume {
        /// Its id, as `list` names it.
        schedule: String,
    },
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Token::Operator)?;
    match &arguments.what {
        What::List {
            agent,
            state,
            limit,
        } => {
            let query = [("agent", agent.as_deref()), ("state", state.as_deref())];
            KIND.list(&client, &query, limit, context).await
        }
        What::Show { schedule } => KIND.show(&client, schedule, context).await,
        What::Pause { schedule } => set(&client, schedule, "paused", context).await,
        What::Resume { schedule } => set(&client, schedule, "active", context).await,
    }
}

async fn set(
    client: &Client,
    schedule: &str,
    state: &str,
    context: &Context,
) -> Result<Exit, Failure> {
    let answer = client
        .patch(&KIND.path_of(schedule), &json!({"state": state}))
        .await?;
    match context.format {
        Format::Json => output::json(&answer)?,
        Format::Table => {
            let next = words(&answer, "next_fire");
            let next = if next.is_empty() {
                String::new()
            } else {
                format!(", next {next}")
            };
            output::payload(&format!(
                "{} schedule {} of {}{}\n",
                words(&answer, "state"),
                shown::line(&words(&answer, "schedule_id")),
                shown::line(&words(&answer, "agent")),
                shown::line(&next),
            ))?;
        }
    }
    Ok(Exit::Done)
}

/// `0 9 * * 1 UTC`, or `3 in 09:00-17:00 Europe/Berlin`.
fn when(schedule: &Value) -> Cell {
    let cron = words(schedule, "cron");
    if !cron.is_empty() {
        return Cell::new(&format!("{cron} UTC"));
    }
    Cell::new(&format!(
        "{} in {}-{} {}",
        words(schedule, "max_wakes"),
        words(schedule, "start"),
        words(schedule, "end"),
        words(schedule, "timezone")
    ))
}
