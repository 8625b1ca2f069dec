//! `agents` of the document.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;

use super::Node;
use super::machines::Field;
use super::plan::{Planned, refuse_twice};
use super::reader::{Place, Problems, Table, not_allowed};
use crate::store::agents::{self, AgentConfig, Stored};

/// The plural word of the kind.
pub(super) const KIND: &str = "agents";
/// The group chat's word for the operator.
const RESERVED: &str = "user";
/// Most scripts an agent may hold.
const MAX_SCRIPTS: i64 = 1_000;

/// An agent as the document has it; what it leaves out stays as it is.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) at: Place,
    pub(super) id: Field<String>,
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

pub(super) fn parse(items: Vec<(Place, &Node)>, problems: &mut Problems) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (at, node) in items {
        let keys = ["id", "guild", "machine", "slot", "config"];
        let Some(table) = Table::open(at, node, &keys, problems) else {
            continue;
        };
        let guild = table.id("guild", problems).map(|(_, id)| id);
        let machine = table.id("machine", problems).map(|(_, id)| id);
        let slot = table.integer("slot", (0, 99), problems);
        let config = match table.get("config") {
            Some((at, node)) => patch(at, node, problems),
            None => Patch::default(),
        };
        let (guild, machine, slot) = (
            Field::of(&table, "guild", guild),
            Field::of(&table, "machine", machine),
            Field::of(&table, "slot", slot),
        );
        let id = table.own_id(problems);
        if id.as_deref() == Some(RESERVED) {
            problems.add(
                &table.at.key("id"),
                "user is the operator's name in the group chat; choose another id",
            );
        }
        entries.push(Entry {
            id: Field::of(&table, "id", id),
            at: table.at,
            guild,
            machine,
            slot,
            config,
        });
    }
    refuse_twice(
        entries
            .iter()
            .filter_map(|entry| Some((&entry.at, entry.id.given()?.as_str()))),
        Some("id"),
        problems,
    );
    entries
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

/// What an agent may refer to, stored or in the same document.
pub(super) struct Known<'a> {
    pub(super) guilds: BTreeSet<&'a str>,
    pub(super) machines: BTreeSet<&'a str>,
    /// Agent ids of other organisations.
    pub(super) taken: BTreeSet<String>,
}

pub(super) fn plan(
    entries: Vec<Entry>,
    stored: &BTreeMap<String, Stored>,
    known: &Known<'_>,
    problems: &mut Problems,
) -> Vec<(Place, Planned<Stored>)> {
    let mut planned = Vec::new();
    for entry in entries {
        let at = entry.at;
        refer(&entry.guild, "guild", &known.guilds, problems);
        refer(&entry.machine, "machine", &known.machines, problems);
        // Whatever one is called whose id was refused, it is new; one that names
        // none may be any.
        let id = match &entry.id {
            Field::Given(_, id) => Some(id.clone()),
            Field::Refused => None,
            Field::Absent => continue,
        };
        if let Some(id) = &id
            && known.taken.contains(id)
        {
            problems.add(
                &at.key("id"),
                format!("{id} is an agent of another organisation"),
            );
            continue;
        }
        let before = id.as_ref().and_then(|id| stored.get(id)).cloned();
        let kept = before.as_ref();
        let guild = entry
            .guild
            .or_stored(kept.map(|a| a.guild.clone()), &at, "guild", problems);
        let machine =
            entry
                .machine
                .or_stored(kept.map(|a| a.machine.clone()), &at, "machine", problems);
        let slot = entry
            .slot
            .or_stored(kept.map(|a| i64::from(a.slot)), &at, "slot", problems);
        let config = kept.map(|agent| agent.config.clone()).unwrap_or_default();
        let slot = slot.and_then(|slot| i16::try_from(slot).ok());
        if let (Some(id), Some(guild), Some(machine), Some(slot)) = (id, guild, machine, slot) {
            let after = Stored {
                id: id.clone(),
                guild,
                machine,
                slot,
                config: entry.config.onto(&config),
            };
            planned.push((at, Planned::new(KIND, id, before, after)));
        }
    }
    refuse_shared_slots(&planned, stored, problems);
    planned
}

fn refer(field: &Field<String>, what: &str, known: &BTreeSet<&str>, problems: &mut Problems) {
    if let Field::Given(at, id) = field
        && !known.contains(id.as_str())
        && !problems.is_full()
    {
        let words: Vec<&str> = known.iter().copied().collect();
        let missing = format!("there is no {what} {id} in this organisation");
        problems.add(at, not_allowed(&missing, id, &words));
    }
}

/// Two agents of one machine never share a slot, counting those the document leaves out.
fn refuse_shared_slots(
    planned: &[(Place, Planned<Stored>)],
    stored: &BTreeMap<String, Stored>,
    problems: &mut Problems,
) {
    let in_document: BTreeSet<&str> = planned
        .iter()
        .map(|(_, object)| object.after.id.as_str())
        .collect();
    let mut holders: BTreeMap<(&str, i16), &str> = stored
        .values()
        .filter(|agent| !in_document.contains(agent.id.as_str()))
        .map(|agent| ((agent.machine.as_str(), agent.slot), agent.id.as_str()))
        .collect();
    for (at, object) in planned {
        let agent = &object.after;
        match holders.get(&(agent.machine.as_str(), agent.slot)) {
            Some(holder) if *holder != agent.id => problems.add(
                &at.key("slot"),
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
pub(super) async fn refuse_moves(
    db: &mut PgConnection,
    planned: &[(Place, Planned<Stored>)],
    problems: &mut Problems,
) -> sqlx::Result<()> {
    let moves = |object: &Planned<Stored>| {
        object.before.as_ref().is_some_and(|before| {
            (&before.machine, before.slot) != (&object.after.machine, object.after.slot)
        })
    };
    let moved: Vec<&str> = planned
        .iter()
        .filter(|(_, object)| moves(object))
        .map(|(_, object)| object.after.id.as_str())
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    let open = agents::hold_and_find_open(db, &moved).await?;
    for (at, object) in planned {
        let runs: Vec<String> = open
            .iter()
            .filter(|(agent, _)| *agent == object.after.id)
            .map(|(_, run)| run.to_string())
            .collect();
        if !runs.is_empty() && moves(object) {
            let field = if object.change.fields.iter().any(|field| field == "machine") {
                "machine"
            } else {
                "slot"
            };
            problems.add(
                &at.key(field),
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

pub(super) async fn apply(
    db: &mut PgConnection,
    organisation: &str,
    actor: &str,
    planned: &[(Place, Planned<Stored>)],
) -> sqlx::Result<()> {
    for (_, object) in planned.iter().filter(|(_, object)| object.changes()) {
        agents::put(db, organisation, &object.after).await?;
        object.audit(db, organisation, actor).await?;
    }
    Ok(())
}
