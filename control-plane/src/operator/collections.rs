//! `collections` of the document.

mod columns;
mod fit;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sqlx::PgConnection;

use super::field::{Before, Field};
use super::kind::Kind;
use super::plan::{Planned, Planning};
use super::reader::{Place, Problems, Table, at_most, not_allowed};
use super::removal::{Effect, Use};
use super::{ApplyError, Session, access, objects, with_ids};
use crate::store::access::list;
use crate::store::collections::{self, Collection, Column};
use crate::store::page::Page;
use crate::store::records::writing::change_unique;

/// Most characters of a description.
const MAX_DESCRIPTION: usize = 2_000;

pub(super) struct Collections;

/// What an entry says; what it leaves out stays as it is.
pub(super) struct Said {
    description: Field<String>,
    /// An empty text: none.
    unique: Field<String>,
    columns: Field<Vec<Column>>,
    access: access::Given,
}

impl Kind for Collections {
    const WORD: &'static str = "collections";
    const ONE: &'static str = "collection";
    const ID: &'static str = "name";
    const NAMED_BY: Option<&'static str> = Some("name");
    const KEYS: &'static [&'static str] = &["name", "description", "unique", "columns", "access"];
    type Said = Said;
    type Object = Collection;

    fn parse(
        table: &Table<'_>,
        session: &Session<'_>,
        problems: &mut Problems,
    ) -> (Field<String>, Said) {
        if table.get("name").is_none() {
            problems.add(&table.at.key("name"), "is missing (required)");
        }
        let name = columns::name(table, "collection", problems);
        let description = table
            .text("description", problems)
            .and_then(|(at, text)| at_most(&at, text, MAX_DESCRIPTION, problems));
        let unique = table
            .text("unique", problems)
            .map(|(_, text)| text.to_owned());
        let columns = columns::parse(table, problems);
        let said = Said {
            description: Field::of(table, "description", description),
            unique: Field::of(table, "unique", unique),
            columns: Field::of(table, "columns", columns),
            access: access::parse(table, session, problems),
        };
        (Field::of(table, "name", name), said)
    }

    async fn load(
        db: &mut PgConnection,
        organisation: &str,
        ids: Option<&[String]>,
    ) -> sqlx::Result<BTreeMap<String, Collection>> {
        let stored = collections::load(db, organisation, ids).await?;
        Ok(objects(stored, |collection| &collection.name))
    }

    fn plan(
        at: &Place,
        id: Option<&str>,
        said: Said,
        before: Before<&Collection>,
        cx: &mut Planning<'_>,
    ) -> Option<Collection> {
        let access = access::check(said.access, cx);
        let problems = &mut cx.problems;
        let kept = before.map(|collection| collection.columns.clone());
        let columns = said.columns.or_stored(kept, at, "columns", problems);
        let place = match &said.unique {
            Field::Given(at, _) => at.clone(),
            _ => at.key("unique"),
        };
        let kept = before.map(|collection| collection.unique.clone().unwrap_or_default());
        let unique = Some(said.unique.or_default(kept)).filter(|name| !name.is_empty());
        let columns = columns?;
        if let Some(name) = &unique {
            refuse_unique(&place, name, &columns, problems);
        }
        Some(Collection {
            name: id?.to_owned(),
            description: said
                .description
                .or_default(before.map(|collection| collection.description.clone())),
            unique,
            columns,
            access: access.or_default(before.map(|collection| collection.access.clone())),
            row: before.stored().and_then(|collection| collection.row),
        })
    }

    async fn check(
        planned: &[Planned<Collection>],
        db: &mut PgConnection,
        cx: &mut Planning<'_>,
    ) -> sqlx::Result<()> {
        for object in planned {
            if object.differs_in("columns") || object.differs_in("unique") {
                fit::check(object, db, &mut cx.problems).await?;
            }
        }
        Ok(())
    }

    async fn put(
        planned: &Planned<Collection>,
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> Result<(), ApplyError> {
        let row = collections::put(db, session.organisation, &planned.after).await?;
        let before = planned.before.as_ref();
        if before.is_some_and(|before| before.unique != planned.after.unique) {
            let unique = planned.after.unique.as_deref();
            let mut columns = planned.after.columns.iter();
            let column = columns.find(|column| Some(column.name.as_str()) == unique);
            change_unique(db, row, column).await?;
        }
        if planned.differs_in("access") {
            list::replace(db, row, &planned.after.access).await?;
        }
        Ok(())
    }

    async fn read(
        db: &mut PgConnection,
        organisation: &str,
        page: &Page<'_>,
    ) -> sqlx::Result<Vec<(String, Value)>> {
        let listed = collections::list(db, organisation, page).await?;
        Ok(with_ids(listed, |listed| &listed.collection.name))
    }

    fn export(collection: &Collection) -> Value {
        json!({
            "name": collection.name,
            "description": collection.description,
            // The empty text is how a document says that no column is.
            "unique": collection.unique.as_deref().unwrap_or_default(),
            "columns": collection.columns,
            "access": collection.access,
        })
    }

    async fn uses(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> sqlx::Result<Vec<Use>> {
        let stored = collections::load(db, session.organisation, Some(&[id.to_owned()])).await?;
        let mut uses = Vec::new();
        for collection in stored {
            uses.extend(access::losing(&collection.access));
            let Some(row) = collection.row else { continue };
            let (live, removed) = collections::records(db, row).await?;
            if live + removed > 0 {
                let message = format!(
                    "{live} live and {removed} removed records go for good, with their history"
                );
                uses.push(Use::new("records", id, Effect::Removed, message));
            }
        }
        Ok(uses)
    }

    async fn remove(db: &mut PgConnection, session: &Session<'_>, id: &str) -> sqlx::Result<()> {
        collections::delete(db, session.organisation, id).await
    }
}

/// The unique column is one of the columns, of a type whose values are compared as one.
fn refuse_unique(at: &Place, name: &str, columns: &[Column], problems: &mut Problems) {
    match columns.iter().find(|column| column.name == name) {
        Some(column) if column.kind.may_be_unique() => {}
        Some(column) => problems.add(
            at,
            format!(
                "column {name} is of type {}; a unique column is of type text, number or datetime",
                column.kind.as_str()
            ),
        ),
        None => {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            let what = "names no column of the collection";
            problems.add(at, not_allowed(what, name, &names));
        }
    }
}
