//! `secrets` of the document.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use super::field::{Before, Field};
use super::kind::Kind;
use super::plan::{Planned, Planning};
use super::reader::{Place, Problems, Table, as_id, at_most};
use super::removal::{Effect, Use};
use super::{ApplyError, Session, objects, sent_by_command_line};
use crate::store::page::Page;
use crate::store::secrets::{self, NewSecret, Secret, names, uses};

/// Calls that are shown beside one secret.
const USES: i64 = 20;
/// Most characters of a description.
const MAX_DESCRIPTION: usize = 1_000;

pub(super) struct Secrets;

/// What an entry says; what it leaves out stays as it is.
pub(super) struct Said {
    description: Field<String>,
    value: Field<SecretString>,
    grants: Field<Vec<(Place, String)>>,
}

/// A secret as a change and an audit row show it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Object {
    name: String,
    description: String,
    /// True where a value is written; never the value.
    #[serde(skip_serializing_if = "is_false")]
    value: bool,
    grants: Vec<String>,
    #[serde(skip)]
    row: Option<Uuid>,
    #[serde(skip)]
    new_value: Option<SecretString>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(word: &bool) -> bool {
    !word
}

impl From<Secret> for Object {
    fn from(secret: Secret) -> Self {
        Self {
            name: secret.name,
            description: secret.description,
            value: false,
            grants: secret.grants,
            row: Some(secret.id),
            new_value: None,
        }
    }
}

