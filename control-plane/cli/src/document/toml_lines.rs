//! TOML as JSON, and where in a TOML text a path stands.

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::source::{Step, steps};

/// A table as JSON; a datetime is its text.
///
/// # Errors
/// Where JSON has no such value: the path and why.
pub(super) fn to_json(table: toml::Table) -> Result<Map<String, Value>, String> {
    object(table, "")
}

fn object(table: toml::Table, path: &str) -> Result<Map<String, Value>, String> {
    table
        .into_iter()
        .map(|(key, value)| {
            let path = match path {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            Ok((key, json(value, &path)?))
        })
        .collect()
}

fn json(value: toml::Value, path: &str) -> Result<Value, String> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Boolean(is) => Value::Bool(is),
        toml::Value::Datetime(time) => Value::String(time.to_string()),
        toml::Value::Float(number) => Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| format!("{path} is no finite number, which JSON can't hold"))?,
        toml::Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| json(item, &format!("{path}[{index}]")))
            .collect::<Result<_, _>>()?,
        toml::Value::Table(table) => Value::Object(object(table, path)?),
    })
}

/// A text that was read once, to find many things in it.
pub(super) struct Index<'a> {
    root: Option<Spanned<DeTable<'a>>>,
}

impl<'a> Index<'a> {
    /// Reads a text; in one that is no TOML nothing is found.
    pub(super) fn read(text: &'a str) -> Self {
        Self {
            root: DeTable::parse(text).ok(),
        }
    }

    /// The offset of the nearest thing to a path.
    pub(super) fn offset(&self, path: &str) -> Option<usize> {
        let mut at = None;
        let mut here = Here::Table(self.root.as_ref()?.get_ref());
        for step in steps(path) {
            let found = match (here, step) {
                (Here::Table(table) | Here::Value(DeValue::Table(table)), Step::Key(key)) => {
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
        at
    }
}

#[derive(Clone, Copy)]
enum Here<'a> {
    Table(&'a DeTable<'a>),
    Value(&'a DeValue<'a>),
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "organisation = \"acme\"\n\n[[agents]]\nid = \"ada\"\n\n[[agents]]\nid = \"bob\"\nslot = 200\nconfig = { browser = 1 }\nmet = 2026-03-01T12:00:00Z\n";

    #[test]
    fn a_document_is_sent_as_json() {
        let table = toml::from_str(TEXT).unwrap();
        assert_eq!(
            Value::Object(to_json(table).unwrap()),
            serde_json::json!({"organisation": "acme", "agents": [
                {"id": "ada"},
                {"id": "bob", "slot": 200, "config": {"browser": 1}, "met": "2026-03-01T12:00:00Z"},
            ]})
        );
    }

    #[test]
    fn a_problem_stands_on_a_line() {
        let index = Index::read(TEXT);
        let line = |path| {
            index
                .offset(path)
                .map(|at| TEXT[..at].matches('\n').count() + 1)
        };
        assert_eq!(line("organisation"), Some(1));
        assert_eq!(line("agents[0].id"), Some(4));
        assert_eq!(line("agents[1].slot"), Some(8));
        assert_eq!(line("agents[1].config.browser"), Some(9));
        // What is missing stands where it is missed.
        assert_eq!(line("agents[1].guild"), Some(6));
        assert_eq!(line("guilds"), None);
    }
}
