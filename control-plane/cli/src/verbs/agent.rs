//! `guilds agent`: agents of the organisation.

use clap::Args;

use crate::Context;
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Usual, ago, text};
use crate::table::Role;

pub(super) const KIND: Kind = Kind {
    plural: "agents",
    noun: "agent",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "id")),
        Column::new("GUILD", Role::Word, |object, _| text(object, "guild")),
        Column::new("MACHINE", Role::Word, |object, _| text(object, "machine")),
        Column::new("SLOT", Role::Number, |object, _| text(object, "slot")),
        Column::new("OPEN RUNS", Role::Number, |object, _| {
            text(object, "open_runs")
        }),
        Column::new("LAST RUN", Role::Word, |object, screen| {
            ago(object, "last_run_at", screen)
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
