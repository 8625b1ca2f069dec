//! What a turn's offer and a call's validation cost: pure functions of the control plane, called here.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use control_plane::run::arguments::validate;
use control_plane::run::offer::connectors::{Listed, Listing, prepare};
use control_plane::run::offer::{RunKind, offer};
use control_plane::run::schema::rewrite;
use control_plane::store::agents::{Agent, AgentConfig};
use control_plane::tools::{TOOLS, find};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::timing::{Row, median_ms};

/// Times that each is done.
const ROUNDS: usize = 200;
/// Tools of connectors.
const CONNECTOR_TOOLS: usize = 200;
/// Tools that the specification has.
const NATIVE_TOOLS: usize = 38;

/// The rows of the part.
pub fn rows() -> Result<Vec<Row>> {
    let connectors = listings()?;
    let (tools, notices) = prepare(&connectors);
    ensure!(
        notices.is_empty() && tools.len() == CONNECTOR_TOOLS,
        "{notices:?}"
    );
    let agent = agent();
    let offered = offer(&agent, &[], RunKind::Direct, &tools, &[]);
    let count = offered.len();
    let missing = NATIVE_TOOLS.saturating_sub(count - CONNECTOR_TOOLS);
    let turn = timed(|| {
        let offered = offer(&agent, &[], RunKind::Direct, &tools, &[]);
        serde_json::to_string(&offered).map(|text| text.len())
    })?;
    let start = timed(|| Ok::<_, serde_json::Error>(prepare(&connectors).0.len()))?;
    let note_get = find("note_get").context("note_get")?;
    let arguments = RawValue::from_string(json!({ "path": "agent/ada/plan.md" }).to_string())?;
    let call = timed_many(1_000, || validate(note_get.schema, &arguments).is_ok());
    let rewriting = timed(|| {
        let shown: usize = TOOLS
            .iter()
            .map(|tool| rewrite(tool.schema).get().len())
            .sum();
        Ok::<_, serde_json::Error>(shown)
    })?;
    Ok(vec![
        row(
            format!("a turn's offer as text, {count} tools ({missing} native ones not built)"),
            turn,
            Some(2.0),
            "most that is allowed",
        ),
        row(
            format!("a start's {CONNECTOR_TOOLS} connector tools, named, mended and rewritten"),
            start,
            None,
            "",
        ),
        row(
            format!("{} native schemas rewritten", TOOLS.len()),
            rewriting,
            None,
            "",
        ),
        row("validation of one note_get".to_owned(), call, None, ""),
    ])
}

fn row(what: String, ours: f64, other: Option<f64>, against: &str) -> Row {
    Row {
        what,
        ours: Some(ours),
        other,
        unit: "ms",
        count: ROUNDS,
        against: against.to_owned(),
    }
}

fn timed<T, E>(work: impl Fn() -> Result<T, E>) -> Result<f64, E> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        black_box(work()?);
        times.push(begun.elapsed());
    }
    Ok(median_ms(&mut times))
}

/// For what is too short for the clock: the median of so many at once, for one.
fn timed_many<T>(many: u32, work: impl Fn() -> T) -> f64 {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            for _ in 0..many {
                black_box(work());
            }
            begun.elapsed()
        })
        .collect();
    median_ms(&mut times) / f64::from(many)
}

fn agent() -> Agent {
    Agent {
        id: "ada".to_owned(),
        organisation: "acme".to_owned(),
        guild: "core".to_owned(),
        machine: "local".to_owned(),
        machine_address: "https://127.0.0.1:8443".to_owned(),
        slot: 1,
        config: AgentConfig {
            browser: true,
            coding: true,
            ..AgentConfig::default()
        },
    }
}

/// Four connectors of fifty tools, each with a schema of the size that is usual.
fn listings() -> Result<Vec<Listing>> {
    let listing = |connector: usize| {
        let tools = (0..CONNECTOR_TOOLS / 4).map(|tool| {
            Ok(Listed {
                name: format!("server{connector}_do_thing_{tool}"),
                description: "Finds, lists or changes things on a server and answers with them. "
                    .repeat(4),
                input_schema: Some(RawValue::from_string(schema().to_string())?),
            })
        });
        Ok(Listing {
            connector: format!("c{connector}"),
            tools: tools.collect::<Result<_>>()?,
        })
    };
    (0..4).map(listing).collect()
}

fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "owner": { "type": "string", "description": "Account that has the repository." },
            "repo": { "type": "string", "description": "Name of the repository." },
            "state": { "type": "string", "enum": ["open", "closed", "all"], "description": "State to list." },
            "since": { "type": "string", "format": "date-time", "description": "Only what changed since." },
            "page": { "type": "number", "minimum": 1, "description": "Page of the results." },
            "labels": { "type": "array", "items": { "type": "string" }, "description": "Labels that all have." },
            "filter": { "type": "object", "properties": {
                "field": { "type": "string" },
                "value": { "anyOf": [{ "type": "string" }, { "type": "number" }, { "type": "null" }] } },
                "required": ["field"], "additionalProperties": false },
        },
        "required": ["owner", "repo"],
        "additionalProperties": false
    })
}
