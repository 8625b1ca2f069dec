//! What is offered, by example; every combination is in `tests/table.rs`.

mod table;

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
const SCRIPTS: [&str; 5] = [
    "script_create",
    "script_delete",
    "script_list",
    "script_read",
    "script_run",
];

pub(super) fn agent(config: AgentConfig) -> Agent {
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

pub(super) fn script(name: &str, parameters: Option<&str>, as_tool: bool) -> SnapshotScript {
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

/// The families that these examples are about.
fn is_watched(name: &str) -> bool {
    BROWSER.contains(&name)
        || NOTES.contains(&name)
        || SCRIPTS.contains(&name)
        || ["report_issue", "shell"].contains(&name)
}

#[track_caller]
fn check(
    config: AgentConfig,
    bindings: &[Binding],
    scripts: &[SnapshotScript],
    expected: &[&[&str]],
) {
    for kind in RunKind::ALL {
        let offered = offer(&agent(config.clone()), bindings, kind, &[], scripts);
        let names: Vec<&str> = offered
            .iter()
            .filter(|tool| tool.source != Source::Native || is_watched(&tool.name))
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(names, expected.concat(), "{}", kind.as_str());
    }
}

#[test]
fn an_agent_of_defaults_has_notes_scripts_and_issues_in_every_kind_of_run() {
    check(
        AgentConfig::default(),
        &[],
        &[],
        &[&NOTES, &["report_issue"], &SCRIPTS],
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
        &[&BROWSER, &NOTES, &["report_issue", "shell"]],
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
        &[&["note_delete", "note_find", "note_get", "report_issue"]],
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
        &[&NOTES, &["report_issue"], &SCRIPTS, &["alpha"]],
    );
    let offered = offer(
        &agent(AgentConfig::default()),
        &[],
        RunKind::Direct,
        &[],
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
        &[&NOTES, &["report_issue"], &SCRIPTS[..4]],
    );
}

#[test]
fn a_native_tool_keeps_its_name_before_a_script() {
    let scripts = [script("shell", Some(r#"{"type":"object"}"#), true)];
    check(
        AgentConfig::default(),
        &[],
        &scripts,
        &[&NOTES, &["report_issue"], &SCRIPTS],
    );
}

#[test]
fn what_is_offered_reads_back_and_is_the_same_bytes_every_time() {
    let config = AgentConfig {
        browser: true,
        coding: true,
        ..AgentConfig::default()
    };
    let first = serde_json::to_string(&offer(
        &agent(config.clone()),
        &[],
        RunKind::Direct,
        &[],
        &[],
    ))
    .unwrap();
    let again =
        serde_json::to_string(&offer(&agent(config), &[], RunKind::Direct, &[], &[])).unwrap();
    assert_eq!(first, again);
    let read: Vec<OfferedTool> = serde_json::from_str(&first).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), first);
}
