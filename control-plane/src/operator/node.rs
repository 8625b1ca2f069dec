//! A document as a tree that knows its lines, read from TOML or JSON alike.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;

/// A value with the line it stands on, where the format tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) line: Option<usize>,
    pub(super) value: Value,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    /// A fraction, or an integer beyond 64 bits.
    Number,
    Text(String),
    Time,
    List(Vec<Node>),
    /// Keys as they stand, also one that stands twice.
    Table(Vec<(String, Node)>),
}

impl Value {
    /// What a problem calls it.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Number => "a number",
            Self::Text(_) => "a string",
            Self::Time => "a time",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Reads TOML.
///
/// # Errors
/// Every problem of its grammar, with lines.
pub(super) fn from_toml(text: &str) -> Result<Node, Vec<Problem>> {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .collect();
    let line = |at: usize| starts.partition_point(|start| *start <= at);
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(Node {
            line: Some(1),
            value: table_node(table.get_ref(), &line),
        });
    }
    let problem = |error: &toml::de::Error| {
        let place = error.span().map(|span| line(span.start));
        Problem {
            path: String::new(),
            message: at_line(error.message(), place),
        }
    };
    Err(errors.iter().map(problem).collect())
}

/// A sentence with the line it is about.
pub(super) fn at_line(message: &str, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{message} (line {line})"),
        None => message.to_owned(),
    }
}

fn table_node(table: &DeTable<'_>, line: &dyn Fn(usize) -> usize) -> Value {
    let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let mut node = value_node(value, line);
        node.line = Some(line(key.span().start));
        (key.get_ref().to_string(), node)
    };
    Value::Table(table.iter().map(entry).collect())
}

fn value_node(value: &Spanned<DeValue<'_>>, line: &dyn Fn(usize) -> usize) -> Node {
    let node = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Number, Value::Integer),
        DeValue::Float(_) => Value::Number,
        DeValue::Boolean(word) => Value::Boolean(*word),
        DeValue::Datetime(_) => Value::Time,
        DeValue::Array(list) => {
            Value::List(list.iter().map(|item| value_node(item, line)).collect())
        }
        DeValue::Table(table) => table_node(table, line),
    };
    Node {
        line: Some(line(value.span().start)),
        value: node,
    }
}

/// Reads JSON.
///
/// # Errors
/// The first problem of its grammar, with its line.
pub(super) fn from_json(body: &[u8]) -> Result<Node, Vec<Problem>> {
    serde_json::from_slice(body).map_err(|error| {
        vec![Problem {
            path: String::new(),
            message: format!("the document is not readable as JSON: {error}"),
        }]
    })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = deserializer.deserialize_any(Read)?;
        Ok(Self { line: None, value })
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, word: bool) -> Result<Value, E> {
        Ok(Value::Boolean(word))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Number, Value::Integer))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Number)
    }
    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = items.next_element()? {
            list.push(node);
        }
        Ok(Value::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut table = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            table.push(entry);
        }
        Ok(Value::Table(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_knows_the_line_of_every_key() {
        let node = from_toml("a = 1\n\n[[list]]\nb = \"x\"\n").unwrap();
        let Value::Table(entries) = node.value else {
            panic!("no table");
        };
        let lines: Vec<_> = entries
            .iter()
            .map(|(key, node)| (key.as_str(), node.line))
            .collect();
        assert_eq!(lines, [("a", Some(1)), ("list", Some(3))]);
        let Value::List(list) = &entries[1].1.value else {
            panic!("no list");
        };
        let Value::Table(inner) = &list[0].value else {
            panic!("no table");
        };
        assert_eq!(inner[0].1.line, Some(4));
    }

    #[test]
    fn what_is_not_toml_or_json_is_named_with_its_line() {
        let problems = from_toml("a = 1\nb = \nc = 3\n").unwrap_err();
        assert!(problems[0].message.contains("(line 2)"), "{problems:?}");
        let problems = from_json(b"{\"a\":").unwrap_err();
        assert!(problems[0].message.contains("line 1"), "{problems:?}");
    }

    #[test]
    fn a_key_that_stands_twice_is_seen() {
        let node = from_json(br#"{"a":1,"a":2}"#).unwrap();
        let Value::Table(entries) = node.value else {
            panic!("no table");
        };
        assert_eq!(entries.len(), 2);
    }
}
