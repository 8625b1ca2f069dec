//! Reading a document's tables: every problem is kept with its path, and reading goes on.

use std::collections::BTreeSet;

use super::Problem;
use super::field::Field;
use super::node::{Node, Value, at_line};
use crate::store::agents::is_id;
use crate::tools::validation::{nearest, shown};

/// Most problems told; a document with more is read again after mending these.
pub const MAX_PROBLEMS: usize = 200;
/// Most allowed words told of one problem, and most that are compared for a near one.
const MAX_ALLOWED: usize = 20;
const MAX_COMPARED: usize = 1_000;

/// Where something stands in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) line: Option<usize>,
}

impl Place {
    /// The place of one of its keys.
    pub(super) fn key(&self, key: &str) -> Self {
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        Self {
            path,
            line: self.line,
        }
    }
}

/// Every problem so far, and one more than are told, to know that there are more.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn add(&mut self, place: &Place, message: impl AsRef<str>) {
        if !self.is_full() {
            self.0.push(Problem {
                path: place.path.clone(),
                message: at_line(message.as_ref(), place.line),
            });
        }
    }

    /// Whether further problems would not be told, so that none need be written.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() > MAX_PROBLEMS
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The problems, when there are any.
    pub(super) fn into_result(self) -> Result<(), Vec<Problem>> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(self.0)
        }
    }

    pub(super) fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

/// One table of the document.
pub(super) struct Table<'a> {
    pub(super) at: Place,
    entries: &'a [(String, Node)],
}

impl<'a> Table<'a> {
    /// Opens a table; anything else is a problem.
    pub(super) fn open(
        at: Place,
        node: &'a Node,
        allowed: &[&str],
        problems: &mut Problems,
    ) -> Option<Self> {
        let Value::Table(entries) = &node.value else {
            problems.add(
                &at,
                format!("is {}; a table is expected", node.value.kind()),
            );
            return None;
        };
        let table = Self { at, entries };
        table.check_keys(allowed, problems);
        Some(table)
    }

    /// Opens a table whose keys are free; one that stands twice is a problem.
    pub(super) fn open_free(at: Place, node: &'a Node, problems: &mut Problems) -> Option<Self> {
        let Value::Table(entries) = &node.value else {
            problems.add(
                &at,
                format!("is {}; a table is expected", node.value.kind()),
            );
            return None;
        };
        let table = Self { at, entries };
        let mut seen = BTreeSet::new();
        for (at, key, _) in table.entries() {
            if !seen.insert(key) {
                problems.add(&at, "stands more than once");
            }
        }
        Some(table)
    }

    fn check_keys(&self, allowed: &[&str], problems: &mut Problems) {
        let mut seen = BTreeSet::new();
        for (key, node) in self.entries {
            if problems.is_full() {
                return;
            }
            let at = Place {
                line: node.line,
                ..self.at.key(cut(key))
            };
            if !seen.insert(key) {
                problems.add(&at, "stands more than once");
            } else if !allowed.contains(&key.as_str()) {
                problems.add(&at, not_allowed("is not a known key", key, allowed));
            }
        }
    }

