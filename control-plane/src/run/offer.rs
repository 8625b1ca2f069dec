//! What a run offers: a pure filter over the list of tools, bindings, flags and scripts.

pub mod connectors;
mod naming;
pub mod verdict;

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use self::connectors::ConnectorTool;
use self::verdict::{Verdict, judge, judge_connector, judge_script};
use super::schema;
use crate::store::agents::{Agent, AgentConfig};
use crate::store::bindings::Binding;
use crate::store::scripts::SnapshotScript;
use crate::tools::TOOLS;

/// What started a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// A person's chat with the agent.
    Direct,
    /// The guild's chat.
    GroupChat,
    /// A schedule's wake-up.
    Schedule,
}

impl RunKind {
    /// Every kind, in the order of the contract.
    pub const ALL: [Self; 3] = [Self::Direct, Self::GroupChat, Self::Schedule];

    /// The word in the API and the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::GroupChat => "group_chat",
            Self::Schedule => "schedule",
        }
    }

    /// The kind a word names.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Where a tool comes from; also the first key of an offer's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// In the box.
    Native,
    /// A connector's login.
    Connector,
    /// One of the agent's scripts.
    Script,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OfferedTool {
    /// Name a model calls it by.
    pub name: String,
    /// Its words.
    pub description: String,
    /// The rewritten schema of its arguments.
    pub input_schema: Box<RawValue>,
    /// Where it comes from.
    pub source: Source,
    /// Whose it is, of a connector's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connector: Option<String>,
}

/// What a turn of a run offers, sorted native, connector, script, then by name.
#[must_use]
pub fn offer(
    agent: &Agent,
    bindings: &[Binding],
    kind: RunKind,
    connectors: &[ConnectorTool],
    scripts: &[SnapshotScript],
) -> Vec<OfferedTool> {
    let mut offered: Vec<OfferedTool> = TOOLS
        .iter()
        .zip(REWRITTEN.iter())
        .filter(|(tool, _)| judge(tool, &agent.config, bindings, kind).offers())
        .map(|(tool, schema)| OfferedTool {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            input_schema: schema.clone(),
            source: Source::Native,
            connector: None,
        })
        .collect();
    offered.extend(
        connectors
            .iter()
            .filter(|tool| judge_connector(tool, bindings).offers())
            .map(connector_tool),
    );
    let taken = names_of(connectors);
    let script_run = judge_script_run(&agent.config, bindings, kind);
    offered.extend(
        scripts
            .iter()
            .filter(|held| judge_script(held, &script_run, &taken).offers())
            .filter_map(script_tool),
    );
    offered.sort_by(|a, b| (a.source, &a.name).cmp(&(b.source, &b.name)));
    offered
}

/// The rewritten schemas of [`TOOLS`], which never change.
static REWRITTEN: LazyLock<Vec<Box<RawValue>>> = LazyLock::new(|| {
    let schemas = TOOLS.iter().map(|tool| schema::rewrite(tool.schema));
    schemas.collect()
});

/// A script's tool is offered only while this one is.
const SCRIPT_RUN: &str = "script_run";

/// The verdict over the tool that every script's own tool goes with.
#[must_use]
pub fn judge_script_run<'a>(
    config: &AgentConfig,
    bindings: &'a [Binding],
    kind: RunKind,
) -> Verdict<'a> {
    crate::tools::find(SCRIPT_RUN).map_or(Verdict::Kind(kind), |tool| {
        judge(tool, config, bindings, kind)
    })
}

/// The names that connectors' tools have, on or off: none is a script's too.
pub(super) fn names_of(connectors: &[ConnectorTool]) -> HashSet<&str> {
    connectors.iter().map(|tool| tool.name.as_str()).collect()
}

fn connector_tool(tool: &ConnectorTool) -> OfferedTool {
    OfferedTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        source: Source::Connector,
        connector: Some(tool.connector.clone()),
    }
}

fn script_tool(held: &SnapshotScript) -> Option<OfferedTool> {
    let parameters = held.script.parameters.as_ref()?;
    Some(OfferedTool {
        name: held.script.name.clone(),
        description: held.script.description.clone(),
        input_schema: schema::rewrite(parameters.get()),
        source: Source::Script,
        connector: None,
    })
}

#[cfg(test)]
mod tests;
