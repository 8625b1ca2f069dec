//! Reading typed settings out of a TOML table while collecting every problem with its line.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;
use crate::names;

/// A parsed file and what is wrong with it.
#[derive(Debug)]
pub struct Table<'a> {
    text: &'a str,
    table: DeTable<'a>,
    read: BTreeSet<&'static str>,
    /// Settings that have a problem.
    bad: BTreeSet<&'static str>,
    /// Lines that are no TOML.
    broken: Vec<Problem>,
    problems: Vec<Problem>,
}

impl<'a> Table<'a> {
    /// Parses as much as can be parsed.
    pub fn parse(text: &'a str) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let broken = errors
            .into_iter()
            .map(|error| Problem {
                line: error.span().map_or(0, |span| line(text, span.start)),
                message: error.message().to_owned(),
            })
            .collect();
        Self {
            text,
            table: table.into_inner(),
            read: BTreeSet::new(),
            bad: BTreeSet::new(),
            broken,
            problems: Vec::new(),
        }
    }

    /// Adds a problem with what the setting `name` leads to; one with the
    /// setting itself is enough.
    pub fn problem_unless_known(&mut self, name: &'static str, message: String) {
        if !self.bad.contains(name) {
            self.problem(name, message);
        }
    }

    /// Adds a problem with the setting `name`.
    pub fn problem(&mut self, name: &'static str, message: String) {
        self.bad.insert(name);
        let line = self
            .table
            .get(name)
            .map_or(0, |value| line(self.text, value.span().start));
        self.problems.push(Problem { line, message });
    }

    /// All problems in the order of their lines, settings that nobody read among them.
    ///
    /// # Errors
    /// When there is any.
    pub fn finish(mut self) -> Result<(), Vec<Problem>> {
        if !self.broken.is_empty() {
            // What was guessed of a broken line would only be noise beside it.
            return Err(self.broken);
        }
        for (name, _) in &self.table {
            let key: &str = name.get_ref();
            if !self.read.contains(key) {
                self.problems.push(Problem {
                    line: line(self.text, name.span().start),
                    message: format!("`{key}` is no setting"),
                });
            }
        }
        if self.problems.is_empty() {
            return Ok(());
        }
        self.problems.sort_by_key(|problem| problem.line);
        Err(self.problems)
    }

    /// An id that has to be there.
    pub fn id(&mut self, name: &'static str) -> String {
        let Some(id) = self.required(name) else {
            return String::new();
        };
        if !names::is_id(&id) {
            self.problem(
                name,
                format!("`{name}` is {id:?}; it must match ^[a-z][a-z0-9-]{{0,30}}$"),
            );
        }
        id
    }

    /// A short name with a default.
    pub fn name(&mut self, name: &'static str, default: &str, is: fn(&str) -> bool) -> String {
        let Some(text) = self.text(name) else {
            return default.to_owned();
        };
        if !is(&text) {
            self.problem(
                name,
                format!("`{name}` is {text:?}; small letters, digits and the like are allowed, as in {default:?}"),
            );
        }
        text
    }

    /// An address and port.
    pub fn address(&mut self, name: &'static str, default: &str) -> SocketAddr {
        let text = self.text(name).unwrap_or_else(|| default.to_owned());
        text.parse().unwrap_or_else(|_| {
            self.problem(
                name,
                format!(
                    "`{name}` is {text:?}; allowed is an IP address and a port, as in {default:?}"
                ),
            );
            SocketAddr::from(([127, 0, 0, 1], 0))
        })
    }

    /// An absolute path that has to be given.
    pub fn file(&mut self, name: &'static str) -> PathBuf {
        let text = self.required(name);
        self.absolute(name, text)
    }

    /// An absolute path with a default.
    pub fn folder(&mut self, name: &'static str, default: &str) -> PathBuf {
        let text = self.text(name).unwrap_or_else(|| default.to_owned());
        self.absolute(name, Some(text))
    }

    /// A number in a range.
    pub fn number(&mut self, name: &'static str, default: u32, range: RangeInclusive<u32>) -> u32 {
        let Some(found) = self.value(name) else {
            return default;
        };
        let number = match found.get_ref() {
            DeValue::Integer(integer) => {
                u32::from_str_radix(integer.as_str(), integer.radix()).ok()
            }
            other => {
                let kind = kind(other);
                self.problem(name, format!("`{name}` must be an integer, not {kind}"));
                return default;
            }
        };
        number
            .filter(|number| range.contains(number))
            .unwrap_or_else(|| {
                self.problem(
                    name,
                    format!("`{name}` must be {} to {}", range.start(), range.end()),
                );
                default
            })
    }

    /// One of several words; the first is the default.
    pub fn choice<T: Copy>(&mut self, name: &'static str, allowed: &[(&str, T)]) -> T {
        let default = allowed[0].1;
        let Some(text) = self.text(name) else {
            return default;
        };
        if let Some((_, value)) = allowed.iter().find(|(word, _)| *word == text) {
            return *value;
        }
        let words: Vec<String> = allowed
            .iter()
            .map(|(word, _)| format!("{word:?}"))
            .collect();
        let verb = if words.len() == 1 { "is" } else { "are" };
        self.problem(
            name,
            format!("`{name}` is {text:?}; allowed {verb} {}", words.join(", ")),
        );
        default
    }

    /// `true` or `false`, which is the default.
    pub fn flag(&mut self, name: &'static str) -> bool {
        let Some(found) = self.value(name) else {
            return false;
        };
        if let DeValue::Boolean(flag) = found.get_ref() {
            return *flag;
        }
        let kind = kind(found.get_ref());
        self.problem(name, format!("`{name}` must be true or false, not {kind}"));
        false
    }

    fn absolute(&mut self, name: &'static str, text: Option<String>) -> PathBuf {
        let path = PathBuf::from(text.unwrap_or_else(|| "/".to_owned()));
        if !path.is_absolute() {
            self.problem(name, format!("`{name}` must be an absolute path"));
        }
        path
    }

    fn value(&mut self, name: &'static str) -> Option<Spanned<DeValue<'a>>> {
        self.read.insert(name);
        self.table.get(name).cloned()
    }

    fn text(&mut self, name: &'static str) -> Option<String> {
        let found = self.value(name)?;
        if let DeValue::String(text) = found.get_ref() {
            return Some(text.clone().into_owned());
        }
        let kind = kind(found.get_ref());
        self.problem(name, format!("`{name}` must be text, not {kind}"));
        None
    }

    fn required(&mut self, name: &'static str) -> Option<String> {
        if !self.table.contains_key(name) {
            self.read.insert(name);
            self.problem(name, format!("`{name}` is missing"));
            return None;
        }
        self.text(name)
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The line, from 1, of a byte of the text.
fn line(text: &str, byte: usize) -> usize {
    1 + text
        .as_bytes()
        .iter()
        .take(byte)
        .filter(|byte| **byte == b'\n')
        .count()
}
