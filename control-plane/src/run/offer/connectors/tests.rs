//! Connectors' tools in an offer: names, order, switches, and what is left out.

use super::super::tests::{agent, script};
use super::super::{RunKind, Source, offer};
use super::*;
use crate::store::agents::AgentConfig;
use crate::store::bindings::{Binding, Level};

fn listed(name: &str, schema: &str) -> Listed {
    Listed {
        name: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: Some(RawValue::from_string(schema.to_owned()).unwrap()),
    }
}

fn listing(connector: &str, names: &[&str]) -> Listing {
    Listing {
        connector: connector.to_owned(),
        tools: names
            .iter()
            .map(|name| listed(name, r#"{"type":"object"}"#))
            .collect(),
    }
}

fn no_notes() -> Binding {
    Binding {
        level: Level::Organisation,
        tool: "note".to_owned(),
        enabled: false,
    }
}

/// The offer after the native tools, as `connector:name` or `name`.
fn beside_native(bindings: &[Binding], connectors: &[ConnectorTool]) -> Vec<String> {
    let scripts = [
        script("alpha", Some(r#"{"type":"object"}"#), true),
        script("search", Some(r#"{"type":"object"}"#), true),
    ];
    let agent = agent(AgentConfig::default());
    let offered = offer(&agent, bindings, RunKind::Direct, connectors, &scripts);
    let mut sources: Vec<Source> = offered.iter().map(|tool| tool.source).collect();
    assert!(sources.is_sorted());
    sources.dedup();
    assert_eq!(sources[0], Source::Native);
    offered
        .into_iter()
        .filter(|tool| tool.source != Source::Native)
        .map(|tool| match tool.connector {
            Some(connector) => format!("{connector}:{}", tool.name),
            None => tool.name,
        })
        .collect()
}

#[test]
fn connectors_stand_between_native_tools_and_scripts_and_take_a_scripts_name() {
    let (tools, notices) = prepare(&[
        listing("web", &["search", "extract"]),
        listing("files", &["read", "search"]),
    ]);
    assert_eq!(notices, Vec::<String>::new());
    assert_eq!(
        beside_native(&[], &tools),
        [
            "web:extract",
            "files:read",
            "files:search",
            "web:web_search",
            "alpha"
        ]
    );
}

#[test]
fn the_order_in_which_connectors_and_tools_are_listed_changes_nothing() {
    let text = |listings: &[Listing]| {
        let (tools, notices) = prepare(listings);
        let offered = offer(
            &agent(AgentConfig::default()),
            &[],
            RunKind::Direct,
            &tools,
            &[],
        );
        (serde_json::to_string(&offered).unwrap(), notices)
    };
    let one = text(&[listing("a", &["x", "y", "z/1"]), listing("b", &["y"])]);
    let other = text(&[listing("b", &["y"]), listing("a", &["z/1", "y", "x"])]);
    assert_eq!(one, other);
}

#[test]
fn a_switch_takes_tools_and_renames_none() {
    let (mut tools, _) = prepare(&[listing("a", &["t"]), listing("b", &["t", "u"])]);
    tools[0].on = false;
    assert_eq!(
        beside_native(&[], &tools),
        ["b:b_t", "b:u", "alpha", "search"]
    );
    let binding = |level, enabled| Binding {
        level,
        tool: "b".to_owned(),
        enabled,
    };
    let off = [no_notes(), binding(Level::Guild, false)];
    assert_eq!(beside_native(&off, &tools), ["alpha", "search"]);
    let on_again = [binding(Level::Agent, true), binding(Level::Guild, false)];
    assert_eq!(
        beside_native(&on_again, &tools),
        ["b:b_t", "b:u", "alpha", "search"]
    );
    // A name that a switched-off tool has is no script's.
    let (mut search, _) = prepare(&[listing("web", &["search"])]);
    search[0].on = false;
    assert_eq!(beside_native(&[], &search), ["alpha"]);
}

#[test]
fn a_tool_that_cant_be_used_is_left_out_with_a_notice_and_the_others_stay() {
    let mut odd = listing("odd", &["fine"]);
    odd.tools.push(listed("text", r#"{"type":"string"}"#));
    odd.tools.push(listed("fine", r#"{"type":"object"}"#));
    odd.tools.push(listed("", r#"{"type":"object"}"#));
    odd.tools.push(Listed {
        input_schema: None,
        ..listed("bare", "{}")
    });
    let (tools, notices) = prepare(&[odd]);
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["bare", "fine"]);
    assert_eq!(
        tools[0].input_schema.get(),
        r#"{"type":"object","properties":{}}"#
    );
    assert_eq!(
        notices,
        [
            "connector odd: tool  is left out: it has no name",
            "connector odd: tool fine is left out: the connector lists the name twice",
            "connector odd: tool text is left out: its schema describes a string, and arguments are an object",
        ]
    );
}

#[test]
fn an_offered_tool_of_a_connector_says_whose_it_is() {
    let (tools, _) = prepare(&[listing("web", &["search"])]);
    let agent = agent(AgentConfig::default());
    let offered = offer(&agent, &[no_notes()], RunKind::Direct, &tools, &[]);
    let tool = offered.iter().find(|tool| tool.source == Source::Connector);
    assert_eq!(
        serde_json::to_string(&tool).unwrap(),
        r#"{"name":"search","description":"Does search.","input_schema":{"type":"object","properties":{}},"source":"connector","connector":"web"}"#
    );
}
