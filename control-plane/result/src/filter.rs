//! The first step: a tool's output filter.

mod page;
mod terminal;

use super::Raw;
use super::cuts::{Cuts, is_sign};

/// What is done to a result before redaction; named in the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Nothing.
    None,
    /// What a terminal would show.
    Terminal,
    /// `Terminal`, and runs of equal lines as one line and a count.
    TerminalFolded,
    /// Well-formed Unicode without invisible controls, `data:` URLs cut.
    Page,
    /// MCP's blocks of content as text, which [`Raw::connector`] made of them.
    Connector,
}

impl Filter {
    /// The word in the metadata's `output_filter`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Terminal | Self::TerminalFolded => "terminal",
            Self::Page => "page",
            Self::Connector => "connector",
        }
    }
}

/// A result that its tool's filter has seen.
#[derive(Debug)]
pub struct Filtered {
    pub(super) text: String,
    pub(super) cuts: Cuts,
    /// What came in and its cuts, where the filter changed it.
    pub(super) raw: Option<(String, Cuts)>,
    pub(super) filter: Filter,
    pub(super) original_bytes: u64,
    /// The machine's limit ended it.
    pub(super) cut: bool,
    pub(super) error: bool,
    pub(super) exit_code: Option<i32>,
}

impl Raw {
    /// Applies the filter. U+0000, which PostgreSQL can't hold, becomes U+FFFD first, and so do
    /// the noncharacters that sign cuts.
    #[must_use]
    pub fn filter(self, filter: Filter) -> Filtered {
        let refused = |c: char| c == '\0' || is_sign(c);
        // Each of them may be shorter than what stands in its place.
        let end = self
            .cut
            .map(|end| replaced(&self.text[..end], refused).len());
        let text = if self.text.contains(refused) {
            replaced(&self.text, refused)
        } else {
            self.text
        };
        let found = Cuts::find(&text, end, self.error);
        let (shown, cuts) = shown(text.clone(), &found, filter);
        let raw = (shown != text).then_some((text, found));
        Filtered {
            text: shown,
            cuts,
            raw,
            filter,
            original_bytes: self.original_bytes,
            cut: self.cut.is_some(),
            error: self.error,
            exit_code: self.exit_code,
        }
    }
}

fn replaced(text: &str, refused: impl Fn(char) -> bool) -> String {
    text.chars()
        .map(|c| if refused(c) { '\u{fffd}' } else { c })
        .collect()
}

fn apply(text: String, filter: Filter) -> String {
    match filter {
        Filter::None | Filter::Connector => text,
        Filter::Terminal => terminal::resolve(&text),
        Filter::TerminalFolded => terminal::fold(&terminal::resolve(&text)),
        Filter::Page => page::clean(&text),
    }
}

/// What a filter makes of a text, and where its cuts are then.
pub(super) fn shown(text: String, cuts: &Cuts, filter: Filter) -> (String, Cuts) {
    if cuts.is_empty() {
        return (apply(text, filter), Cuts::default());
    }
    Cuts::read(&apply(cuts.sign(&text), filter))
}
