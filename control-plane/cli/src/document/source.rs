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
            .map_err(|_| Failure::local(format!("{name}: is no UTF-8 text")))?;
        Self::new(&name, text)
    }

    /// A text that is JSON when its first character is `{`, as no TOML begins
    /// with one, or when its name ends in `.json`.
    ///
    /// # Errors
    /// When it is not what it should be.
    pub(super) fn new(name: &str, text: String) -> Result<Self, Failure> {
        let is_json = name.ends_with(".json") || text.trim_start().starts_with('{');
        let told = |problem: String| Failure::local(format!("{name}: {problem}"));
        let body = if is_json {
            match serde_json::from_str(&text) {
                Ok(Value::Object(body)) => body,
                Ok(_) => return Err(told("is no JSON object".to_owned())),
                Err(error) => return Err(told(format!("not JSON: {error}"))),
            }
        } else {
            let table: toml::Table =
                toml::from_str(&text).map_err(|error| told(format!("not TOML: {error}")))?;
            toml_lines::to_json(table).map_err(told)?
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

    /// `file:line` of the nearest thing to a path such as `agents[1].slot`.
    pub(super) fn place(&self, path: &str) -> String {
        match self.line(path) {
            Some(line) => format!("{}:{line}", self.name),
            None => self.name.clone(),
        }
    }

    /// The line of the nearest thing to a path, counted from 1.
    pub(super) fn line(&self, path: &str) -> Option<usize> {
        let at = if self.is_json {
            json_lines::offset(&self.text, path)
        } else {
            toml_lines::offset(&self.text, path)
        };
        at.map(|at| line(&self.text, at))
    }
}

/// The line of an offset, counted from 1.
fn line(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count() + 1
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
            "stdin: not JSON: expected value at line 1 column 8"
        );
        assert!(
            message("a.toml", "a = \n")
                .starts_with("a.toml: not TOML: TOML parse error at line 1, column 5\n")
        );
        assert_eq!(
            message("a.toml", "a = [{ b = nan }]"),
            "a.toml: a[0].b is no finite number, which JSON can't hold"
        );
    }
}
