//! Offer, rulings and explanations say the same, over every row of every level.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::run::offer::offer;
use crate::store::agents::AgentConfig;
use crate::store::scripts::Script;

fn ada(config: AgentConfig) -> Agent {
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

fn script(name: &str, parameters: bool) -> SnapshotScript {
    SnapshotScript {
        script: Script {
            name: name.to_owned(),
            description: "Counts.".to_owned(),
            source: String::new(),
            sha256: String::new(),
            parameters: parameters
                .then(|| RawValue::from_string(r#"{"type":"object"}"#.to_owned()).unwrap()),
        },
        as_tool: true,
    }
}

fn row(level: Level, tool: &str, enabled: bool) -> Binding {
    Binding {
        level,
        tool: tool.to_owned(),
        enabled,
    }
}

/// What a place of the table holds: no row, off, on.
const WORDS: [Option<bool>; 3] = [None, Some(false), Some(true)];

/// The rows of one cell: for agent, guild and organisation the tool's own and its family's.
fn rows(tool: &str, family: &str, cell: [Option<bool>; 6]) -> Vec<Binding> {
    let places = Level::ALL
        .into_iter()
        .flat_map(|level| [(level, tool), (level, family)]);
    places
        .zip(cell)
        .filter_map(|((level, word), enabled)| Some(row(level, word, enabled?)))
        .collect()
}

#[test]
fn the_offer_its_reasons_and_why_agree_in_every_cell_of_the_table() {
    let agent = ada(AgentConfig {
        browser: true,
        ..AgentConfig::default()
    });
    let scripts = [script("count", true), script("quiet", false)];
    let mut cells = 0;
    for number in 0..729_usize {
        let cell: [Option<bool>; 6] =
            std::array::from_fn(|at| WORDS[number / 3_usize.pow(u32::try_from(at).unwrap()) % 3]);
        // The places stand from the one that counts most to the one that counts least.
        let expected = cell.iter().find_map(|word| *word).unwrap_or(true);
        for (tool, family) in [("note_write", "note"), ("script_run", "script")] {
            let bindings = rows(tool, family, cell);
            // The kind makes no difference here; over the cells each one comes up.
            let kind = RunKind::ALL[number % 7 % 3];
            let offered = offer(&agent, &bindings, kind, &[], &scripts);
            let offered: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
            let ruled = rulings(&agent, &bindings, kind, &[], &scripts);
            let ruled: Vec<&str> = ruled
                .iter()
                .filter(|ruling| ruling.offered)
                .map(|ruling| ruling.name.as_str())
                .collect();
            assert_eq!(ruled, offered, "{tool} {cell:?}");
            assert_eq!(offered.contains(&tool), expected, "{tool} {cell:?}");
            if tool == "script_run" {
                assert_eq!(offered.contains(&"count"), expected, "{cell:?}");
            }
            let named = Named::Native(
                crate::tools::find(tool).unwrap(),
                Family::ALL.into_iter().find(|word| word.as_str() == family),
            );
            let told = serde_json::to_value(explain(&agent, &bindings, tool, &named, &[])).unwrap();
            assert_eq!(
                told["offered"],
                json!({ "direct": expected, "group_chat": expected, "schedule": expected })
            );
            let levels: Vec<Value> = cell
                .chunks(2)
                .zip([
                    ("agent", "ada"),
                    ("guild", "core"),
                    ("organisation", "acme"),
                ])
                .map(|(words, (level, owner))| {
                    json!({ "level": level, "owner": owner, "tool": words[0], "family": words[1],
                            "by": null, "at": null })
                })
                .collect();
            assert_eq!(told["levels"], json!(levels));
            cells += 1;
        }
    }
    assert_eq!(cells, 1_458);
}

#[track_caller]
fn check(config: AgentConfig, bindings: &[Binding], kind: RunKind, name: &str, expected: &str) {
    let scripts = [script("count", true)];
    let rulings = rulings(&ada(config), bindings, kind, &[], &scripts);
    let ruling = rulings.iter().find(|ruling| ruling.name == name).unwrap();
    assert_eq!(
        format!("{} {}", ruling.offered, ruling.reason),
        expected,
        "{name}"
    );
}

#[test]
fn each_rule_has_its_words() {
    use RunKind::Direct;
    let plain = AgentConfig::default;
    check(
        plain(),
        &[],
        Direct,
        "report_issue",
        "true every run offers it",
    );
    check(
        plain(),
        &[],
        Direct,
        "shell",
        "false config.coding of ada is false",
    );
    let coding = AgentConfig {
        coding: true,
        ..plain()
    };
    check(
        coding,
        &[],
        Direct,
        "shell",
        "true config.coding of ada is true",
    );
    check(
        plain(),
        &[],
        Direct,
        "note_get",
        "true no binding switches it off",
    );
    check(
        plain(),
        &[row(Level::Guild, "note", false)],
        Direct,
        "note_get",
        "false guild core switches family note off",
    );
    check(
        plain(),
        &[
            row(Level::Agent, "note_get", true),
            row(Level::Guild, "note", false),
        ],
        Direct,
        "note_get",
        "true agent ada switches note_get on",
    );
    let quiet = AgentConfig {
        scripting: false,
        ..plain()
    };
    check(
        quiet,
        &[],
        Direct,
        "script_list",
        "false config.scripting of ada is false",
    );
    check(
        plain(),
        &[],
        Direct,
        "count",
        "true it is a script with parameters and goes as script_run does: no binding switches it off",
    );
    check(
        plain(),
        &[row(Level::Organisation, "script_run", false)],
        Direct,
        "count",
        "false it is a script with parameters and goes as script_run does: organisation acme switches script_run off",
    );
}

#[test]
fn an_explanation_names_who_decided_and_when() {
    let bindings = [
        row(Level::Agent, "note_write", true),
        row(Level::Organisation, "note", false),
    ];
    let changes = [LastChange {
        object: "agent:ada:note_write".to_owned(),
        actor: "operator:t1".to_owned(),
        at_ms: 1_700_000_000_000,
    }];
    let named = Named::Native(
        crate::tools::find("note_write").unwrap(),
        Some(Family::Note),
    );
    let told = explain(
        &ada(AgentConfig::default()),
        &bindings,
        "note_write",
        &named,
        &changes,
    );
    assert_eq!(
        serde_json::to_value(told).unwrap(),
        json!({
            "agent": "ada", "tool": "note_write", "source": "native",
            "offered": { "direct": true, "group_chat": true, "schedule": true },
            "levels": [
                { "level": "agent", "owner": "ada", "tool": true, "family": null,
                  "by": "operator:t1", "at": "2023-11-14T22:13:20Z" },
                { "level": "guild", "owner": "core", "tool": null, "family": null, "by": null, "at": null },
                { "level": "organisation", "owner": "acme", "tool": null, "family": false, "by": null, "at": null },
            ],
            "decided_by": "agent:ada:note_write",
            "reason": "note_write is offered to ada: agent ada switches note_write on",
        })
    );
}

#[test]
fn what_no_run_offers_is_said_so_with_its_rows() {
    let bindings = [row(Level::Guild, "web", false)];
    let agent = ada(AgentConfig::default());
    let connector =
        serde_json::to_value(explain(&agent, &bindings, "web", &Named::Connector, &[])).unwrap();
    assert_eq!(connector["source"], "connector");
    assert_eq!(connector["decided_by"], "version");
    assert_eq!(connector["levels"][1]["tool"], false);
    assert_eq!(
        connector["reason"],
        "web is not offered to ada: the runs of this version offer no connector's tools, and web is a connector; of its bindings, guild core switches web off"
    );
    let absent = Named::Absent(Some(Family::Record));
    let absent = serde_json::to_value(explain(&agent, &[], "record_add", &absent, &[])).unwrap();
    assert_eq!(absent["source"], Value::Null);
    assert_eq!(
        absent["offered"],
        json!({ "direct": false, "group_chat": false, "schedule": false })
    );
    assert_eq!(
        absent["reason"],
        "record_add is not offered to ada: this version has no tool record_add; of its bindings, no binding switches it off"
    );
}
