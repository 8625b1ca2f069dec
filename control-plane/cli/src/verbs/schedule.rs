//! `guilds schedule`: when agents wake up by themselves.

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::Context;
use crate::api::{Client, Role as Token};
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Limit, ago, text, words};
use crate::table::{Cell, Role};

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
        #[command(flatten)]
        limit: Limit,
    },
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Token::Operator)?;
    let What::List { agent, limit } = &arguments.what;
    let query = [("agent", agent.as_deref())];
    KIND.list(&client, &query, limit, context).await
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