    /// The value of a key, and its place.
    pub(super) fn get(&self, key: &str) -> Option<(Place, &'a Node)> {
        self.entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| {
                let at = Place {
                    line: node.line,
                    ..self.at.key(key)
                };
                (at, node)
            })
    }

    /// A text; `None` also when it is something else, which is a problem.
    pub(super) fn text(&self, key: &str, problems: &mut Problems) -> Option<(Place, &'a str)> {
        let (at, node) = self.get(key)?;
        let text = as_text(&at, node, problems)?;
        Some((at, text))
    }

    /// One of a few words.
    pub(super) fn word(
        &self,
        key: &str,
        words: &[&'static str],
        problems: &mut Problems,
    ) -> Option<&'static str> {
        let (at, text) = self.text(key, problems)?;
        let found = words.iter().copied().find(|word| *word == text);
        if found.is_none() {
            let what = format!("{} is none of the allowed words", shown(text));
            problems.add(&at, not_allowed(&what, text, words));
        }
        found
    }

    /// Every key with its value, of a table whose keys are free.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Place, &'a str, &'a Node)> {
        self.entries.iter().map(|(key, node)| {
            let at = Place {
                line: node.line,
                ..self.at.key(cut(key))
            };
            (at, key.as_str(), node)
        })
    }

    /// A text of the grammar of ids.
    pub(super) fn id(&self, key: &str, problems: &mut Problems) -> Option<(Place, String)> {
        let (at, node) = self.get(key)?;
        let id = as_id(&at, node, problems)?;
        Some((at, id))
    }

    /// The id that names the object.
    pub(super) fn own_id(&self, problems: &mut Problems) -> Field<String> {
        if self.get("id").is_none() {
            problems.add(&self.at.key("id"), "is missing (required)");
        }
        let id = self.id("id", problems).map(|(_, id)| id);
        Field::of(self, "id", id)
    }

    pub(super) fn boolean(&self, key: &str, problems: &mut Problems) -> Option<bool> {
        match self.get(key)? {
            (
                _,
                Node {
                    value: Value::Boolean(word),
                    ..
                },
            ) => Some(*word),
            (at, node) => {
                problems.add(
                    &at,
                    format!("is {}; true or false is expected", node.value.kind()),
                );
                None
            }
        }
    }

    /// An integer from `least` to `most`.
    pub(super) fn integer(
        &self,
        key: &str,
        (least, most): (i64, i64),
        problems: &mut Problems,
    ) -> Option<i64> {
        match self.get(key)? {
            (
                _,
                Node {
                    value: Value::Integer(number),
                    ..
                },
            ) if (least..=most).contains(number) => Some(*number),
            (
                at,
                Node {
                    value: Value::Integer(number),
                    ..
                },
            ) => {
                problems.add(&at, format!("is {number}; {least} to {most} is allowed"));
                None
            }
            (at, node) => {
                problems.add(
                    &at,
                    format!(
                        "is {}; an integer from {least} to {most} is expected",
                        node.value.kind()
                    ),
                );
                None
            }
        }
    }

    /// The items of a list, each with its place; `None` when the key is absent.
    pub(super) fn list(
        &self,
        key: &str,
        problems: &mut Problems,
    ) -> Option<Vec<(Place, &'a Node)>> {
        match self.get(key)? {
            (
                at,
                Node {
                    value: Value::List(items),
                    ..
                },
            ) => {
                let place = |(nth, node): (usize, &'a Node)| {
                    let place = Place {
                        path: format!("{}[{nth}]", at.path),
                        line: node.line,
                    };
                    (place, node)
                };
                Some(items.iter().enumerate().map(place).collect())
            }
            (at, node) => {
                problems.add(&at, format!("is {}; a list is expected", node.value.kind()));
                None
            }
        }
    }
}

/// The text of a value; anything else is a problem, and so is U+0000, which can't be stored.
pub(super) fn as_text<'a>(at: &Place, node: &'a Node, problems: &mut Problems) -> Option<&'a str> {
    match &node.value {
        Value::Text(text) if text.contains('\0') => {
            problems.add(at, "holds U+0000, which can't be stored");
            None
        }
        Value::Text(text) => Some(text),
        value => {
            problems.add(at, format!("is {}; a string is expected", value.kind()));
            None
        }
    }
}

/// A text of the grammar of ids; anything else is a problem.
pub(super) fn as_id(at: &Place, node: &Node, problems: &mut Problems) -> Option<String> {
    let text = as_text(at, node, problems)?;
    if is_id(text) {
        return Some(text.to_owned());
    }
    problems.add(
        at,
        format!(
            "{} is no id; an id opens with a lower-case letter and has lower-case letters, digits and hyphens, at most 31 characters",
            shown(text)
        ),
    );
    None
}

/// A text of at most so many characters.
pub(super) fn at_most(
    at: &Place,
    text: &str,
    most: usize,
    problems: &mut Problems,
) -> Option<String> {
    let characters = text.chars().count();
    if characters > most {
        problems.add(
            at,
            format!("has {characters} characters; at most {most} are allowed"),
        );
        return None;
    }
    Some(text.to_owned())
}

/// `… allowed: a, b; did you mean a?`
pub(super) fn not_allowed(what: &str, word: &str, allowed: &[&str]) -> String {
    if allowed.is_empty() {
        return what.to_owned();
    }
    let told = &allowed[..allowed.len().min(MAX_ALLOWED)];
    let mut sentence = format!("{what}; allowed: {}", told.join(", "));
    if allowed.len() > told.len() {
        sentence.push_str(&format!(" and {} more", allowed.len() - told.len()));
    }
    if let Some(near) = nearest(word, allowed.iter().copied().take(MAX_COMPARED)) {
        sentence.push_str(&format!("; did you mean {near}?"));
    }
    sentence
}

/// A key cut to a length worth repeating.
fn cut(key: &str) -> &str {
    &key[..key.floor_char_boundary(100)]
}
