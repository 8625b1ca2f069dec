//! One file of a document: TOML for people, JSON for programs, and where in it a path stands.

use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};

use super::{json_lines, toml_lines};
use crate::error::Failure;

/// A larger document than the API takes (8 MiB) need not be read whole.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// A file that was read.
#[derive(Debug)]
pub(crate) struct Source {
    /// As it was named.
    name: String,
    text: String,
    is_json: bool,
    body: Map<String, Value>,
}

impl Source {
    /// Reads a file; `-` is stdin.
    ///
    /// # Errors
    /// When it can't be read or is neither TOML nor JSON.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let is_stdin = path == Path::new("-");
        let name = if is_stdin {
            "stdin".to_owned()
        } else {
            path.display().to_string()
        };
        let told = |error| Failure::usage(format!("{name}: {error}"));
        let mut bytes = Vec::new();
        let from: Box<dyn Read> = if is_stdin {
            Box::new(std::io::stdin())
        } else {
            Box::new(std::fs::File::open(path).map_err(told)?)
        };
        from.take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(told)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Failure::usage(format!(
                "{name}: is larger than 8 MiB, the most the control plane takes"
            )));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| Failure::invalid(format!("{name}: is no UTF-8 text")))?;
        Self::new(&name, text)
    }

    /// A text that is JSON when its first character is `{`, as no TOML begins
    /// with one, or when its name ends in `.json`.
    ///
    /// # Errors
    /// When it is not what it should be: where and why, never with the text of
    /// the line, which may hold a secret.
    pub(super) fn new(name: &str, text: String) -> Result<Self, Failure> {
        let is_json = name.ends_with(".json") || text.trim_start().starts_with('{');
        let body = if is_json {
            json(name, &text)?
        } else {
            toml(name, &text)?
        };
        Ok(Self {
            name: name.to_owned(),
            text,
            is_json,
            body,
        })
    }

    /// What it says.
    pub(super) fn body(&self) -> &Map<String, Value> {
        &self.body
    }

    /// Where things stand in it; read once for however many are asked for.
    pub(super) fn lines(&self) -> Lines<'_> {
        let ends = self.text.bytes().enumerate();
        Lines {
            name: &self.name,
            index: if self.is_json {
                Index::Json(json_lines::Index::read(&self.text))
            } else {
                Index::Toml(toml_lines::Index::read(&self.text))
            },
            ends: ends
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at)
                .collect(),
        }
    }
}

fn json(name: &str, text: &str) -> Result<Map<String, Value>, Failure> {
    let body = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let told = error.to_string();
        let place = format!(" at line {line} column {column}");
        let told = told.strip_suffix(&place).unwrap_or(&told);
        Failure::invalid(format!("{name}:{line}:{column}: not JSON: {told}"))
    })?;
    let Value::Object(body) = body else {
        return Err(Failure::invalid(format!("{name}: is no JSON object")));
    };
    // The first of two would be lost without a word.
    if let Some((at, key)) = json_lines::repeated(text) {
        return Err(Failure::invalid(format!(
            "{name}:{}: \"{}\" stands in this object already",
            position(text, at).0,
            key.escape_debug()
        )));
    }
    Ok(body)
}

fn toml(name: &str, text: &str) -> Result<Map<String, Value>, Failure> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let place = error.span().map_or_else(String::new, |span| {
            let (line, column) = position(text, span.start);
            format!(":{line}:{column}")
        });
        let told: Vec<_> = error.message().lines().map(str::trim).collect();
        Failure::invalid(format!("{name}{place}: not TOML: {}", told.join(", ")))
    })?;
    toml_lines::to_json(table).map_err(|told| Failure::invalid(format!("{name}: {told}")))
}

/// Line and column of an offset, counted from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (
        before.matches('\n').count() + 1,
        before[start..].chars().count() + 1,
    )
}

/// Where the things of a source stand.
pub(super) struct Lines<'a> {
    name: &'a str,
    index: Index<'a>,
    /// Offsets of the ends of its lines.
    ends: Vec<usize>,
}

enum Index<'a> {
    Json(json_lines::Index<'a>),
    Toml(toml_lines::Index<'a>),
}

impl Lines<'_> {
    /// `file:line` of the nearest thing to a path such as `agents[1].slot`.
    pub(super) fn place(&self, path: &str) -> String {
        match self.line(path) {
            Some(line) => format!("{}:{line}", self.name),
            None => self.name.to_owned(),
        }
    }

    /// The line of the nearest thing to a path, counted from 1.
    pub(super) fn line(&self, path: &str) -> Option<usize> {
        let at = match &self.index {
            Index::Json(index) => index.offset(path),
            Index::Toml(index) => index.offset(path),
        };
        at.map(|at| self.ends.partition_point(|end| *end < at) + 1)
    }
}

/// A step of a path such as `agents[1].slot`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The steps of a path.
pub(super) fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    path.split(['.', '['])
        .filter(|part| !part.is_empty())
        .map(|part| match part.strip_suffix(']') {
            Some(index) => index.parse().map_or(Step::Key(index), Step::Index),
            None => Step::Key(part),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_toml_nor_json_is_told_with_its_file() {
        let message = |name: &str, text: &str| {
            let failure = Source::new(name, text.to_owned()).unwrap_err();
            failure.message().to_owned()
        };
        assert_eq!(message("a.json", "[]"), "a.json: is no JSON object");
        assert_eq!(
            message("stdin", " {\"a\": }"),
            "stdin:1:8: not JSON: expected value"
        );
        assert_eq!(
            message("a.json", "{\n \"agents\": [1],\n \"agents\": []}"),
            "a.json:3: \"agents\" stands in this object already"
        );
        let told = message("a.toml", "b = 1\nvalue = \"sk_live_0123456789\n");
        assert!(told.starts_with("a.toml:2:28: not TOML: "), "{told}");
        assert!(!told.contains("sk_live"), "{told}");
        assert_eq!(
            message("a.toml", "a = [{ b = nan }]"),
            "a.toml: a[0].b is no finite number, which JSON can't hold"
        );
    }
}
