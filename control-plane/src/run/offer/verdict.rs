//! Why a tool is offered or not: the one rule that decided, and its words.

use std::collections::HashSet;

use super::connectors::ConnectorTool;
use super::{RunKind, SCRIPT_RUN};
use crate::store::agents::{Agent, AgentConfig};
use crate::store::bindings::{self, Binding, Level};
use crate::store::scripts::SnapshotScript;
use crate::tools::{Family, Flag, NativeTool, Offered};

/// The rule that decided about one tool in one kind of run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Offered in every run.
    Always,
    /// The agent's configuration switches it on, or off, alone.
    Flag(Flag, bool),
    /// No run of this kind offers it.
    Kind(RunKind),
    /// The nearest row decides.
    Bound(&'a Binding),
    /// No row: enabled.
    Unbound,
    /// A script without parameters is no tool.
    NoParameters,
    /// A script made in this run: its tool comes with the next one.
    Fresh,
    /// A native tool has the script's name.
    NativeName,
    /// A connector's tool has the script's name.
    ConnectorName,
    /// The connector's login has the tool switched off.
    LoginOff,
    /// A script's tool goes as this one does.
    AsScriptRun(Box<Verdict<'a>>),
}

/// Judges a native tool: flag, then kind, then binding.
#[must_use]
pub fn judge<'a>(
    tool: &NativeTool,
    config: &AgentConfig,
    bindings: &'a [Binding],
    kind: RunKind,
) -> Verdict<'a> {
    let bound = |family: Family| {
        if !in_kind(tool.name, family, kind) {
            return Verdict::Kind(kind);
        }
        bindings::deciding(bindings, tool.name, family.as_str())
            .map_or(Verdict::Unbound, Verdict::Bound)
    };
    match tool.offered {
        Offered::Always => Verdict::Always,
        Offered::Flag(flag) => Verdict::Flag(flag, flagged(config, flag)),
        Offered::Binding(family) => bound(family),
        Offered::FlagAndBinding(flag, _) if !flagged(config, flag) => Verdict::Flag(flag, false),
        Offered::FlagAndBinding(_, family) => bound(family),
    }
}

/// Judges a connector's tool: its login, then the connector's binding.
#[must_use]
pub fn judge_connector<'a>(tool: &ConnectorTool, bindings: &'a [Binding]) -> Verdict<'a> {
    if !tool.on {
        return Verdict::LoginOff;
    }
    bindings::deciding(bindings, &tool.connector, &tool.connector)
        .map_or(Verdict::Unbound, Verdict::Bound)
}

/// Judges the tool that a script may be, beside the verdict over `script_run` and the
/// names of connectors' tools.
#[must_use]
pub fn judge_script<'a>(
    held: &SnapshotScript,
    script_run: &Verdict<'a>,
    taken: &HashSet<&str>,
) -> Verdict<'a> {
    if held.script.parameters.is_none() {
        Verdict::NoParameters
    } else if crate::tools::find(&held.script.name).is_some() {
        // A native tool that a later version brought keeps its name.
        Verdict::NativeName
    } else if taken.contains(held.script.name.as_str()) {
        // A connector that began to list it goes first too.
        Verdict::ConnectorName
    } else if held.as_tool {
        Verdict::AsScriptRun(Box::new(script_run.clone()))
    } else {
        Verdict::Fresh
    }
}

fn in_kind(name: &str, family: Family, kind: RunKind) -> bool {
    match family {
        Family::Schedule => kind != RunKind::Schedule,
        Family::Secret if name == "secret_request" => kind == RunKind::Direct,
        _ => true,
    }
}

const fn flagged(config: &AgentConfig, flag: Flag) -> bool {
    match flag {
        Flag::Browser => config.browser,
        Flag::Coding => config.coding,
        Flag::Scripting => config.scripting,
        Flag::Memory => config.memory,
    }
}

