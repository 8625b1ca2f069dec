//! `logins` of the document.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use super::connectors::refuse_tool;
use super::field::{Before, Field};
use super::kind::Kind;
use super::node::{self, Node};
use super::plan::{Planned, Planning};
use super::reader::{Place, Problems, Table};
use super::removal::{Effect, Use};
use super::target::Target;
use super::{Action, ApplyError, Session, objects, sent_by_command_line};
use crate::store::agents::roster;
use crate::store::bindings::{Level, rows};
use crate::store::events;
use crate::store::logins::{self, LoginPlace, LoginState};
use crate::store::page::Page;

pub(super) struct Logins;

/// What an entry says; what it leaves out stays as it is.
pub(super) struct Said {
    connector: Option<(Place, String)>,
    target: Option<Target>,
    platform: Field<bool>,
    status: Field<String>,
    key: Option<SecretString>,
    tools: BTreeMap<String, bool>,
}

/// A login as a change and an audit row show it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Object {
    pub(super) id: String,
    pub(super) connector: String,
    pub(super) level: String,
    pub(super) owner: String,
    platform: bool,
    status: String,
    /// Whether one is stored, never what it is.
    key: bool,
    tools: BTreeMap<String, bool>,
    #[serde(skip)]
    row: Option<Uuid>,
    #[serde(skip)]
    new_key: Option<SecretString>,
    #[serde(skip)]
    updated_at: String,
}

impl Object {
    fn place<'a>(&'a self, organisation: &'a str) -> Option<LoginPlace<'a>> {
        Some(LoginPlace {
            organisation,
            connector: &self.connector,
            level: Level::parse(&self.level)?,
            owner: &self.owner,
        })
    }
}

impl From<logins::Login> for Object {
    fn from(login: logins::Login) -> Self {
        let level = login.level.as_str().to_owned();
        Self {
            id: rows::id(&level, &login.owner, &login.connector),
            connector: login.connector,
            level,
            owner: login.owner,
            platform: login.platform,
            status: login.status,
            key: login.has_key,
            // The store writes nothing else there.
            tools: serde_json::from_str(&login.tools).unwrap_or_default(),
            row: Some(login.id),
            new_key: None,
            updated_at: login.updated_at,
        }
    }
}

/// Every login of an organisation, by id.
///
/// # Errors
/// When the database does not answer.
pub(super) async fn of_organisation(
    db: &mut PgConnection,
    organisation: &str,
) -> sqlx::Result<Vec<Object>> {
    let stored = logins::list(db, organisation, None, i64::MAX).await?;
    let mut stored: Vec<Object> = stored.into_iter().map(Object::from).collect();
    stored.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(stored)
}

