//! `agents` of the document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sqlx::PgConnection;

use super::field::{Before, Field};
use super::kind::Kind;
use super::node::Node;
use super::plan::{Planned, Planning};
use super::reader::{Place, Problems, Table};
use super::removal::{Effect, Use};
use super::{ApplyError, Session, attached, objects, with_ids};
use crate::store::agents::AgentConfig;
use crate::store::agents::roster::{self, Stored};
use crate::store::page::Page;
use crate::store::secrets;

/// The group chat's word for the operator.
const RESERVED: &str = "user";
/// Most scripts an agent may hold.
const MAX_SCRIPTS: i64 = 1_000;

pub(super) struct Agents;

/// What an entry says; what it leaves out stays as it is.
pub(super) struct Said {
    guild: Field<String>,
    machine: Field<String>,
    slot: Field<i64>,
    config: Patch,
}

/// The keys of `config` that are given.
#[derive(Debug, Default)]
struct Patch {
    browser: Option<bool>,
    coding: Option<bool>,
    scripting: Option<bool>,
    memory: Option<bool>,
    max_scripts: Option<i64>,
    max_tool_calls: Option<i64>,
}

impl Kind for Agents {
    const WORD: &'static str = "agents";
    const ONE: &'static str = "agent";
    const ID: &'static str = "id";
    const NAMED_BY: Option<&'static str> = Some("id");
    const KEYS: &'static [&'static str] = &["id", "guild", "machine", "slot", "config"];
    type Said = Said;
    type Object = Stored;

    fn parse(table: &Table<'_>, _: &Session<'_>, problems: &mut Problems) -> (Field<String>, Said) {
        let guild = table.id("guild", problems).map(|(_, id)| id);
        let machine = table.id("machine", problems).map(|(_, id)| id);
        let slot = table.integer("slot", (0, 99), problems);
        let config = match table.get("config") {
            Some((at, node)) => patch(at, node, problems),
            None => Patch::default(),
        };
        let said = Said {
            guild: Field::of(table, "guild", guild),
            machine: Field::of(table, "machine", machine),
            slot: Field::of(table, "slot", slot),
            config,
        };
        let id = table.own_id(problems);
        if let Field::Given(at, id) = &id
            && id == RESERVED
        {
            problems.add(
                at,
                "user is the operator's name in the group chat; choose another id",
            );
        }
        (id, said)
    }

    async fn names(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Vec<String>> {
        roster::names(db, organisation).await
    }

    async fn taken(
        db: &mut PgConnection,
        organisation: &str,
        ids: &[String],
    ) -> sqlx::Result<Vec<String>> {
        roster::taken(db, organisation, ids).await
    }

    async fn load(
        db: &mut PgConnection,
        organisation: &str,
        ids: Option<&[String]>,
    ) -> sqlx::Result<BTreeMap<String, Stored>> {
        let stored = roster::load(db, organisation, ids).await?;
        Ok(objects(stored, |agent| &agent.id))
    }

    fn plan(
        at: &Place,
        id: Option<&str>,
        said: Said,
        before: Before<&Stored>,
        cx: &mut Planning<'_>,
    ) -> Option<Stored> {
        for (field, one) in [(&said.guild, "guild"), (&said.machine, "machine")] {
            if let Field::Given(at, id) = field {
                cx.refer(at, one, id);
            }
        }
        let problems = &mut cx.problems;
        let kept = before.map(|agent| agent.guild.clone());
        let guild = said.guild.or_stored(kept, at, "guild", problems);
        let kept = before.map(|agent| agent.machine.clone());
        let machine = said.machine.or_stored(kept, at, "machine", problems);
        let kept = before.map(|agent| i64::from(agent.slot));
        let slot = said.slot.or_stored(kept, at, "slot", problems);
        let config = before.stored().map(|agent| &agent.config);
        Some(Stored {
            id: id?.to_owned(),
            guild: guild?,
            machine: machine?,
            slot: i16::try_from(slot?).ok()?,
            config: said.config.onto(config.unwrap_or(&AgentConfig::default())),
        })
    }

    async fn check(
        planned: &[Planned<Stored>],
        db: &mut PgConnection,
        cx: &mut Planning<'_>,
    ) -> sqlx::Result<()> {
        let seats = roster::seats(db, cx.session.organisation).await?;
        refuse_shared_slots(planned, &seats, &mut cx.problems);
        refuse_moves(db, planned, &mut cx.problems).await
    }

    async fn put(
        planned: &Planned<Stored>,
        db: &mut PgConnection,
        session: &Session<'_>,
    ) -> Result<(), ApplyError> {
        let written = roster::put(db, session.organisation, &planned.after).await;
        written.map_err(|error| ApplyError::taken_meanwhile(error, &planned.at))
    }

    async fn read(
        db: &mut PgConnection,
        organisation: &str,
        page: &Page<'_>,
    ) -> sqlx::Result<Vec<(String, Value)>> {
        let listed = roster::list(db, organisation, page).await?;
        Ok(with_ids(listed, |agent| &agent.id))
    }

    fn export(agent: &Stored) -> Value {
        json!(agent)
    }

    async fn uses(
        db: &mut PgConnection,
        session: &Session<'_>,
        id: &str,
    ) -> sqlx::Result<Vec<Use>> {
        let open = roster::hold_and_find_open(db, &[id]).await?;
        let blocking = |(_, run): (String, uuid::Uuid)| {
            let message = format!("run {run} is open; end it first");
            Use::new("runs", run.to_string(), Effect::Blocks, message)
        };
        let mut uses: Vec<Use> = open.into_iter().map(blocking).collect();
        uses.extend(attached::uses(db, session, "agent", id).await?);
        for secret in secrets::granted(db, id).await? {
            let message = format!("its grant to agent {id} goes");
            uses.push(Use::new("secrets", secret, Effect::Loses, message));
        }
        let belongings = roster::belongings(db, session.organisation, id).await?;
        let counted = [
            (
                "notes",
                format!("agent/{id}/"),
                belongings.notes,
                "note of its own",
                "notes of its own, task.md and the memory among them,",
            ),
            (
                "scripts",
                format!("{id}/"),
                belongings.scripts,
                "script of its own",
                "scripts of its own",
            ),
            (
                "schedules",
                id.to_owned(),
                belongings.schedules,
                "schedule of its own",
                "schedules of its own",
            ),
            (
                "secret-requests",
                id.to_owned(),
                belongings.requests,
                "request for a secret",
                "requests for secrets",
            ),
        ];
        for (kind, what, count, one, several) in counted {
            let message = match count {
                0 => continue,
                1 => format!("1 {one} goes for good"),
                count => format!("{count} {several} go for good"),
            };
            uses.push(Use::new(kind, what, Effect::Removed, message));
        }
        Ok(uses)
    }

    async fn remove(db: &mut PgConnection, session: &Session<'_>, id: &str) -> sqlx::Result<()> {
        attached::remove(db, session, "agent", id).await?;
        roster::delete(db, session.organisation, id).await
    }
}

