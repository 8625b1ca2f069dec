//! `bindings` of the document.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sqlx::PgConnection;

use super::Node;
use super::plan::{Planned, refuse_twice};
use super::reader::{Place, Problems, Table, not_allowed};
use crate::store::bindings::{self, Binding, Level};
use crate::tools::{Family, names};

/// The plural word of the kind.
pub(super) const KIND: &str = "bindings";

/// A binding as the document has it.
#[derive(Debug)]
pub(super) struct Entry {
    at: Place,
    level: Level,
    owner: String,
    /// What was refused is absent here; the owner is looked up all the same.
    said: Option<(String, bool)>,
}

/// A binding as a change and an audit row show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    id: String,
    enabled: bool,
    #[serde(skip)]
    owner: String,
    #[serde(skip)]
    binding: Binding,
}

fn id(level: Level, owner: &str, tool: &str) -> String {
    format!("{}:{owner}:{tool}", level.as_str())
}

pub(super) fn parse(
    items: Vec<(Place, &Node)>,
    organisation: &str,
    problems: &mut Problems,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (at, node) in items {
        let keys = [
            "tool",
            "connector",
            "agent",
            "guild",
            "organisation",
            "enabled",
        ];
        let Some(table) = Table::open(at, node, &keys, problems) else {
            continue;
        };
        let tool = tool(&table, problems);
        let target = target(&table, organisation, problems);
        let enabled = table.boolean("enabled", problems);
        if table.get("enabled").is_none() {
            problems.add(&table.at.key("enabled"), "is missing (required)");
        }
        if let Some((level, owner)) = target {
            entries.push(Entry {
                at: table.at,
                level,
                owner,
                said: tool.zip(enabled),
            });
        }
    }
    let ids: Vec<(&Place, String)> = entries
        .iter()
        .filter_map(|entry| {
            let (tool, _) = entry.said.as_ref()?;
            Some((&entry.at, id(entry.level, &entry.owner, tool)))
        })
        .collect();
    refuse_twice(
        ids.iter().map(|(at, id)| (*at, id.as_str())),
        None,
        problems,
    );
    entries
}

/// The tool or family; anything that bindings don't switch is refused.
fn tool(table: &Table<'_>, problems: &mut Problems) -> Option<String> {
    if let Some((at, _)) = table.get("connector") {
        problems.add(&at, "bindings of connectors are not part of this version; a binding names a tool or a family");
        return None;
    }
    if table.get("tool").is_none() {
        problems.add(&table.at.key("tool"), "is missing (required)");
        return None;
    }
    let (at, word) = table.text("tool", problems)?;
    let family = Family::ALL.iter().any(|family| family.as_str() == word);
    let known = names::all().find(|(name, _)| *name == word);
    match (family, known) {
        (true, _) | (_, Some((_, Some(_)))) => return Some(word.to_owned()),
        (_, Some((_, None))) => problems.add(
            &at,
            format!("{word} is not switched by bindings; browser and code tools follow an agent's config, and report_issue is always offered"),
        ),
        _ => {
            let families: Vec<&str> = Family::ALL.iter().map(|family| family.as_str()).collect();
            let mut sentence = format!(
                "there is no tool or family of that name; allowed: a tool's name, or a family: {}",
                families.join(", ")
            );
            let bound = names::all().filter(|(_, family)| family.is_some()).map(|(name, _)| name);
            if let Some(near) =
                crate::tools::validation::nearest(word, bound.chain(families.iter().copied()))
            {
                sentence.push_str(&format!("; did you mean {near}?"));
            }
            problems.add(&at, sentence);
        }
    }
    None
}

/// Exactly one of agent, guild and organisation.
fn target(
    table: &Table<'_>,
    organisation: &str,
    problems: &mut Problems,
) -> Option<(Level, String)> {
    let given: Vec<&str> = ["agent", "guild", "organisation"]
        .into_iter()
        .filter(|key| table.get(key).is_some())
        .collect();
    let [key] = given.as_slice() else {
        let found = if given.is_empty() {
            "none".to_owned()
        } else {
            given.join(" and ")
        };
        problems.add(
            &table.at,
            format!(
                "names {found}; exactly one of agent, guild and organisation = true is expected"
            ),
        );
        return None;
    };
    match *key {
        "organisation" => {
            let word = table.boolean("organisation", problems)?;
            if !word {
                problems.add(
                    &table.at.key("organisation"),
                    "is false; leave it out, or say true",
                );
                return None;
            }
            Some((Level::Organisation, organisation.to_owned()))
        }
        "guild" => table
            .id("guild", problems)
            .map(|(_, id)| (Level::Guild, id)),
        _ => table
            .id("agent", problems)
            .map(|(_, id)| (Level::Agent, id)),
    }
}

/// Rows that are stored: level, owner, tool, what they say.
pub(super) type StoredRows = Vec<(String, String, String, bool)>;

pub(super) fn plan(
    entries: Vec<Entry>,
    stored: &StoredRows,
    guilds: &BTreeSet<&str>,
    agents: &BTreeSet<&str>,
    problems: &mut Problems,
) -> Vec<Planned<Row>> {
    let rows: BTreeMap<(&str, &str, &str), bool> = stored
        .iter()
        .map(|(level, owner, tool, enabled)| {
            ((level.as_str(), owner.as_str(), tool.as_str()), *enabled)
        })
        .collect();
    let mut planned = Vec::new();
    for entry in entries {
        let known = match entry.level {
            Level::Agent => Some(("agent", agents)),
            Level::Guild => Some(("guild", guilds)),
            Level::Organisation => None,
        };
        if let Some((what, known)) = known
            && !known.contains(entry.owner.as_str())
        {
            if problems.is_full() {
                continue;
            }
            let words: Vec<&str> = known.iter().copied().collect();
            let missing = format!("there is no {what} {} in this organisation", entry.owner);
            problems.add(
                &entry.at.key(what),
                not_allowed(&missing, &entry.owner, &words),
            );
            continue;
        }
        let Some((tool, enabled)) = entry.said else {
            continue;
        };
        let id = id(entry.level, &entry.owner, &tool);
        let key = (entry.level.as_str(), entry.owner.as_str(), tool.as_str());
        let row = |enabled| Row {
            id: id.clone(),
            enabled,
            owner: entry.owner.clone(),
            binding: Binding {
                level: entry.level,
                tool: tool.clone(),
                enabled,
            },
        };
        let before = rows.get(&key).copied().map(row);
        planned.push(Planned::new(KIND, id.clone(), before, row(enabled)));
    }
    planned
}

pub(super) async fn apply(
    db: &mut PgConnection,
    organisation: &str,
    actor: &str,
    planned: &[Planned<Row>],
) -> sqlx::Result<()> {
    for object in planned.iter().filter(|object| object.changes()) {
        bindings::put(db, organisation, &object.after.owner, &object.after.binding).await?;
        object.audit(db, organisation, actor).await?;
    }
    Ok(())
}
