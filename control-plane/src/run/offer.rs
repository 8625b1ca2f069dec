//! What a run offers: a pure filter over the list of tools, bindings, flags and scripts.

pub mod verdict;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use self::verdict::{Verdict, judge, judge_script};
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
}

/// What a turn of a run offers, sorted native, connector, script, then by name.
#[must_use]
pub fn offer(
    agent: &Agent,
    bindings: &[Binding],
    kind: RunKind,
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
        })
        .collect();
    let script_run = judge_script_run(&agent.config, bindings, kind);
    offered.extend(
        scripts
            .iter()
            .filter(|held| judge_script(held, &script_run).offers())
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

fn script_tool(held: &SnapshotScript) -> Option<OfferedTool> {
    let parameters = held.script.parameters.as_ref()?;
    Some(OfferedTool {
        name: held.script.name.clone(),
        description: held.script.description.clone(),
        input_schema: schema::rewrite(parameters.get()),
        source: Source::Script,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::bindings::Level;
    use crate::store::scripts::Script;

    const BROWSER: [&str; 8] = [
        "browser_click",
        "browser_eval",
        "browser_fill",
        "browser_navigate",
        "browser_screenshot",
        "browser_scroll",
        "browser_snapshot",
        "browser_type",
    ];
    const NOTES: [&str; 4] = ["note_delete", "note_find", "note_get", "note_write"];
    /// What no schedule run offers.
    const SCHEDULES: [&str; 6] = [
        "schedule_create_cron",
        "schedule_create_window",
        "schedule_delete",
        "schedule_list",
        "schedule_pause",
        "schedule_resume",
    ];
    /// The first of them only in direct runs.
    const SECRETS: [&str; 2] = ["secret_request", "secret_store"];
    const SCRIPTS: [&str; 5] = [
        "script_create",
        "script_delete",
        "script_list",
        "script_read",
        "script_run",
    ];

    fn agent(config: AgentConfig) -> Agent {
        Agent {
            id: "ada".to_owned(),
            organisation: "acme".to_owned(),
            guild: "core".to_owned(),
            machine: "local".to_owned(),
            machine_address: "https://127.0.0.1:8443".to_owned(),
            slot: 1,
            config,
        }
    }

    fn script(name: &str, parameters: Option<&str>, as_tool: bool) -> SnapshotScript {
        SnapshotScript {
            script: Script {
                name: name.to_owned(),
                description: format!("Does {name}."),
                source: String::new(),
                sha256: String::new(),
                parameters: parameters.map(|text| RawValue::from_string(text.to_owned()).unwrap()),
            },
            as_tool,
        }
    }

    fn off(level: Level, tool: &str) -> Binding {
        Binding {
            level,
            tool: tool.to_owned(),
            enabled: false,
        }
    }

    #[track_caller]
    fn check(
        config: AgentConfig,
        bindings: &[Binding],
        scripts: &[SnapshotScript],
        expected: &[&[&str]],
    ) {
        for kind in RunKind::ALL {
            let offered = offer(&agent(config.clone()), bindings, kind, scripts);
            let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
            let mut expected = expected.concat();
            expected.retain(|name| match kind {
                RunKind::Direct => true,
                RunKind::GroupChat => *name != SECRETS[0],
                RunKind::Schedule => *name != SECRETS[0] && !SCHEDULES.contains(name),
            });
            assert_eq!(names, expected, "{}", kind.as_str());
        }
    }

    #[test]
    fn an_agent_of_defaults_has_notes_scripts_and_issues_in_every_kind_of_run() {
        check(
            AgentConfig::default(),
            &[],
            &[],
            &[
                &["group_post"],
                &NOTES,
                &["report_issue"],
                &SCHEDULES,
                &SCRIPTS,
                &SECRETS,
            ],
        );
    }

    #[test]
    fn flags_switch_browser_code_and_script_tools() {
        let config = AgentConfig {
            browser: true,
            coding: true,
            scripting: false,
            ..AgentConfig::default()
        };
        check(
            config,
            &[],
            &[],
            &[
                &BROWSER,
                &["group_post"],
                &NOTES,
                &["report_issue"],
                &SCHEDULES,
                &SECRETS,
                &["shell"],
            ],
        );
    }

    #[test]
    fn bindings_switch_families_and_tools_but_never_issues() {
        let bindings = [
            off(Level::Organisation, "script"),
            off(Level::Agent, "note_write"),
            off(Level::Agent, "report_issue"),
        ];
        check(
            AgentConfig::default(),
            &bindings,
            &[],
            &[
                &[
                    "group_post",
                    "note_delete",
                    "note_find",
                    "note_get",
                    "report_issue",
                ],
                &SCHEDULES,
                &SECRETS,
            ],
        );
    }

    #[test]
    fn a_script_with_parameters_is_a_tool_after_the_native_ones() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer","format":"int32"}},"additionalProperties":false}"#;
        let scripts = [
            script("alpha", Some(schema), true),
            script("bare", None, true),
            script("fresh", Some(schema), false),
        ];
        check(
            AgentConfig::default(),
            &[],
            &scripts,
            &[
                &["group_post"],
                &NOTES,
                &["report_issue"],
                &SCHEDULES,
                &SCRIPTS,
                &SECRETS,
                &["alpha"],
            ],
        );
        let offered = offer(
            &agent(AgentConfig::default()),
            &[],
            RunKind::Direct,
            &scripts,
        );
        assert_eq!(
            serde_json::to_string(&offered.last()).unwrap(),
            r#"{"name":"alpha","description":"Does alpha.","input_schema":{"type":"object","properties":{"n":{"type":"integer"}}},"source":"script"}"#
        );
    }

    #[test]
    fn a_scripts_tool_is_offered_only_while_script_run_is() {
        let scripts = [script("alpha", Some(r#"{"type":"object"}"#), true)];
        let bindings = [off(Level::Guild, "script_run")];
        check(
            AgentConfig::default(),
            &bindings,
            &scripts,
            &[
                &["group_post"],
                &NOTES,
                &["report_issue"],
                &SCHEDULES,
                &SCRIPTS[..4],
                &SECRETS,
            ],
        );
    }

    #[test]
    fn a_native_tool_keeps_its_name_before_a_script() {
        let scripts = [script("shell", Some(r#"{"type":"object"}"#), true)];
        check(
            AgentConfig::default(),
            &[],
            &scripts,
            &[
                &["group_post"],
                &NOTES,
                &["report_issue"],
                &SCHEDULES,
                &SCRIPTS,
                &SECRETS,
            ],
        );
    }

    #[test]
    fn what_is_offered_reads_back_and_is_the_same_bytes_every_time() {
        let config = AgentConfig {
            browser: true,
            coding: true,
            ..AgentConfig::default()
        };
        let first =
            serde_json::to_string(&offer(&agent(config.clone()), &[], RunKind::Direct, &[]))
                .unwrap();
        let again =
            serde_json::to_string(&offer(&agent(config), &[], RunKind::Direct, &[])).unwrap();
        assert_eq!(first, again);
        let read: Vec<OfferedTool> = serde_json::from_str(&first).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), first);
    }
}
