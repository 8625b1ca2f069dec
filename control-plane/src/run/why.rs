//! Why a tool is offered to an agent or not: by the code of the offer itself, told level by level.

use std::collections::HashSet;

use serde::Serialize;
use sqlx::PgConnection;

use super::engine::Engine;
use super::error::RunError;
use super::offer::connectors::ConnectorTool;
use super::offer::verdict::{Verdict, binding_id, judge, judge_connector, judge_script};
use super::offer::{RunKind, Source, judge_script_run, names_of};
use crate::store::agents::{self, Agent};
use crate::store::audit::reading::{LastChange, last_changes};
use crate::store::bindings::{self, Binding, Level};
use crate::store::scripts::{self, SnapshotScript};
use crate::store::time;
use crate::tools::validation::{nearest, shown};
use crate::tools::{Family, TOOLS, names};

/// Names compared with one that nobody has.
const MOST_COMPARED: usize = 2_000;

/// A tool that a run of a kind would offer or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ruling {
    name: String,
    offered: bool,
    reason: String,
}

/// One row per native tool, then one per connector's tool and one per script with
/// parameters, each by name.
#[must_use]
pub fn rulings(
    agent: &Agent,
    bindings: &[Binding],
    kind: RunKind,
    connectors: &[ConnectorTool],
    scripts: &[SnapshotScript],
) -> Vec<Ruling> {
    let ruling = |name: &str, verdict: &Verdict<'_>| Ruling {
        name: name.to_owned(),
        offered: verdict.offers(),
        reason: verdict.reason(agent),
    };
    let script_run = judge_script_run(&agent.config, bindings, kind);
    let native = TOOLS.iter().map(|tool| {
        let verdict = judge(tool, &agent.config, bindings, kind);
        ruling(tool.name, &verdict)
    });
    let mut sorted: Vec<&ConnectorTool> = connectors.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let of_connectors = sorted
        .into_iter()
        .map(|tool| ruling(&tool.name, &judge_connector(tool, bindings)));
    let taken = names_of(connectors);
    let scripts = scripts
        .iter()
        .filter(|held| held.script.parameters.is_some())
        .map(|held| {
            let verdict = judge_script(held, &script_run, &taken);
            ruling(&held.script.name, &verdict)
        });
    native.chain(of_connectors).chain(scripts).collect()
}

/// The whole answer to why.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    agent: String,
    tool: String,
    source: Option<Source>,
    offered: Kinds,
    levels: Vec<LevelView>,
    decided_by: String,
    reason: String,
}

/// Whether a run of each kind offers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Kinds {
    direct: bool,
    group_chat: bool,
    schedule: bool,
}

/// What the rows of one level say.
#[derive(Debug, Clone, Serialize)]
struct LevelView {
    level: &'static str,
    owner: String,
    tool: Option<bool>,
    family: Option<bool>,
    by: Option<String>,
    at: Option<String>,
}

/// What a name turned out to be.
enum Named {
    Native(&'static crate::tools::NativeTool, Option<Family>),
    Script(Box<SnapshotScript>),
    Connector,
    /// A tool of the specification that no run of this version offers.
    Absent(Option<Family>),
}

impl Named {
    const fn source(&self) -> Option<Source> {
        match self {
            Self::Native(..) => Some(Source::Native),
            Self::Script(_) => Some(Source::Script),
            Self::Connector => Some(Source::Connector),
            Self::Absent(_) => None,
        }
    }

    /// The name whose rows count, and its family.
    fn bound<'a>(&'a self, tool: &'a str) -> (&'a str, Option<Family>) {
        match self {
            Self::Native(native, family) => (native.name, *family),
            Self::Script(_) => ("script_run", Some(Family::Script)),
            Self::Connector => (tool, None),
            Self::Absent(family) => (tool, *family),
        }
    }