impl Kind for Secrets {
    const WORD: &'static str = "secrets";
    const ONE: &'static str = "secret";
    const ID: &'static str = "name";
    const NAMED_BY: Option<&'static str> = Some("name");
    const KEYS: &'static [&'static str] = &["name", "description", "value", "value_env", "grants"];
    type Said = Said;
    type Object = Object;

    fn parse(table: &Table<'_>, _: &Session<'_>, problems: &mut Problems) -> (Field<String>, Said) {
        if table.get("name").is_none() {
            problems.add(&table.at.key("name"), "is missing (required)");
        }
        let name = table.text("name", problems).and_then(|(at, text)| {
            // What is no name is not repeated: it may be a value in the wrong place.
            match names::check(text) {
                Ok(()) => Some(text.to_owned()),
                Err(what) => {
                    problems.add(&at, what);
                    None
                }
            }
        });
        let description = table
            .text("description", problems)
            .and_then(|(at, text)| at_most(&at, text, MAX_DESCRIPTION, problems));
        let value =
            table
                .text("value", problems)
                .and_then(|(at, text)| match secrets::check_value(text) {
                    Ok(()) => Some(SecretString::from(text)),
                    Err(what) => {
                        problems.add(&at, what);
                        None
                    }
                });
        sent_by_command_line(table, "value", problems);
        let grants = grants(table, problems);
        let mut value = Field::of(table, "value", value);
        if table.get("value_env").is_some() && matches!(value, Field::Absent) {
            // That it is missing follows from what was refused.
            value = Field::Refused;
        }
        let said = Said {
            description: Field::of(table, "description", description),
            value,
            grants: Field::of(table, "grants", grants),
        };
        (Field::of(table, "name", name), said)
    }

    async fn load(
        db: &mut PgConnection,
        organisation: &str,
        ids: Option<&[String]>,
    ) -> sqlx::Result<BTreeMap<String, Object>> {
        let stored = match ids {
            Some(names) => secrets::named(db, organisation, names).await?,
            None => secrets::list(db, organisation, None, i64::MAX).await?,
        };
        let stored = stored.into_iter().map(Object::from).collect();
        Ok(objects(stored, |secret: &Object| &secret.name))
    }

    fn plan(
        at: &Place,
        id: Option<&str>,
        said: Said,
        before: Before<&Object>,
        cx: &mut Planning<'_>,
    ) -> Option<Object> {
        let grants = match said.grants {
            Field::Given(at, given) => {
                for (at, agent) in &given {
                    cx.refer(at, "agent", agent);
                }
                let agents: BTreeSet<String> = given.into_iter().map(|(_, agent)| agent).collect();
                Field::Given(at, agents.into_iter().collect())
            }
            Field::Absent => Field::Absent,
            Field::Refused => Field::Refused,
        };
        let value = match (said.value, before) {
            (Field::Given(_, value), _) => Some(value),
            (Field::Absent, Before::New) => {
                let at = at.key("value");
                cx.problems
                    .add(&at, "is missing (required for a new object)");
                return None;
            }
            (Field::Refused, Before::New) => return None,
            _ => None,
        };
        Some(Object {
            name: id?.to_owned(),
            description: said
                .description
                .or_default(before.map(|secret| secret.description.clone())),
            value: false,
            grants: grants.or_default(before.map(|secret| secret.grants.clone())),
            row: before.stored().and_then(|secret| secret.row),
            new_value: value,
        })
    }

    async fn unseen(
        db: &mut PgConnection,
        session: &Session<'_>,
        before: Option<&Object>,
        after: &mut Object,
    ) -> sqlx::Result<Vec<&'static str>> {
        if let (Some(row), Some(value)) = (before.and_then(|secret| secret.row), &after.new_value)
            && secrets::has_value(db, session.vault, row, value).await?
        {
            after.new_value = None;
        }
        after.value = after.new_value.is_some();
        Ok(Vec::new())
    }

    async fn put(
        planned: &Planned<Object>,
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> Result<(), ApplyError> {
        let secret = &planned.after;
        let id = match (secret.row, &secret.new_value) {
            (Some(id), value) => {
                if planned.differs_in("description") {
                    secrets::describe(db, id, &secret.description).await?;
                }
                if let Some(value) = value {
                    secrets::set_value(db, session.vault, id, value).await?;
                }
                id
            }
            (None, Some(value)) => {
                let new = NewSecret {
                    name: &secret.name,
                    description: &secret.description,
                    value,
                    stored_by: None,
                };
                secrets::insert(db, session.vault, session.organisation, &new).await?
            }
            (None, None) => return Ok(()),
        };
        if planned.differs_in("grants") {
            let agents = secret.grants.iter().map(String::as_str).collect();
            secrets::set_grants(db, id, &agents).await?;
        }
        Ok(())
    }

    async fn read(
        db: &mut PgConnection,
        organisation: &str,
        page: &Page<'_>,
    ) -> sqlx::Result<Vec<(String, Value)>> {
        let stored = match page.only {
            Some(name) => Vec::from_iter(secrets::find(db, organisation, name).await?),
            None => secrets::list(db, organisation, page.after, page.limit).await?,
        };
        let shown = |secret: Secret| {
            let object = json!({
                "name": secret.name,
                "description": secret.description,
                "grants": secret.grants,
                "stored_by": secret.stored_by,
                "created_at": secret.created_at,
                "updated_at": secret.updated_at,
                "last_used_at": secret.last_used_at,
            });
            (secret.name, object)
        };
        let one = page.only.and(stored.first().map(|secret| secret.id));
        let mut objects: Vec<(String, Value)> = stored.into_iter().map(shown).collect();
        if let (Some(id), Some((_, object))) = (one, objects.first_mut()) {
            object["uses"] = json!(uses::last(db, id, USES).await?);
        }
        Ok(objects)
    }

    fn export(secret: &Object) -> Value {
        json!({
            "name": secret.name,
            "description": secret.description,
            "grants": secret.grants,
        })
    }

    async fn uses(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> sqlx::Result<Vec<Use>> {
        let secret = secrets::find(db, session.organisation, id).await?;
        let grants = secret.map(|secret| secret.grants).unwrap_or_default();
        let used = |agent: String| {
            let message = format!("agent {agent} is granted it, and its programs get it no more");
            Use::new("agents", agent, Effect::Loses, message)
        };
        Ok(grants.into_iter().map(used).collect())
    }

    async fn remove(db: &mut PgConnection, session: &Session<'_>, id: &str) -> sqlx::Result<()> {
        secrets::delete(db, session.organisation, id).await?;
        Ok(())
    }
}

fn grants(table: &Table<'_>, problems: &mut Problems) -> Option<Vec<(Place, String)>> {
    let items = table.list("grants", problems)?;
    let mut agents: Vec<(Place, String)> = Vec::new();
    for (at, node) in items {
        let Some(id) = as_id(&at, node, problems) else {
            continue;
        };
        match agents.iter().find(|(_, agent)| *agent == id) {
            Some((earlier, _)) => {
                problems.add(&at, format!("{id} stands at {} already", earlier.path));
            }
            None => agents.push((at, id)),
        }
    }
    Some(agents)
}
