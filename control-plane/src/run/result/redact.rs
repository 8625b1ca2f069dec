//! The second step: exact values of secrets, in every form a program writes them, out of a text.

mod edges;
mod finder;
mod forms;
mod spans;
mod values;
mod view;

use secrecy::SecretString;

use super::cuts::Cuts;
use super::{Filtered, filter};
use crate::tools::Filter;
use edges::Edges;
use finder::Finder;
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

/// The secrets are too many or too long to be looked for.
#[derive(Debug, thiserror::Error)]
#[error("the finder of secrets could not be built")]
pub struct Unbuildable(#[source] aho_corasick::BuildError);

/// Finds the secrets that an organisation had at one version of them. The default one knows
/// none and is of no version.
#[derive(Default)]
pub struct Redactor {
    version: i64,
    values: Values,
    finder: Option<Finder>,
    edges: Edges,
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
    ///
    /// # Errors
    /// [`Unbuildable`]: there is no redactor that lets through what it can't find.
    pub fn new(version: i64, secrets: Vec<Secret>) -> Result<Self, Unbuildable> {
        let values = Values::new(secrets);
        Ok(Self {
            version,
            finder: Finder::new(&values)?,
            edges: Edges::new(&values),
            values,
        })
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
        for view in views(text, cuts) {
            let mut found = Spans::default();
            finder.spans(&view.bytes, &mut opened, &mut found);
            self.edges
                .spans(&view.bytes, &view.cuts, &mut opened, &mut found);
            spans.add_all(found, |start, end| view.in_text(start, end));
        }
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

/// The text and what its readers make of it.
fn views<'a>(text: &'a str, cuts: &'a Cuts) -> Vec<View<'a>> {
    let text = View::of(text, cuts);
    let unescaped = text.unescaped();
    let mut decoded = vec![text.unwrapped(), text.unplussed(), text.unquoted()];
    if let Some(quoted) = decoded[1].as_ref() {
        decoded.push(quoted.unquoted());
    }
    if let Some(unescaped) = &unescaped {
        decoded.push(unescaped.unwrapped());
        decoded.push(unescaped.unescaped());
    }
    let mut views = vec![text];
    views.extend(unescaped);
    views.extend(decoded.into_iter().flatten());
    views
}

#[cfg(test)]
mod tests;
