//! The second step: exact values of secrets, in every form a program writes them, out of a text.

mod edges;
mod finder;
mod forms;
mod spans;
mod values;

use secrecy::SecretString;

use super::Filtered;
use crate::tools::Filter;
use edges::{Cuts, Edges};
use finder::Finder;
use spans::Spans;
use values::{Opened, Values};

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
        self.masked(text, Cuts::default())
            .unwrap_or_else(|| text.to_owned())
    }

    /// [`Redactor::apply`] on the last part of a longer text, which may begin inside a value.
    #[must_use]
    pub fn apply_to_tail(&self, text: &str) -> String {
        let cuts = Cuts {
            start: true,
            ..Cuts::default()
        };
        self.masked(text, cuts).unwrap_or_else(|| text.to_owned())
    }

    /// Whether [`Redactor::apply`] would leave a text as it is.
    #[must_use]
    pub fn finds_nothing(&self, text: &str) -> bool {
        self.masked(text, Cuts::default()).is_none()
    }

    /// `None` when nothing has to go.
    fn masked(&self, text: &str, cuts: Cuts) -> Option<String> {
        let finder = self.finder.as_ref()?;
        let mut opened = Opened::new(&self.values);
        let mut spans = Spans::default();
        finder.spans(text, &mut opened, &mut spans);
        self.edges.spans(text, cuts, &mut opened, &mut spans);
        if spans.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        spans.each(|start, end, value| {
            out.push_str(&text[copied..start]);
            if let Some(value) = value {
                out.push_str("[redacted:");
                out.push_str(self.values.name(value));
                out.push(']');
            }
            copied = end;
        });
        out.push_str(&text[copied..]);
        Some(out)
    }
}

impl Filtered {
    /// Takes the secrets out. What is filtered stays, so that it can be redacted again with
    /// secrets that came meanwhile.
    #[must_use]
    pub fn redact(&self, redactor: &Redactor) -> Redacted {
        let cuts = Cuts {
            start: false,
            end: self.cut,
            middle: true,
        };
        Redacted {
            text: redactor
                .masked(&self.text, cuts)
                .unwrap_or_else(|| self.text.clone()),
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
