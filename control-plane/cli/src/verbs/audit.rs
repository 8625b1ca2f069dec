//! `guilds audit`: who changed what and when.

use clap::Args;
use serde_json::{Map, Value};

use crate::Context;
use crate::api::{Client, Role as Token};
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Limit, ago, text};
use crate::moment;
use crate::table::{Cell, Role};

const KIND: Kind = Kind {
    plural: "audit",
    noun: "change",
    columns: &[
        Column::new("WHEN", Role::Word, |object, screen| {
            ago(object, "at", screen)
        }),
        Column::new("ACTION", Role::Word, |object, _| text(object, "action")),
        Column::new("KIND", Role::Word, |object, _| text(object, "kind")),
        Column::new("OBJECT", Role::Id, |object, _| text(object, "object")),
        Column::new("CHANGED", Role::Text, |object, _| changed(object)),
        Column::new("BY", Role::Text, |object, _| text(object, "actor")),
    ],
};

/// What an audit has changes of.
const KINDS: [&str; 13] = [
    "guilds",
    "machines",
    "agents",
    "bindings",
    "collections",
    "notes",
    "connectors",
    "logins",
    "secrets",
    "records",
    "issues",
    "schedules",
    "secret-requests",
];

/// Which changes; `-o json` has each object before and after.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Not before this: `7d`, `12h`, `30m`, or a time.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Of this kind only, by its plural word.
    #[arg(long, value_parser = KINDS)]
    kind: Option<String>,
    /// Of the object with this id only.
    #[arg(long, value_name = "ID")]
    object: Option<String>,
    /// By this actor only.
    #[arg(long)]
    actor: Option<String>,
    #[command(flatten)]
    limit: Limit,
}

/// Lists the changes, the newest first.
pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Token::Operator)?;
    let since = arguments.since.as_deref();
    let since = since
        .map(|text| moment::since(text, context.screen.now))
        .transpose()?;
    let query = [
        ("since", since.as_deref()),
        ("kind", arguments.kind.as_deref()),
        ("object", arguments.object.as_deref()),
        ("actor", arguments.actor.as_deref()),
    ];
    KIND.list(&client, &query, &arguments.limit, context).await
}

/// The fields in which an object differs from before.
fn changed(entry: &Value) -> Cell {
    let empty = Map::new();
    let side = |key: &str| {
        let side = entry.get(key).and_then(Value::as_object);
        side.unwrap_or(&empty)
    };
    let (before, after) = (side("before"), side("after"));
    if before.is_empty() || after.is_empty() {
        return Cell::new("");
    }
    let names: Vec<_> = after
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(value))
        .map(|(name, _)| name.as_str())
        .collect();
    Cell::new(&names.join(", "))
}
