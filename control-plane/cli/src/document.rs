//! The operator's document: TOML for people, JSON for the API, and the line a problem stands on.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Failure;

/// A document as JSON.
///
/// # Errors
/// When it is no TOML, or holds what JSON can't.
pub(crate) fn to_json(text: &str) -> Result<Value, Failure> {
    let table: toml::Table =
        toml::from_str(text).map_err(|error| Failure::local(format!("not TOML: {error}")))?;
    serde_json::to_value(table)
        .map_err(|error| Failure::local(format!("the document can't be sent as JSON: {error}")))
}

/// The line, counted from 1, of the nearest thing in the document to a path
/// such as `agents[1].slot`.
pub(crate) fn line_of(text: &str, path: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut at = None;
    let mut here = Here::Table(root.get_ref());
    for step in steps(path) {
        let found = match (here, step) {
            (Here::Table(table), Step::Key(key)) => {
                let Some((name, value)) = table.get_key_value(key) else {
                    break;
                };
                at = Some(name.span().start);
                value
            }
            (Here::Value(DeValue::Table(table)), Step::Key(key)) => {
                let Some((name, value)) = table.get_key_value(key) else {
                    break;
                };
                at = Some(name.span().start);
                value
            }
            (Here::Value(DeValue::Array(items)), Step::Index(index)) => {
                let Some(value): Option<&Spanned<DeValue<'_>>> = items.get(index) else {
                    break;
                };
                at = Some(value.span().start);
                value
            }
            _ => break,
        };
        here = Here::Value(found.get_ref());
    }
    at.map(|at| text[..at].matches('\n').count() + 1)
}

#[derive(Clone, Copy)]
enum Here<'a> {
    Table(&'a DeTable<'a>),
    Value(&'a DeValue<'a>),
}

enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    path.split(['.', '['])
        .map(|part| part.trim_end_matches(']'))
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().map_or(Step::Key(part), Step::Index))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "organisation = \"acme\"\n\n[[agents]]\nid = \"ada\"\n\n[[agents]]\nid = \"bob\"\nslot = 200\nconfig = { browser = 1 }\n";

    #[test]
    fn a_document_is_sent_as_json() {
        assert_eq!(
            to_json(TEXT).unwrap().to_string(),
            r#"{"agents":[{"id":"ada"},{"config":{"browser":1},"id":"bob","slot":200}],"organisation":"acme"}"#
        );
    }

    #[test]
    fn a_problem_stands_on_a_line() {
        assert_eq!(line_of(TEXT, "organisation"), Some(1));
        assert_eq!(line_of(TEXT, "agents[0].id"), Some(4));
        assert_eq!(line_of(TEXT, "agents[1].slot"), Some(8));
        assert_eq!(line_of(TEXT, "agents[1].config.browser"), Some(9));
        // What is missing stands where it is missed.
        assert_eq!(line_of(TEXT, "agents[1].guild"), Some(6));
        assert_eq!(line_of(TEXT, "guilds"), None);
    }
}
