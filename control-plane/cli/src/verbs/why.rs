//! `guilds why`: a tool's state for an agent, level by level.

use clap::Args;
use serde_json::Value;

use crate::api::{Client, Role as Token, segment};
use crate::error::{Exit, Failure};
use crate::kind::{ago, words};
use crate::screen::{Screen, Tone};
use crate::table::{Cell, Heading, Role, Table};
use crate::{Context, Format, output, text};

/// Kinds of run, as the API and as people name them.
const RUNS: [(&str, &str); 3] = [
    ("direct", "direct"),
    ("group_chat", "group chat"),
    ("schedule", "schedule"),
];

/// Which tool of which agent.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The agent's id.
    agent: String,
    /// A tool's name, or a connector's id.
    tool: String,
}

/// Prints why.
pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Token::Operator)?;
    let (agent, tool) = (segment(&arguments.agent), segment(&arguments.tool));
    let answer = client
        .get(&format!("/v1/operator/why?agent={agent}&tool={tool}"))
        .await?;
    match context.format {
        Format::Json => output::json(&answer)?,
        Format::Table => output::payload(&shown(&answer, &context.screen))?,
    }
    Ok(Exit::Done)
}

fn shown(answer: &Value, screen: &Screen) -> String {
    let mut shown = text::line(&words(answer, "reason"));
    shown.push_str("\n\n");
    if let Some(offered) = answer.get("offered") {
        let runs: Vec<_> = RUNS
            .iter()
            .map(|(key, name)| {
                let is = offered.get(key).and_then(Value::as_bool) == Some(true);
                format!("{name} {}", if is { "yes" } else { "no" })
            })
            .collect();
        shown.push_str(&format!("offered in runs: {}\n", runs.join(", ")));
    }
    let mut table = Table::new(vec![
        Heading::new("LEVEL", Role::Id),
        Heading::new("OWNER", Role::Id),
        Heading::new("TOOL", Role::Word),
        Heading::new("FAMILY", Role::Word),
        Heading::new("SET", Role::Word),
        Heading::new("BY", Role::Text),
    ]);
    let levels = answer.get("levels").and_then(Value::as_array);
    if levels.is_none_or(Vec::is_empty) {
        return shown;
    }
    for level in levels.into_iter().flatten() {
        table.push(vec![
            Cell::new(&words(level, "level")),
            Cell::new(&words(level, "owner")),
            switch(level, "tool"),
            switch(level, "family"),
            ago(level, "at", screen),
            Cell::new(&words(level, "by")),
        ]);
    }
    shown.push('\n');
    shown.push_str(&table.show(screen));
    shown
}

/// On, off, or not set on this level.
fn switch(level: &Value, key: &str) -> Cell {
    match level.get(key).and_then(Value::as_bool) {
        Some(true) => Cell::toned("on", Tone::Good),
        Some(false) => Cell::toned("off", Tone::Bad),
        None => Cell::toned("-", Tone::Faint),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_sentence_comes_first_then_each_level() {
        let answer = json!({
            "agent": "ada", "tool": "note_delete", "source": "native",
            "offered": {"direct": false, "group_chat": false, "schedule": false},
            "levels": [
                {"level": "agent", "owner": "ada", "tool": false, "family": null,
                 "by": "operator:ann", "at": "2026-02-26T12:00:00Z"},
                {"level": "guild", "owner": "core", "tool": null, "family": true,
                 "by": "operator:ann", "at": "2026-03-01T11:00:00Z"},
                {"level": "organisation", "owner": "acme", "tool": null, "family": null,
                 "by": null, "at": null},
            ],
            "decided_by": "agent", "reason": "It is off for the agent ada.",
        });
        assert_eq!(
            shown(&answer, &Screen::of(80)),
            "\
It is off for the agent ada.

offered in runs: direct no, group chat no, schedule no

LEVEL         OWNER  TOOL  FAMILY  SET     BY
agent         ada    off   -       3d ago  operator:ann
guild         core   -     on      1h ago  operator:ann
organisation  acme   -     -
"
        );
    }
}