fn patch(at: Place, node: &Node, problems: &mut Problems) -> Patch {
    let keys = [
        "browser",
        "coding",
        "scripting",
        "memory",
        "max_scripts",
        "max_tool_calls",
    ];
    let Some(table) = Table::open(at, node, &keys, problems) else {
        return Patch::default();
    };
    Patch {
        browser: table.boolean("browser", problems),
        coding: table.boolean("coding", problems),
        scripting: table.boolean("scripting", problems),
        memory: table.boolean("memory", problems),
        max_scripts: table.integer("max_scripts", (0, MAX_SCRIPTS), problems),
        max_tool_calls: table.integer("max_tool_calls", (1, 1_000), problems),
    }
}

impl Patch {
    fn onto(&self, config: &AgentConfig) -> AgentConfig {
        let number = |given: Option<i64>, kept: u32| {
            given
                .and_then(|number| u32::try_from(number).ok())
                .unwrap_or(kept)
        };
        AgentConfig {
            browser: self.browser.unwrap_or(config.browser),
            coding: self.coding.unwrap_or(config.coding),
            scripting: self.scripting.unwrap_or(config.scripting),
            memory: self.memory.unwrap_or(config.memory),
            max_scripts: number(self.max_scripts, config.max_scripts),
            max_tool_calls: number(self.max_tool_calls, config.max_tool_calls),
        }
    }
}

/// Two agents of one machine never share a slot, counting those the document leaves out.
fn refuse_shared_slots(
    planned: &[Planned<Stored>],
    seats: &[(String, String, String, i16)],
    problems: &mut Problems,
) {
    let in_document: BTreeSet<&str> = planned
        .iter()
        .map(|object| object.after.id.as_str())
        .collect();
    let mut holders: BTreeMap<(&str, i16), &str> = seats
        .iter()
        .filter(|(id, ..)| !in_document.contains(id.as_str()))
        .map(|(id, _, machine, slot)| ((machine.as_str(), *slot), id.as_str()))
        .collect();
    for object in planned {
        let agent = &object.after;
        match holders.get(&(agent.machine.as_str(), agent.slot)) {
            Some(holder) if *holder != agent.id => problems.add(
                &object.at.key("slot"),
                format!(
                    "slot {} of machine {} is agent {holder}'s; a slot holds one agent",
                    agent.slot, agent.machine
                ),
            ),
            _ => {
                holders.insert((&agent.machine, agent.slot), &agent.id);
            }
        }
    }
}

/// Most runs that one problem names.
const SHOWN_RUNS: usize = 5;

/// An agent with an open run stays where it is: its calls are there.
///
/// # Errors
/// When the database does not answer.
async fn refuse_moves(
    db: &mut PgConnection,
    planned: &[Planned<Stored>],
    problems: &mut Problems,
) -> sqlx::Result<()> {
    let moves = |object: &Planned<Stored>| {
        object.before.as_ref().is_some_and(|before| {
            (&before.machine, before.slot) != (&object.after.machine, object.after.slot)
        })
    };
    let moved: Vec<&str> = planned
        .iter()
        .filter(|object| moves(object))
        .map(|object| object.after.id.as_str())
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    let open = roster::hold_and_find_open(db, &moved).await?;
    for object in planned {
        let runs: Vec<String> = open
            .iter()
            .filter(|(agent, _)| *agent == object.after.id)
            .map(|(_, run)| run.to_string())
            .collect();
        if !runs.is_empty() && moves(object) {
            let field = if object.differs_in("machine") {
                "machine"
            } else {
                "slot"
            };
            problems.add(
                &object.at.key(field),
                format!(
                    "agent {} has {} open; end {} before it moves: {}{}",
                    object.after.id,
                    if runs.len() == 1 { "a run" } else { "runs" },
                    if runs.len() == 1 { "it" } else { "them" },
                    runs[..runs.len().min(SHOWN_RUNS)].join(", "),
                    if runs.len() > SHOWN_RUNS {
                        format!(" and {} more", runs.len() - SHOWN_RUNS)
                    } else {
                        String::new()
                    }
                ),
            );
        }
    }
    Ok(())
}