    /// The verdict in a kind of run; none where no run offers anything of the sort.
    fn judge<'a>(
        &self,
        agent: &Agent,
        bindings: &'a [Binding],
        kind: RunKind,
    ) -> Option<Verdict<'a>> {
        match self {
            Self::Native(tool, _) => Some(judge(tool, &agent.config, bindings, kind)),
            Self::Script(held) => {
                let script_run = judge_script_run(&agent.config, bindings, kind);
                Some(judge_script(held, &script_run, &HashSet::new()))
            }
            Self::Connector | Self::Absent(_) => None,
        }
    }
}

impl Engine {
    /// What a run of this kind would offer an agent now, and why.
    ///
    /// # Errors
    /// [`RunError::NotFound`], or a failure.
    pub async fn offer_of(&self, agent: &str, kind: RunKind) -> Result<Vec<Ruling>, RunError> {
        let mut db = self.pool.acquire().await?;
        let agent = find_agent(&mut db, agent).await?;
        let bindings = bindings::for_agent(&mut db, &agent).await?;
        let scripts = stored(scripts::all(&mut db, &agent).await?);
        Ok(rulings(&agent, &bindings, kind, &[], &scripts))
    }

    /// Explains a tool's state for an agent of this organisation.
    ///
    /// # Errors
    /// [`RunError::NotFound`] with the nearest name, or a failure.
    pub async fn why(
        &self,
        organisation: &str,
        agent: &str,
        tool: &str,
    ) -> Result<Explanation, RunError> {
        let mut db = self.pool.acquire().await?;
        let agent = agent_of(&mut db, organisation, agent).await?;
        let bindings = bindings::for_agent(&mut db, &agent).await?;
        let named = name(&mut db, &agent, tool).await?;
        let changes = changes(&mut db, &agent, &named, tool).await?;
        Ok(explain(&agent, &bindings, tool, &named, &changes))
    }
}

/// The agent of that id, wherever it is.
pub(super) async fn find_agent(db: &mut PgConnection, agent: &str) -> Result<Agent, RunError> {
    let found = if agents::is_id(agent) {
        agents::find(db, agent).await?
    } else {
        None
    };
    found.ok_or_else(|| RunError::NotFound(format!("no agent {}", shown(agent))))
}

/// An agent of this organisation; another's is as absent as none.
async fn agent_of(
    db: &mut PgConnection,
    organisation: &str,
    agent: &str,
) -> Result<Agent, RunError> {
    match find_agent(db, agent).await {
        Ok(found) if found.organisation == organisation => return Ok(found),
        Ok(_) | Err(RunError::NotFound(_)) => {}
        Err(error) => return Err(error),
    }
    let all = agents::roster::load(db, organisation, None).await?;
    let ids = all.iter().map(|agent| agent.id.as_str());
    Err(RunError::NotFound(absent(
        "agent",
        agent,
        nearest(agent, ids.take(MOST_COMPARED)),
    )))
}

fn absent(what: &str, name: &str, near: Option<&str>) -> String {
    let name = shown(name);
    match near {
        Some(near) => format!("no {what} {name}; did you mean {near}?"),
        None => format!("no {what} {name}"),
    }
}

fn stored(scripts: Vec<scripts::Script>) -> Vec<SnapshotScript> {
    let as_tool = true;
    scripts
        .into_iter()
        .map(|script| SnapshotScript { script, as_tool })
        .collect()
}

async fn name(db: &mut PgConnection, agent: &Agent, tool: &str) -> Result<Named, RunError> {
    let known = names::all().find(|(name, _)| *name == tool);
    if let Some((_, family)) = known {
        return Ok(match crate::tools::find(tool) {
            Some(native) => Named::Native(native, family),
            None => Named::Absent(family),
        });
    }
    let connectors = bindings::connectors(db, &agent.organisation).await?;
    if connectors.iter().any(|connector| connector == tool) {
        return Ok(Named::Connector);
    }
    let scripts = stored(scripts::all(db, agent).await?);
    let is_it = |held: &SnapshotScript| held.script.name == tool;
    if let Some(at) = scripts.iter().position(is_it) {
        let mut scripts = scripts;
        return Ok(Named::Script(Box::new(scripts.swap_remove(at))));
    }
    let candidates = names::all()
        .map(|(name, _)| name)
        .chain(connectors.iter().map(String::as_str))
        .chain(scripts.iter().map(|held| held.script.name.as_str()));
    Err(RunError::NotFound(absent(
        "tool",
        tool,
        nearest(tool, candidates.take(MOST_COMPARED)),
    )))
}

