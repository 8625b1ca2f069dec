//! `bindings` of the document.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sqlx::PgConnection;

use super::field::{Before, Field};
use super::kind::Kind;
use super::plan::{Planned, Planning};
use super::reader::{Place, Problems, Table};
use super::removal::Use;
use super::target::Target;
use super::{ApplyError, Session, objects, switched, with_ids};
use crate::store::bindings::rows::{self, Row, Subject};
use crate::store::page::Page;
use crate::tools::validation::nearest;
use crate::tools::{Family, names};

pub(super) struct Bindings;

/// What an entry says; what was refused is absent.
pub(super) struct Said {
    target: Option<Target>,
    switched: Option<(Place, Subject, String)>,
    enabled: Option<bool>,
}

impl Kind for Bindings {
    const WORD: &'static str = "bindings";
    const ONE: &'static str = "binding";
    const ID: &'static str = "id";
    const NAMED_BY: Option<&'static str> = None;
    const KEYS: &'static [&'static str] = &[
        "tool",
        "connector",
        "agent",
        "guild",
        "organisation",
        "enabled",
    ];
    type Said = Said;
    type Object = Row;

    fn parse(
        table: &Table<'_>,
        session: &Session<'_>,
        problems: &mut Problems,
    ) -> (Field<String>, Said) {
        let switched = switched_by(table, problems);
        let target = Target::read(table, session, problems);
        let enabled = table.boolean("enabled", problems);
        if table.get("enabled").is_none() {
            problems.add(&table.at.key("enabled"), "is missing (required)");
        }
        let id = match (&target, &switched) {
            (Some(target), Some((_, _, name))) => {
                let id = rows::id(target.level.as_str(), &target.owner, name);
                Field::Given(table.at.clone(), id)
            }
            _ => Field::Refused,
        };
        let said = Said {
            target,
            switched,
            enabled,
        };
        (id, said)
    }

    async fn load(
        db: &mut PgConnection,
        organisation: &str,
        ids: Option<&[String]>,
    ) -> sqlx::Result<BTreeMap<String, Row>> {
        let stored = rows::load(db, organisation, ids).await?;
        Ok(objects(stored, |row| &row.id))
    }

    fn plan(
        _: &Place,
        _: Option<&str>,
        said: Said,
        _: Before<&Row>,
        cx: &mut Planning<'_>,
    ) -> Option<Row> {
        if let Some(target) = &said.target {
            target.check(cx);
        }
        if let Some((at, Subject::Connector, name)) = &said.switched {
            cx.refer(at, "connector", name);
        }
        let (target, (_, subject, name)) = (said.target?, said.switched?);
        let level = target.level.as_str();
        Some(Row::new(
            level,
            &target.owner,
            subject,
            &name,
            said.enabled?,
        ))
    }

    async fn put(
        planned: &Planned<Row>,
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> Result<(), ApplyError> {
        Ok(rows::put(db, session.organisation, &planned.after).await?)
    }

    async fn read(
        db: &mut PgConnection,
        organisation: &str,
        page: &Page<'_>,
    ) -> sqlx::Result<Vec<(String, Value)>> {
        let listed = rows::list(db, organisation, page).await?;
        Ok(with_ids(listed, |row| &row.row.id))
    }

    fn export(row: &Row) -> Value {
        let mut object = json!({});
        object[row.subject().as_str()] = row.name().into();
        super::target::write(&mut object, &row.level, &row.owner);
        object["enabled"] = row.enabled.into();
        object
    }

    async fn uses(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> sqlx::Result<Vec<Use>> {
        switched::uses(db, session, id).await
    }

    async fn remove(db: &mut PgConnection, session: &Session<'_>, id: &str) -> sqlx::Result<()> {
        rows::delete(db, session.organisation, &[id.to_owned()]).await
    }
}

/// What an entry switches: a tool, a family or a connector.
fn switched_by(table: &Table<'_>, problems: &mut Problems) -> Option<(Place, Subject, String)> {
    match (table.get("tool"), table.get("connector")) {
        (Some(_), Some(_)) => {
            problems.add(
                &table.at,
                "names a tool and a connector; exactly one is expected",
            );
            None
        }
        (None, None) => {
            problems.add(
                &table.at.key("tool"),
                "is missing (required: tool or connector)",
            );
            None
        }
        (Some(_), None) => {
            let (at, word) = table.text("tool", problems)?;
            is_switched(&at, word, problems).then(|| (at, Subject::Tool, word.to_owned()))
        }
        (None, Some(_)) => {
            let (at, id) = table.id("connector", problems)?;
            Some((at, Subject::Connector, id))
        }
    }
}

/// Whether a word is a tool's or a family's; anything that bindings don't switch is refused.
fn is_switched(at: &Place, word: &str, problems: &mut Problems) -> bool {
    let family = Family::ALL.iter().any(|family| family.as_str() == word);
    let known = names::all().find(|(name, _)| *name == word);
    match (family, known) {
        (true, _) | (_, Some((_, Some(_)))) => return true,
        (_, Some((_, None))) => problems.add(
            at,
            format!("{word} is not switched by bindings; browser and code tools follow an agent's config, and report_issue is always offered"),
        ),
        _ => {
            let families: Vec<&str> = Family::ALL.iter().map(|family| family.as_str()).collect();
            let mut sentence = format!(
                "there is no tool or family of that name; allowed: a tool's name, or a family: {}",
                families.join(", ")
            );
            let bound = names::all().filter(|(_, family)| family.is_some()).map(|(name, _)| name);
            if let Some(near) = nearest(word, bound.chain(families.iter().copied())) {
                sentence.push_str(&format!("; did you mean {near}?"));
            }
            problems.add(at, sentence);
        }
    }
    false
}
