//! `guilds record`: records of a collection, their history, and bringing them back.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::api::{Client, PATIENCE, Role as Token, segment};
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Limit, ago, print_one, words};
use crate::screen::Screen;
use crate::table::{Cell, Heading, Role, Table};
use crate::{Context, Format, output, progress, text};

/// Fields that every record has besides its columns.
const OWN: [&str; 6] = [
    "id",
    "created_at",
    "updated_at",
    "deleted_at",
    "deleted",
    "collection",
];

/// States that a record had.
const REVISIONS: Kind = Kind {
    plural: "revisions",
    noun: "revision",
    columns: &[
        Column::new("REVISION", Role::Id, |object, _| {
            Cell::new(&words(object, "id"))
        }),
        Column::new("SAVED", Role::Word, |object, screen| {
            ago(object, "at", screen)
        }),
        Column::new("BY", Role::Text, |object, _| {
            Cell::new(&words(object, "actor"))
        }),
        Column::new("STATE", Role::Word, |object, _| state(object)),
        Column::new("BODY", Role::Text, |object, _| {
            let body = object.get("body").map(Value::to_string);
            Cell::new(&body.unwrap_or_default())
        }),
    ],
};

/// What to do with records.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List a collection's records.
    List {
        collection: String,
        /// The removed ones instead.
        #[arg(long)]
        deleted: bool,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show one record.
    Show { collection: String, record: String },
    /// List what a record was before.
    History {
        collection: String,
        record: String,
        #[command(flatten)]
        limit: Limit,
    },
    /// Bring back a removed record, or an earlier state of one.
    Restore {
        collection: String,
        record: String,
        /// The state, as `history` names it; without one the newest.
        #[arg(long)]
        revision: Option<i64>,
    },
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Token::Operator)?;
    match &arguments.what {
        What::List {
            collection,
            deleted,
            limit,
        } => list(&client, collection, *deleted, limit, context).await,
        What::Show { collection, record } => {
            let answer = client.get(&path_of(collection, record)).await?;
            print_one(&answer, context)?;
            Ok(Exit::Done)
        }
        What::History {
            collection,
            record,
            limit,
        } => {
            let path = format!("{}/history", path_of(collection, record));
            REVISIONS.list_at(&client, &path, &[], limit, context).await
        }
        What::Restore {
            collection,
            record,
            revision,
        } => {
            let path = format!("{}/restore", path_of(collection, record));
            let answer = client.post(&path, &wanted(*revision), PATIENCE).await?;
            match context.format {
                Format::Json => output::json(&answer)?,
                Format::Table => output::payload(&format!(
                    "restored record {} of {}\n",
                    text::line(record),
                    text::line(collection)
                ))?,
            }
            Ok(Exit::Done)
        }
    }
}

/// The body of a restore.
pub(super) fn wanted(revision: Option<i64>) -> Value {
    revision.map_or(json!({}), |revision| json!({ "revision": revision }))
}

fn path(collection: &str) -> String {
    format!("/v1/operator/collections/{}/records", segment(collection))
}

fn path_of(collection: &str, record: &str) -> String {
    format!("{}/{}", path(collection), segment(record))
}

async fn list(
    client: &Client,
    collection: &str,
    deleted: bool,
    limit: &Limit,
    context: &Context,
) -> Result<Exit, Failure> {
    let query = [("deleted", deleted.then_some("true"))];
    let path = path(collection);
    let list = client.list(&path, "records", &query, limit.count());
    let list = progress::watch("reading records", list).await?;
    if context.format == Format::Json {
        output::json(&list.into_json("records"))?;
        return Ok(Exit::Done);
    }
    if list.items.is_empty() {
        output::note("no records");
        return Ok(Exit::Done);
    }
    output::payload(&table(&list.items, &context.screen))?;
    if list.has_more() {
        output::note(&format!(
            "there are more than these {}; --limit shows more",
            list.items.len()
        ));
    }
    Ok(Exit::Done)
}

/// The collection's columns are the table's, in the order of the records' fields.
fn table(records: &[Value], screen: &Screen) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for record in records {
        for name in body(record).into_iter().flat_map(serde_json::Map::keys) {
            if !OWN.contains(&name.as_str()) && !columns.contains(&name.as_str()) {
                columns.push(name);
            }
        }
    }
    let titles: Vec<_> = columns.iter().map(|name| name.to_uppercase()).collect();
    let mut headings = vec![Heading::new("ID", Role::Id)];
    headings.extend(titles.iter().map(|title| Heading::new(title, Role::Text)));
    headings.push(Heading::new("UPDATED", Role::Word));
    let mut table = Table::new(headings);
    for record in records {
        let mut row = vec![Cell::new(&words(record, "id"))];
        for name in &columns {
            row.push(Cell::new(&value(record, name)));
        }
        let is_deleted = record.get("deleted_at").is_some_and(|at| !at.is_null())
            || record.get("deleted").and_then(Value::as_bool) == Some(true);
        row.push(if is_deleted {
            Cell::new("removed")
        } else {
            ago(record, "updated_at", screen)
        });
        table.push(row);
    }
    table.show(screen)
}

/// A record's columns: in a `body` of their own, or beside its id.
fn body(record: &Value) -> Option<&serde_json::Map<String, Value>> {
    record
        .get("body")
        .and_then(Value::as_object)
        .or(record.as_object())
}

fn value(record: &Value, name: &str) -> String {
    match body(record).and_then(|body| body.get(name)) {
        Some(value @ (Value::Object(_) | Value::Array(_))) => value.to_string(),
        Some(_) => body(record)
            .map(|body| words(&Value::Object(body.clone()), name))
            .unwrap_or_default(),
        None => String::new(),
    }
}

/// Whether a revision is of something that was removed then.
pub(super) fn state(revision: &Value) -> Cell {
    Cell::new(
        if revision.get("deleted").and_then(Value::as_bool) == Some(true) {
            "removed"
        } else {
            ""
        },
    )
}
