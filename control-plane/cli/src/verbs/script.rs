//! `guilds script`: the Python scripts that agents keep.

use clap::{Args, Subcommand};

use crate::Context;
use crate::api::{Client, Role as Token, segment};
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Limit, ago, number, print_one, text};
use crate::moment;
use crate::table::{Cell, Role};

pub(super) const KIND: Kind = Kind {
    plural: "scripts",
    noun: "script",
    columns: &[
        Column::new("AGENT", Role::Id, |object, _| text(object, "agent")),
        Column::new("NAME", Role::Id, |object, _| text(object, "name")),
        Column::new("SIZE", Role::Number, |object, _| {
            Cell::new(&moment::size(number(object, "bytes")))
        }),
        Column::new("UPDATED", Role::Word, |object, screen| {
            ago(object, "updated_at", screen)
        }),
        Column::new("LAST RUN", Role::Word, |object, screen| {
            ago(object, "last_run_at", screen)
        }),
        Column::new("DESCRIPTION", Role::Text, |object, _| {
            text(object, "description")
        }),
    ],
};

/// What to do with scripts.
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
    /// Show one with its source.
    Show {
        /// Whose it is.
        agent: String,
        /// The script's name.
        script: String,
    },
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Token::Operator)?;
    match &arguments.what {
        What::List { agent, limit } => {
            let query = [("agent", agent.as_deref())];
            KIND.list(&client, &query, limit, context).await
        }
        What::Show { agent, script } => {
            let path = format!("{}/{}/{}", KIND.path(), segment(agent), segment(script));
            print_one(&client.get(&path).await?, context)?;
            Ok(Exit::Done)
        }
    }
}