const fn flag_word(flag: Flag) -> &'static str {
    match flag {
        Flag::Browser => "config.browser",
        Flag::Coding => "config.coding",
        Flag::Scripting => "config.scripting",
        Flag::Memory => "config.memory",
    }
}

impl Verdict<'_> {
    /// Whether the tool is offered.
    #[must_use]
    pub fn offers(&self) -> bool {
        match self {
            Self::Always | Self::Unbound => true,
            Self::Flag(_, on) => *on,
            Self::Bound(binding) => binding.enabled,
            Self::AsScriptRun(verdict) => verdict.offers(),
            Self::Kind(_)
            | Self::NoParameters
            | Self::Fresh
            | Self::NativeName
            | Self::ConnectorName
            | Self::LoginOff => false,
        }
    }

    /// What decided, for programs: `always`, `config.<flag>`, `kind`, a binding's
    /// id, `default` where no row stands, `script` or `login`.
    #[must_use]
    pub fn decided_by(&self, agent: &Agent) -> String {
        match self {
            Self::Always => "always".to_owned(),
            Self::Flag(flag, _) => flag_word(*flag).to_owned(),
            Self::Kind(_) => "kind".to_owned(),
            Self::Bound(binding) => binding_id(agent, binding.level, &binding.tool),
            Self::Unbound => "default".to_owned(),
            Self::NoParameters | Self::Fresh | Self::NativeName | Self::ConnectorName => {
                "script".to_owned()
            }
            Self::LoginOff => "login".to_owned(),
            Self::AsScriptRun(verdict) => verdict.decided_by(agent),
        }
    }

    /// The rule in words, as the rest of a sentence about the tool.
    #[must_use]
    pub fn reason(&self, agent: &Agent) -> String {
        match self {
            Self::Always => "every run offers it".to_owned(),
            Self::Flag(flag, on) => format!("{} of {} is {on}", flag_word(*flag), agent.id),
            Self::Kind(kind) => format!("no {} run offers it", kind.as_str()),
            Self::Bound(binding) => {
                let family = Family::ALL
                    .iter()
                    .any(|family| family.as_str() == binding.tool);
                format!(
                    "{} {} switches {}{} {}",
                    binding.level.as_str(),
                    binding.level.owner(agent),
                    if family { "family " } else { "" },
                    binding.tool,
                    if binding.enabled { "on" } else { "off" }
                )
            }
            Self::Unbound => "no binding switches it off".to_owned(),
            Self::NoParameters => {
                format!("it is a script without parameters, which only {SCRIPT_RUN} runs")
            }
            Self::Fresh => {
                "it is a script made in this run; its own tool comes with the next run".to_owned()
            }
            Self::NativeName => "it is a script, and a native tool has its name".to_owned(),
            Self::ConnectorName => "it is a script, and a connector's tool has its name".to_owned(),
            Self::LoginOff => "the connector's login has it switched off".to_owned(),
            Self::AsScriptRun(verdict) => format!(
                "it is a script with parameters and goes as {SCRIPT_RUN} does: {}",
                verdict.reason(agent)
            ),
        }
    }
}

/// The id of the binding of a tool, family or connector at one of an agent's levels.
#[must_use]
pub fn binding_id(agent: &Agent, level: Level, tool: &str) -> String {
    format!("{}:{}:{tool}", level.as_str(), level.owner(agent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_tools_and_secret_request_go_by_the_kind_of_run() {
        use RunKind::{Direct, GroupChat, Schedule};
        let kinds = |name: &str, family| {
            RunKind::ALL
                .into_iter()
                .filter(|kind| in_kind(name, family, *kind))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            kinds("schedule_list", Family::Schedule),
            [Direct, GroupChat]
        );
        assert_eq!(kinds("secret_request", Family::Secret), [Direct]);
        assert_eq!(
            kinds("secret_store", Family::Secret),
            [Direct, GroupChat, Schedule]
        );
        assert_eq!(
            kinds("note_get", Family::Note),
            [Direct, GroupChat, Schedule]
        );
    }
}