/// Who last changed each row that may count, by the row's id.
async fn changes(
    db: &mut PgConnection,
    agent: &Agent,
    named: &Named,
    tool: &str,
) -> sqlx::Result<Vec<LastChange>> {
    let (word, family) = named.bound(tool);
    let words = std::iter::once(word).chain(family.map(Family::as_str));
    let ids: Vec<String> = words
        .flat_map(|word| Level::ALL.map(|level| binding_id(agent, level, word)))
        .collect();
    last_changes(db, &agent.organisation, "bindings", &ids).await
}

fn explain(
    agent: &Agent,
    bindings: &[Binding],
    tool: &str,
    named: &Named,
    changes: &[LastChange],
) -> Explanation {
    let (word, family) = named.bound(tool);
    let levels = Level::ALL
        .into_iter()
        .map(|level| {
            let own = bindings::at(bindings, level, word);
            let familys = family.and_then(|family| bindings::at(bindings, level, family.as_str()));
            // Of the two rows that count on a level, the tool's own.
            let row = own.or(familys);
            let change = row.and_then(|row| {
                let id = binding_id(agent, level, &row.tool);
                changes.iter().find(|change| change.object == id)
            });
            LevelView {
                level: level.as_str(),
                owner: level.owner(agent).to_owned(),
                tool: own.map(|row| row.enabled),
                family: familys.map(|row| row.enabled),
                by: change.map(|change| change.actor.clone()),
                at: change.map(|change| time::rfc3339(change.at_ms)),
            }
        })
        .collect();
    let verdict = |kind| named.judge(agent, bindings, kind);
    let offers = |kind| verdict(kind).is_some_and(|verdict| verdict.offers());
    let offered = Kinds {
        direct: offers(RunKind::Direct),
        group_chat: offers(RunKind::GroupChat),
        schedule: offers(RunKind::Schedule),
    };
    let (decided_by, reason) = match verdict(RunKind::Direct) {
        Some(direct) => (
            direct.decided_by(agent),
            sentence(agent, tool, &direct, offered),
        ),
        None => unoffered(agent, bindings, tool, named),
    };
    Explanation {
        agent: agent.id.clone(),
        tool: tool.to_owned(),
        source: named.source(),
        offered,
        levels,
        decided_by,
        reason,
    }
}

/// The verdict of a direct run, and which kinds of run differ.
fn sentence(agent: &Agent, tool: &str, direct: &Verdict<'_>, offered: Kinds) -> String {
    let state = if offered.direct {
        "offered"
    } else {
        "not offered"
    };
    let mut sentence = format!(
        "{tool} is {state} to {}: {}",
        agent.id,
        direct.reason(agent)
    );
    let differing: Vec<&str> = [
        (RunKind::GroupChat, offered.group_chat),
        (RunKind::Schedule, offered.schedule),
    ]
    .into_iter()
    .filter(|(_, other)| *other != offered.direct)
    .map(|(kind, _)| kind.as_str())
    .collect();
    if !differing.is_empty() {
        sentence.push_str(&format!("; no {} run offers it", differing.join(" or ")));
    }
    sentence
}

/// About a name whose tools no run of this version offers.
fn unoffered(agent: &Agent, bindings: &[Binding], tool: &str, named: &Named) -> (String, String) {
    let (word, family) = named.bound(tool);
    let family = family.map_or(word, |family| family.as_str());
    let row = bindings::deciding(bindings, word, family);
    let verdict = row.map_or(Verdict::Unbound, Verdict::Bound);
    let what = match named {
        Named::Connector => format!(
            "the runs of this version offer no connector's tools, and {tool} is a connector"
        ),
        _ => format!("this version has no tool {tool}"),
    };
    (
        "version".to_owned(),
        format!(
            "{tool} is not offered to {}: {what}; of its bindings, {}",
            agent.id,
            verdict.reason(agent)
        ),
    )
}

#[cfg(test)]
mod tests;
