//! The third step: the byte cap.

use super::Redacted;
use crate::Filter;

/// What a cut result ends with.
const MARKER: &str = "\n[truncated]";

/// A redacted result of at most the cap's bytes.
#[derive(Debug)]
pub struct Capped {
    pub(super) text: String,
    pub(super) filter: Filter,
    pub(super) original_bytes: u64,
    pub(super) truncated: bool,
    pub(super) error: bool,
    pub(super) exit_code: Option<i32>,
    pub(super) version: i64,
}

impl Capped {
    /// The result without its trailer.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether something was cut, here or on the machine.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        self.truncated
    }
}

impl Redacted {
    /// Cuts the result to `max` bytes, its marker counted, never inside a
    /// character. What the machine already cut gets the marker too.
    #[must_use]
    pub fn cap(mut self, max: usize) -> Capped {
        let truncated = self.cut || self.text.len() > max;
        if truncated {
            let keep = max.saturating_sub(MARKER.len()).min(self.text.len());
            self.text.truncate(self.text.floor_char_boundary(keep));
            self.text.push_str(MARKER);
        }
        Capped {
            text: self.text,
            filter: self.filter,
            original_bytes: self.original_bytes,
            truncated,
            error: self.error,
            exit_code: self.exit_code,
            version: self.version,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Raw, Redactor};
    use crate::Filter;

    #[track_caller]
    fn check(text: &str, max: usize, expected: &str, truncated: bool) {
        let capped = Raw::text(text.to_owned())
            .filter(Filter::None)
            .redact(&Redactor::default())
            .cap(max);
        assert_eq!(capped.text, expected);
        assert_eq!(capped.truncated, truncated);
    }

    #[test]
    fn the_cap_counts_its_marker() {
        check(&"a".repeat(1_024), 1_024, &"a".repeat(1_024), false);
        let expected = format!("{}\n[truncated]", "a".repeat(1_012));
        check(&"a".repeat(1_025), 1_024, &expected, true);
        check("", 1_024, "", false);
    }

    #[test]
    fn a_character_is_never_split() {
        let expected = format!("{}\n[truncated]", "🙂".repeat(253));
        // 1,012 bytes are left for text: exactly 253 characters of 4 bytes.
        check(&"🙂".repeat(300), 1_024, &expected, true);
        let expected = format!("a{}\n[truncated]", "🙂".repeat(252));
        check(&format!("a{}", "🙂".repeat(300)), 1_024, &expected, true);
    }
}
