//! `guilds record`: records of a collection, their history, and bringing them back.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::collection;
use crate::api::{Client, PATIENCE, Role as Token, segment};
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Limit, ago, print_one, words};
use crate::screen::Screen;
use crate::table::{Cell, Heading, Role, Table};
use crate::{Context, Format, output, progress, text};

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
        /// The collection's name.
        collection: String,
        /// The removed ones instead.
        #[arg(long)]
        deleted: bool,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show one record.
    Show {
        /// The collection's name.
        collection: String,
        /// The record's id.
        record: String,
    },
    /// List what a record was before.
    History {
        /// The collection's name.
        collection: String,
        /// The record's id.
        record: String,
        #[command(flatten)]
        limit: Limit,
    },
    /// Bring back a removed record, or an earlier state of one.
    Restore {
        /// The collection's name.
        collection: String,
        /// The record's id.
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
    let definition = client.get(&collection::KIND.path_of(collection)).await?;
    output::payload(&table(&definition, &list.items, &context.screen))?;
    if list.has_more() {
        output::note(&format!(
            "there are more than these {}; --limit shows more",
            list.items.len()
        ));
    }
    Ok(Exit::Done)
}

/// The table's columns are the collection's, in the order of its definition.
fn table(definition: &Value, records: &[Value], screen: &Screen) -> String {
    let defined = definition.get("columns").and_then(Value::as_array);
    let columns: Vec<&str> = defined
        .into_iter()
        .flatten()
        .filter_map(|column| column.get("name")?.as_str())
        .collect();
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
        let is_deleted = record.get("deleted_at").is_some_and(|at| !at.is_null());
        row.push(if is_deleted {
            Cell::new("removed")
        } else {
            ago(record, "updated_at", screen)
        });
        table.push(row);
    }
    table.show(screen)
}

/// What a record has in a column.
fn value(record: &Value, name: &str) -> String {
    let body = record.get("body").unwrap_or(&Value::Null);
    match body.get(name) {
        Some(value @ (Value::Object(_) | Value::Array(_))) => value.to_string(),
        _ => words(body, name),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collections_columns_are_the_tables() {
        let definition =
            json!({"columns": [{"name": "stage"}, {"name": "email"}, {"name": "tags"}]});
        let records = [
            json!({"id": 1, "updated_at": "2026-03-01T11:00:00Z",
                "body": {"email": "ann@example.com", "stage": "lead", "tags": ["a"]}}),
            json!({"id": 12, "updated_at": "2026-03-01T11:00:00Z", "deleted_at": "2026-03-01T11:30:00Z",
                "body": {"email": "bob@example.com"}}),
        ];
        assert_eq!(
            table(&definition, &records, &Screen::of(80)),
            "\
ID  STAGE  EMAIL            TAGS   UPDATED
1   lead   ann@example.com  [\"a\"]  1h ago
12         bob@example.com         removed
"
        );
    }
}
