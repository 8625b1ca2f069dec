//! `notes` of the document: those that operators write.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sqlx::PgConnection;

use super::field::{Before, Field};
use super::kind::Kind;
use super::plan::{Planned, Planning};
use super::reader::{Place, Problems, Table};
use super::removal::{Effect, Use};
use super::{ApplyError, Session, access, objects, with_ids};
use crate::store::access::list::Row;
use crate::store::memory;
use crate::store::notes::operators::{self, Note};
use crate::store::notes::{self, Level, history};
use crate::store::page::Page;
use crate::tools::validation::shown;

/// Most characters of a note.
const MAX_CONTENT: usize = 200_000;
/// The key of the note that always exists beside the Memory.
const TASK: &str = "task.md";

pub(super) struct Notes;

/// What an entry says; what it leaves out stays as it is.
pub(super) struct Said {
    place: Option<(Place, notes::Place)>,
    content: Field<String>,
    access: access::Given,
}

impl Kind for Notes {
    const WORD: &'static str = "notes";
    const ONE: &'static str = "note";
    const ID: &'static str = "path";
    const NAMED_BY: Option<&'static str> = Some("path");
    const KEYS: &'static [&'static str] = &["path", "content", "access"];
    type Said = Said;
    type Object = Note;

    fn parse(
        table: &Table<'_>,
        session: &Session<'_>,
        problems: &mut Problems,
    ) -> (Field<String>, Said) {
        if table.get("path").is_none() {
            problems.add(&table.at.key("path"), "is missing (required)");
        }
        let place = table.text("path", problems).and_then(|(at, text)| {
            match place(session.organisation, text) {
                Ok(place) => Some((at, place)),
                Err(what) => {
                    problems.add(&at, what);
                    None
                }
            }
        });
        let most = match &place {
            Some((_, place)) if place.key == memory::KEY => memory::MAX_CHARACTERS,
            _ => MAX_CONTENT,
        };
        let content = table
            .text("content", problems)
            .and_then(|(at, text)| super::reader::at_most(&at, text, most, problems));
        let path = place.as_ref().map(|(_, place)| place.to_string());
        let said = Said {
            place,
            content: Field::of(table, "content", content),
            access: access::parse(table, session, problems),
        };
        (Field::of(table, "path", path), said)
    }

    async fn load(
        db: &mut PgConnection,
        organisation: &str,
        ids: Option<&[String]>,
    ) -> sqlx::Result<BTreeMap<String, Note>> {
        let stored = operators::load(db, organisation, ids).await?;
        Ok(objects(stored, |note| &note.path))
    }

    fn plan(
        at: &Place,
        id: Option<&str>,
        said: Said,
        before: Before<&Note>,
        cx: &mut Planning<'_>,
    ) -> Option<Note> {
        if let Some((at, place)) = &said.place
            && place.level != Level::Org
        {
            cx.refer(at, place.level.as_str(), &place.owner);
        }
        let list_at = match &said.access {
            Field::Given(at, _) => at.clone(),
            _ => at.key("access"),
        };
        let access = access::check(said.access, cx);
        if let (Some((_, place)), Some(rows)) = (&said.place, access.given()) {
            refuse_access(&list_at, place, rows, &mut cx.problems);
        }
        let kept = before.map(|note| note.content.clone());
        let content = said
            .content
            .or_stored(kept, at, "content", &mut cx.problems);
        Some(Note {
            path: id?.to_owned(),
            content: content?,
            access: access.or_default(before.map(|note| note.access.clone())),
            by_operator: before.stored().is_some_and(|note| note.by_operator),
        })
    }

    async fn put(
        planned: &Planned<Note>,
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> Result<(), ApplyError> {
        let note = &planned.after;
        let Some(place) = history::place(session.organisation, &note.path) else {
            return Ok(());
        };
        if planned.differs_in("content") {
            operators::write(
                db,
                session.organisation,
                &place,
                &note.content,
                session.actor,
            )
            .await?;
        }
        if planned.differs_in("access") {
            operators::share(db, session.organisation, &place, &note.access).await?;
        }
        Ok(())
    }

    async fn settle(
        planned: &[Planned<Note>],
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> sqlx::Result<()> {
        let new: Vec<&str> = planned
            .iter()
            .filter(|object| !object.after.by_operator)
            .map(|object| object.after.path.as_str())
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        operators::adopt(db, session.organisation, &new).await
    }

    async fn read(
        db: &mut PgConnection,
        organisation: &str,
        page: &Page<'_>,
    ) -> sqlx::Result<Vec<(String, Value)>> {
        let listed = operators::list(db, organisation, page).await?;
        Ok(with_ids(listed, |note| &note.path))
    }

    fn export(note: &Note) -> Value {
        json!({ "path": note.path, "content": note.content, "access": note.access })
    }

    async fn uses(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> sqlx::Result<Vec<Use>> {
        let stored = operators::load(db, session.organisation, Some(&[id.to_owned()])).await?;
        let mut uses = Vec::new();
        let place = history::place(session.organisation, id);
        if let Some(place) = place.filter(|place| place.level == Level::Agent) {
            let agent = place.owner;
            uses.push(if place.key == TASK || place.key == memory::KEY {
                let message = format!("{} exists as long as agent {agent} does", place.key);
                Use::new("agents", agent, Effect::Blocks, message)
            } else {
                let message = format!("agent {agent} loses a note of its own; its history stays");
                Use::new("agents", agent, Effect::Loses, message)
            });
        }
        for note in &stored {
            uses.extend(access::losing(&note.access));
        }
        Ok(uses)
    }

    async fn remove(db: &mut PgConnection, session: &Session<'_>, id: &str) -> sqlx::Result<()> {
        match history::place(session.organisation, id) {
            Some(place) => operators::delete(db, session.organisation, &place, session.actor).await,
            None => Ok(()),
        }
    }
}

/// The place that a path names; else what is wrong with it.
fn place(organisation: &str, path: &str) -> Result<notes::Place, String> {
    let Some(place) = history::place(organisation, path) else {
        return Err(format!(
            "{} is no path of a note; paths are agent/<agent>/<key>, guild/<guild>/<key> and org/<key>, and notes have no folders",
            shown(path)
        ));
    };
    if !notes::is_key(&place.key) {
        return Err(format!(
            "{} is no key of a note; a key ends in .md, opens with a letter or digit, and has letters, digits, spaces, dots, underscores and hyphens, at most 122 characters",
            shown(&place.key)
        ));
    }
    if place.level != Level::Agent && (place.key == TASK || place.key == memory::KEY) {
        return Err(format!(
            "{} exists at level agent only; choose another key",
            place.key
        ));
    }
    Ok(place)
}

/// A Memory is its agent's alone, and a note of its own is always an agent's to write.
fn refuse_access(at: &Place, place: &notes::Place, rows: &[Row], problems: &mut Problems) {
    if place.level != Level::Agent {
        return;
    }
    if place.key == memory::KEY && !rows.is_empty() {
        problems.add(at, "stands on a memory, which is its agent's alone");
    } else if rows
        .iter()
        .any(|row| row.level == "agent" && row.owner == place.owner)
    {
        problems.add(
            at,
            format!(
                "names agent {}, whose own note it is and always is to write; leave it out",
                place.owner
            ),
        );
    }
}
