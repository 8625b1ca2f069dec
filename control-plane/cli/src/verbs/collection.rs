//! `guilds collection`: collections, the tables that agents keep records in.

use clap::Args;

use crate::Context;
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Usual, ago, count, text};
use crate::table::Role;

pub(super) const KIND: Kind = Kind {
    plural: "collections",
    noun: "collection",
    columns: &[
        Column::new("NAME", Role::Id, |object, _| text(object, "name")),
        Column::new("RECORDS", Role::Number, |object, _| text(object, "records")),
        Column::new("COLUMNS", Role::Number, |object, _| {
            count(object, "columns")
        }),
        Column::new("UNIQUE", Role::Word, |object, _| text(object, "unique")),
        Column::new("UPDATED", Role::Word, |object, screen| {
            ago(object, "updated_at", screen)
        }),
        Column::new("DESCRIPTION", Role::Text, |object, _| {
            text(object, "description")
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
