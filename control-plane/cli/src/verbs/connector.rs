//! `guilds connector`: connectors, which bring tools from elsewhere.

use clap::Args;

use crate::Context;
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Usual, ago, text};
use crate::table::Role;

pub(super) const KIND: Kind = Kind {
    plural: "connectors",
    noun: "connector",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "id")),
        Column::new("KIND", Role::Word, |object, _| text(object, "kind")),
        Column::new("LOGINS", Role::Number, |object, _| text(object, "logins")),
        Column::new("CREATED", Role::Word, |object, screen| {
            ago(object, "created_at", screen)
        }),
        Column::new("URL", Role::Text, |object, _| text(object, "url")),
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
