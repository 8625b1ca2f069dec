//! The first step: a tool's output filter.

mod page;
mod terminal;

use super::Raw;
use crate::tools::Filter;

/// A result that its tool's filter has seen.
#[derive(Debug)]
pub struct Filtered {
    pub(super) text: String,
    pub(super) filter: Filter,
    pub(super) original_bytes: u64,
    pub(super) cut: bool,
    pub(super) error: bool,
    pub(super) exit_code: Option<i32>,
}

impl Raw {
    /// Applies the filter. U+0000, which PostgreSQL can't hold, becomes U+FFFD first.
    #[must_use]
    pub fn filter(self, filter: Filter) -> Filtered {
        let text = if self.text.contains('\0') {
            self.text.replace('\0', "\u{fffd}")
        } else {
            self.text
        };
        let text = match filter {
            Filter::None => text,
            Filter::Terminal => terminal::resolve(&text),
            Filter::TerminalFolded => terminal::fold(&terminal::resolve(&text)),
            Filter::Page => page::clean(&text),
        };
        Filtered {
            text,
            filter,
            original_bytes: self.original_bytes,
            cut: self.cut,
            error: self.error,
            exit_code: self.exit_code,
        }
    }
}
