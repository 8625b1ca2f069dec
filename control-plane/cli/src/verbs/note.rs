//! `guilds note`: notes of every level, their history, and bringing them back.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::record::{state, wanted};
use crate::api::{Client, PATIENCE, Role as Token};
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Limit, Usual, ago, number, print_one, text, words};
use crate::moment;
use crate::table::{Cell, Role};
use crate::{Context, Format, output};

pub(super) const KIND: Kind = Kind {
    plural: "notes",
    noun: "note",
    columns: &[
        Column::new("PATH", Role::Id, |object, _| text(object, "path")),
        Column::new("SIZE", Role::Number, |object, _| {
            Cell::new(&moment::size(number(object, "bytes")))
        }),
        Column::new("UPDATED", Role::Word, |object, screen| {
            ago(object, "updated_at", screen)
        }),
        Column::new("ACCESS", Role::Text, |object, _| access(object)),
        Column::new("REMOVED", Role::Word, |object, screen| {
            match object.get("deleted_at") {
                None | Some(Value::Null) => Cell::new(""),
                Some(_) => ago(object, "deleted_at", screen),
            }
        }),
    ],
};

/// Earlier contents of a note.
const REVISIONS: Kind = Kind {
    plural: "revisions",
    noun: "revision",
    columns: &[
        Column::new("REVISION", Role::Id, |object, _| text(object, "id")),
        Column::new("SAVED", Role::Word, |object, screen| {
            ago(object, "at", screen)
        }),
        Column::new("BY", Role::Text, |object, _| text(object, "actor")),
        Column::new("SIZE", Role::Number, |object, _| {
            Cell::new(&moment::size(number(object, "bytes")))
        }),
        Column::new("STATE", Role::Word, |object, _| state(object)),
    ],
};

/// What to do with notes.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    #[command(flatten)]
    Usual(Usual),
    /// List what a note was before, or show one of that with its content.
    History {
        /// The note's path, such as `org/handbook.md`.
        path: String,
        /// The content to show, as the list names it.
        revision: Option<i64>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Bring back a removed note, or an earlier content of one.
    Restore {
        /// The note's path, such as `org/handbook.md`.
        path: String,
        /// The content, as `history` names it; without one the newest.
        #[arg(long)]
        revision: Option<i64>,
    },
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    match &arguments.what {
        What::Usual(usual) => usual.run(&KIND, context).await,
        What::History {
            path,
            revision,
            limit,
        } => {
            let client = Client::from_environment(Token::Operator)?;
            let path = format!("{}/history", KIND.path_of(path));
            if let Some(revision) = revision {
                let answer = client.get(&format!("{path}/{revision}")).await?;
                print_one(&answer, context)?;
                return Ok(Exit::Done);
            }
            REVISIONS.list_at(&client, &path, &[], limit, context).await
        }
        What::Restore { path, revision } => {
            let client = Client::from_environment(Token::Operator)?;
            let path = format!("{}/restore", KIND.path_of(path));
            let answer = client.post(&path, &wanted(*revision), PATIENCE).await?;
            match context.format {
                Format::Json => print_one(&answer, context)?,
                Format::Table => output::payload(&format!(
                    "restored note {}\n",
                    crate::text::line(&words(&answer, "path"))
                ))?,
            }
            Ok(Exit::Done)
        }
    }
}

/// Who may do what: `guild core write, organisation read`.
fn access(note: &Value) -> Cell {
    let rows = note.get("access").and_then(Value::as_array);
    let rows: Vec<_> = rows
        .into_iter()
        .flatten()
        .map(|row| {
            let owner = ["agent", "guild"]
                .iter()
                .find_map(|level| Some(format!("{level} {}", row.get(level)?.as_str()?)));
            let owner = owner.unwrap_or_else(|| "organisation".to_owned());
            format!("{owner} {}", words(row, "access"))
        })
        .collect();
    Cell::new(&rows.join(", "))
}
