//! `guilds binding`: what is switched on and off, at which level.

use clap::Args;

use crate::Context;
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Usual, ago, on_or_off, text};
use crate::table::Role;

pub(super) const KIND: Kind = Kind {
    plural: "bindings",
    noun: "binding",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "id")),
        Column::new("STATE", Role::Word, |object, _| {
            on_or_off(object, "enabled")
        }),
        Column::new("UPDATED", Role::Word, |object, screen| {
            ago(object, "updated_at", screen)
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
