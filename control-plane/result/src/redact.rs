//! The second step: exact values of secrets, in every form a program writes them, out of a text.

mod edges;
mod escapes;
mod finder;
mod forms;
mod patterns;
mod sieve;
mod spans;
mod values;
mod view;

use secrecy::SecretString;

use super::cuts::Cuts;
use super::{Filtered, filter};
use crate::Filter;
use edges::Edges;
use finder::Finder;
use patterns::Patterns;
use spans::Spans;
use values::{Opened, Values};
use view::View;

/// A value that no message may hold.
#[derive(Debug)]
pub struct Secret {
    /// What the marker names: a secret's name, or a login's connector id.
    pub name: String,
    /// The value.
    pub value: SecretString,
}

/// Finds the secrets that an organisation had at one version of them. The default one knows
/// none and is of no version.
#[derive(Default)]
pub struct Redactor {
    version: i64,
    values: Values,
    patterns: Patterns,
    /// `None` when there is nothing to find.
    finder: Option<Finder>,
    edges: Edges,
    /// A form holds a space.
    spaces: bool,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values are secrets; only their number may be seen.
        f.debug_struct("Redactor")
            .field("version", &self.version)
            .field("values", &self.values.len())
            .finish_non_exhaustive()
    }
}

/// A filtered result without secrets.
#[derive(Debug)]
pub struct Redacted {
    pub(super) text: String,
    pub(super) filter: Filter,
    pub(super) original_bytes: u64,
    pub(super) cut: bool,
    pub(super) error: bool,
    pub(super) exit_code: Option<i32>,
    pub(super) version: i64,
}

impl Redactor {
    /// A redactor of these secrets in all their forms. `version` is the one of the
    /// organisation's secrets that they are.
    #[must_use]
    pub fn new(version: i64, secrets: Vec<Secret>) -> Self {
        let values = Values::new(secrets);
        let mut patterns = Patterns::default();
        let mut finder = finder::Gathering::default();
        let mut edges = edges::Gathering::default();
        let mut spaces = false;
        values.each_form(|form, text| {
            spaces |= text.contains(' ');
            let text = text.as_bytes();
            let pattern = finder.add(&mut patterns, form, text);
            edges.add(pattern, text);
        });
        patterns.shrink();
        Self {
            version,
            finder: (patterns.len() > 0).then(|| finder.build()),
            edges: edges.build(),
            patterns,
            values,
            spaces,
        }
    }

    /// Bytes of memory that the finding of the values takes, beside the values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let finder = self.finder.as_ref().map_or(0, Finder::bytes);
        self.patterns.bytes() + finder + self.edges.bytes()
    }

    /// The version of the secrets that it knows.
    #[must_use]
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// The text with every match, and where matches overlap their union,
    /// replaced by `[redacted:<NAME>]`: the name of the match that starts first,
    /// then of the longest.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        self.masked(text, &Cuts::default())
            .map_or_else(|| text.to_owned(), |(text, _)| text)
    }

    /// [`Redactor::apply`] on the last part of a longer text, which may begin inside a value.
    #[must_use]
    pub fn apply_to_tail(&self, text: &str) -> String {
        self.masked(text, &Cuts::tail())
            .map_or_else(|| text.to_owned(), |(text, _)| text)
    }

    /// [`Redactor::apply`] on a JSON text: key order and digits are kept. What is no JSON after
    /// that, or no JSON that a reader could take in, becomes a JSON string.
    #[must_use]
    pub fn apply_to_json(&self, text: &str) -> String {
        let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
        let text = self.apply(text);
        if is_json(&text) {
            return text;
        }
        let quoted = serde_json::Value::String(text.replace('\0', "\u{fffd}")).to_string();
        // Escapes may make a value of what was none.
        let quoted = self.apply(&quoted);
        if is_json(&quoted) {
            quoted
        } else {
            "\"[redacted]\"".to_owned()
        }
    }

    /// Whether [`Redactor::apply`] would leave a text as it is.
    #[must_use]
    pub fn finds_nothing(&self, text: &str) -> bool {
        self.masked(text, &Cuts::default()).is_none()
    }

    /// The text without secrets, and where its cuts are then; `None` when nothing has to go.
    fn masked(&self, text: &str, cuts: &Cuts) -> Option<(String, Cuts)> {
        let finder = self.finder.as_ref()?;
        let mut opened = Opened::new(&self.values);
        let mut spans = Spans::default();
        View::each(text, cuts, self.spaces, |view| {
            let mut found = Spans::default();
            finder.spans(view, &self.patterns, &mut opened, &mut found);
            self.edges
                .spans(view, &self.patterns, &mut opened, &mut found);
            spans.add_all(found, |start, end| view.in_text(start, end));
        });
        if spans.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        let mut moved = cuts.clone();
        spans.each(|start, end, value| {
            out.push_str(&text[copied..start]);
            let before = out.len();
            if let Some(value) = value {
                out.push_str("[redacted:");
                out.push_str(self.values.name(value));
                out.push(']');
            }
            moved.replace(cuts, (start, end), (before, out.len()));
            copied = end;
        });
        out.push_str(&text[copied..]);
        Some((out, moved))
    }
}

impl Filtered {
    /// Takes the secrets out. What is filtered stays, so that it can be redacted again with
    /// secrets that came meanwhile.
    #[must_use]
    pub fn redact(&self, redactor: &Redactor) -> Redacted {
        // A filter may write over a part of a value, which is known only before.
        let raw = self.raw.as_ref();
        let masked = raw.and_then(|(text, cuts)| redactor.masked(text, cuts));
        let shown = masked.map(|(text, cuts)| filter::shown(text, &cuts, self.filter));
        let (text, cuts) = shown
            .as_ref()
            .map_or((&self.text, &self.cuts), |(text, cuts)| (text, cuts));
        let masked = redactor.masked(text, cuts);
        Redacted {
            text: masked.map_or_else(|| text.clone(), |(text, _)| text),
            filter: self.filter,
            original_bytes: self.original_bytes,
            cut: self.cut,
            error: self.error,
            exit_code: self.exit_code,
            version: redactor.version,
        }
    }
}

#[cfg(test)]
mod tests;
