//! The document as it was read: its entries by kind, before anything stored is looked at.

use super::kind::AnyEntries;
use super::node::{self, Node};
use super::reader::{Place, Problems, Table};
use super::{Format, KINDS, Problem, Session};

/// A document that could be read, with what is wrong in itself.
pub(super) struct Document {
    /// By kind, in the order of the list.
    pub(super) entries: Vec<Box<dyn AnyEntries>>,
    pub(super) problems: Problems,
}

/// The key that names the organisation.
pub(super) const ORGANISATION: &str = "organisation";

/// Reads a document of an organisation.
///
/// # Errors
/// When it can't be read at all: what is no TOML or JSON, or no table.
pub(super) fn read(
    body: &[u8],
    format: Format,
    session: &Session<'_>,
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
    let keys: Vec<&str> = std::iter::once(ORGANISATION)
        .chain(KINDS.iter().map(|kind| kind.word()))
        .collect();
    let Some(table) = Table::open(top, &node, &keys, &mut problems) else {
        problems.into_result()?;
        return Err(Vec::new());
    };
    if let Some((at, word)) = table.text(ORGANISATION, &mut problems)
        && word != session.organisation
    {
        problems.add(
            &at,
            format!(
                "the token is one of organisation {}; a document changes its own organisation only",
                session.organisation
            ),
        );
    }
    let mut entries = Vec::new();
    for kind in KINDS {
        let items: Vec<(Place, &Node)> = table.list(kind.word(), &mut problems).unwrap_or_default();
        entries.push(kind.parse(items, session, &mut problems));
    }
    Ok(Document { entries, problems })
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