impl Kind for Logins {
    const WORD: &'static str = "logins";
    const ONE: &'static str = "login";
    const ID: &'static str = "id";
    const NAMED_BY: Option<&'static str> = None;
    const KEYS: &'static [&'static str] = &[
        "connector",
        "agent",
        "guild",
        "organisation",
        "platform",
        "status",
        "key",
        "key_env",
        "tools",
    ];
    type Said = Said;
    type Object = Object;

    fn parse(
        table: &Table<'_>,
        session: &Session<'_>,
        problems: &mut Problems,
    ) -> (Field<String>, Said) {
        if table.get("connector").is_none() {
            problems.add(&table.at.key("connector"), "is missing (required)");
        }
        let connector = table.id("connector", problems);
        let target = Target::read(table, session, problems);
        let platform = table.boolean("platform", problems);
        let status = table.word(
            "status",
            &["pending", "connected", "disconnected"],
            problems,
        );
        let key =
            table
                .text("key", problems)
                .and_then(|(at, text)| match logins::check_key(text) {
                    Ok(()) => Some(SecretString::from(text)),
                    Err(what) => {
                        problems.add(&at, what);
                        None
                    }
                });
        sent_by_command_line(table, "key", problems);
        let tools = table
            .get("tools")
            .and_then(|(at, node)| tools(at, node, problems));
        let id = match (&connector, &target) {
            (Some((_, connector)), Some(target)) => {
                let id = rows::id(target.level.as_str(), &target.owner, connector);
                Field::Given(table.at.clone(), id)
            }
            _ => Field::Refused,
        };
        let said = Said {
            connector,
            target,
            platform: Field::of(table, "platform", platform),
            status: Field::of(table, "status", status.map(str::to_owned)),
            key,
            tools: tools.unwrap_or_default(),
        };
        (id, said)
    }

    async fn load(
        db: &mut PgConnection,
        organisation: &str,
        ids: Option<&[String]>,
    ) -> sqlx::Result<BTreeMap<String, Object>> {
        let mut stored = of_organisation(db, organisation).await?;
        if let Some(ids) = ids {
            stored.retain(|login| ids.contains(&login.id));
        }
        Ok(objects(stored, |login| &login.id))
    }

    fn plan(
        _: &Place,
        id: Option<&str>,
        said: Said,
        before: Before<&Object>,
        cx: &mut Planning<'_>,
    ) -> Option<Object> {
        if let Some((at, connector)) = &said.connector {
            cx.refer(at, "connector", connector);
        }
        if let Some(target) = &said.target {
            target.check(cx);
        }
        let (_, connector) = said.connector?;
        let target = said.target?;
        let stored = before.stored();
        // A new login with a key is ready to be used; one without waits for it.
        let usual = if said.key.is_some() {
            "connected"
        } else {
            "pending"
        };
        let status = match (said.status, stored) {
            (Field::Given(_, status), _) => status,
            (_, Some(login)) => login.status.clone(),
            _ => usual.to_owned(),
        };
        let mut tools = stored.map(|login| login.tools.clone()).unwrap_or_default();
        tools.extend(said.tools);
        Some(Object {
            id: id?.to_owned(),
            connector,
            level: target.level.as_str().to_owned(),
            owner: target.owner,
            platform: said.platform.or_default(before.map(|login| login.platform)),
            status,
            key: said.key.is_some() || stored.is_some_and(|login| login.key),
            tools,
            row: stored.and_then(|login| login.row),
            new_key: said.key,
            updated_at: String::new(),
        })
    }

    async fn unseen(
        db: &mut PgConnection,
        session: &Session<'_>,
        before: Option<&Object>,
        after: &mut Object,
    ) -> sqlx::Result<Vec<&'static str>> {
        let (Some(row), Some(key)) = (before.and_then(|login| login.row), &after.new_key) else {
            return Ok(Vec::new());
        };
        if logins::has_key(db, session.vault, row, key).await? {
            after.new_key = None;
            return Ok(Vec::new());
        }
        Ok(vec!["key"])
    }

    async fn put(
        planned: &Planned<Object>,
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> Result<(), ApplyError> {
        let login = &planned.after;
        let tools = json!(login.tools).to_string();
        let state = LoginState {
            platform: login.platform,
            status: &login.status,
            tools: &tools,
        };
        let id = match (login.row, login.place(session.organisation)) {
            (Some(id), _) => {
                logins::update(db, id, state).await?;
                id
            }
            (None, Some(place)) => logins::insert(db, place, state).await?,
            (None, None) => return Ok(()),
        };
        if let Some(key) = &login.new_key {
            logins::set_key(db, session.vault, id, key).await?;
        }
        Ok(())
    }

    async fn announce(
        planned: &[Planned<Object>],
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> sqlx::Result<()> {
        for object in planned {
            let new = object.change.action == Action::Create;
            if new || object.differs_in("status") {
                let login = &object.after;
                let place = (login.level.as_str(), login.owner.as_str());
                events::login_changed(
                    db,
                    session.organisation,
                    &login.connector,
                    place,
                    &login.status,
                )
                .await?;
            }
        }
        Ok(())
    }

    async fn read(
        db: &mut PgConnection,
        organisation: &str,
        page: &Page<'_>,
    ) -> sqlx::Result<Vec<(String, Value)>> {
        let stored = of_organisation(db, organisation).await?;
        let wanted = |login: &Object| {
            page.after.is_none_or(|after| login.id.as_str() > after)
                && page.only.is_none_or(|only| login.id == only)
        };
        let shown = |login: Object| {
            let mut object = json!(login);
            object["updated_at"] = login.updated_at.into();
            (login.id, object)
        };
        let most = usize::try_from(page.limit).unwrap_or(usize::MAX);
        Ok(stored
            .into_iter()
            .filter(wanted)
            .take(most)
            .map(shown)
            .collect())
    }

    fn export(login: &Object) -> Value {
        let mut object = json!({ "connector": login.connector });
        super::target::write(&mut object, &login.level, &login.owner);
        object["platform"] = login.platform.into();
        object["status"] = login.status.as_str().into();
        if !login.tools.is_empty() {
            object["tools"] = json!(login.tools);
        }
        object
    }

    async fn uses(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> sqlx::Result<Vec<Use>> {
        let all = of_organisation(db, session.organisation).await?;
        let Some(login) = all.iter().find(|login| login.id == id) else {
            return Ok(Vec::new());
        };
        let mut uses = Vec::new();
        for (agent, guild, ..) in roster::seats(db, session.organisation).await? {
            // Nearest first: the agent's, else its guild's, else the organisation's.
            let places = [
                ("agent", agent.as_str()),
                ("guild", guild.as_str()),
                ("organisation", session.organisation),
            ];
            let mut reached = places.into_iter().filter_map(|(level, owner)| {
                all.iter().find(|other| {
                    other.connector == login.connector
                        && (other.level.as_str(), other.owner.as_str()) == (level, owner)
                })
            });
            if reached.next().is_none_or(|first| first.id != login.id) {
                continue;
            }
            let then = reached.next().map_or_else(
                || format!("has no login of {} without it", login.connector),
                |next| format!("uses the login of {} {} without it", next.level, next.owner),
            );
            let message = format!("agent {agent} uses it, and {then}");
            uses.push(Use::new("agents", agent.as_str(), Effect::Loses, message));
        }
        Ok(uses)
    }

    async fn remove(db: &mut PgConnection, session: &Session<'_>, id: &str) -> sqlx::Result<()> {
        let stored = of_organisation(db, session.organisation).await?;
        let login = stored.iter().find(|login| login.id == id);
        if let Some(place) = login.and_then(|login| login.place(session.organisation)) {
            logins::delete(db, place).await?;
        }
        Ok(())
    }
}

fn tools(at: Place, node: &Node, problems: &mut Problems) -> Option<BTreeMap<String, bool>> {
    let table = Table::open_free(at, node, problems)?;
    let mut tools = BTreeMap::new();
    for (at, tool, node) in table.entries() {
        if let Some(what) = refuse_tool(tool) {
            problems.add(&at, what);
        }
        match &node.value {
            node::Value::Boolean(on) => {
                tools.insert(tool.to_owned(), *on);
            }
            value => problems.add(
                &at,
                format!("is {}; true or false is expected", value.kind()),
            ),
        }
    }
    Some(tools)
}
