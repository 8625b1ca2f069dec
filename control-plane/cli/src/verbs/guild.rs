//! `guilds guild`: guilds of the organisation.

use clap::Args;

use crate::Context;
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Usual, ago, count, text};
use crate::table::Role;

pub(super) const KIND: Kind = Kind {
    plural: "guilds",
    noun: "guild",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "id")),
        Column::new("AGENTS", Role::Number, |object, _| text(object, "agents")),
        Column::new("REPOSITORIES", Role::Number, |object, _| {
            count(object, "repositories")
        }),
        Column::new("CREATED", Role::Word, |object, screen| {
            ago(object, "created_at", screen)
        }),
    ],
};

/// What to do with them.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Usual,
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    arguments.what.run(&KIND, context).await
}
