//! The document as it was read: its objects by kind, before anything stored is looked at.

use super::node::{self, Node};
use super::reader::{Place, Problems, Table};
use super::{Format, Problem, agents, bindings, guilds, machines};

/// A document that could be read, with what is wrong in itself.
pub(super) struct Document {
    pub(super) guilds: Vec<guilds::Entry>,
    pub(super) machines: Vec<machines::Entry>,
    pub(super) agents: Vec<agents::Entry>,
    pub(super) bindings: Vec<bindings::Entry>,
    pub(super) problems: Problems,
}

/// The keys of a document.
const KEYS: [&str; 5] = [
    "organisation",
    guilds::KIND,
    machines::KIND,
    agents::KIND,
    bindings::KIND,
];

/// Reads a document of an organisation.
///
/// # Errors
/// When it can't be read at all: what is no TOML or JSON, or no table.
pub(super) fn read(
    body: &[u8],
    format: Format,
    organisation: &str,
) -> Result<Document, Vec<Problem>> {
    let node = match format {
        Format::Json => node::from_json(body)?,
        Format::Toml => node::from_toml(text(body)?)?,
    };
    let mut problems = Problems::default();
    let top = Place {
        path: String::new(),
        line: None,
    };
    let Some(table) = Table::open(top, &node, &KEYS, &mut problems) else {
        problems.into_result()?;
        return Err(Vec::new());
    };
    if let Some((at, word)) = table.text("organisation", &mut problems)
        && word != organisation
    {
        problems.add(
            &at,
            format!("the token is one of organisation {organisation}; a document changes its own organisation only"),
        );
    }
    let items = |kind: &str, problems: &mut Problems| -> Vec<(Place, &Node)> {
        table.list(kind, problems).unwrap_or_default()
    };
    let guilds = guilds::parse(items(guilds::KIND, &mut problems), &mut problems);
    let machines = machines::parse(items(machines::KIND, &mut problems), &mut problems);
    let agents = agents::parse(items(agents::KIND, &mut problems), &mut problems);
    let rows = items(bindings::KIND, &mut problems);
    let bindings = bindings::parse(rows, organisation, &mut problems);
    Ok(Document {
        guilds,
        machines,
        agents,
        bindings,
        problems,
    })
}

fn text(body: &[u8]) -> Result<&str, Vec<Problem>> {
    std::str::from_utf8(body).map_err(|error| {
        vec![Problem {
            path: String::new(),
            message: format!(
                "the document is not UTF-8 from byte {}",
                error.valid_up_to()
            ),
        }]
    })
}

#[cfg(test)]
mod tests;
