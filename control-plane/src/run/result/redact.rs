//! The second step: exact values of secrets, in every form a program writes them, out of a text.

mod forms;

use aho_corasick::{AhoCorasick, MatchKind};

use super::Filtered;
use crate::tools::Filter;

/// A value that no message may hold.
#[derive(Debug, Clone, Copy)]
pub struct Secret<'a> {
    /// What the marker names: a secret's name, or a login's connector id.
    pub name: &'a str,
    /// The value.
    pub value: &'a str,
}

/// The secrets are too many or too long to be looked for.
#[derive(Debug, thiserror::Error)]
#[error("the finder of secrets could not be built")]
pub struct Unbuildable(#[source] aho_corasick::BuildError);

/// Finds a fixed set of secrets. The default one knows none.
#[derive(Default)]
pub struct Redactor {
    finder: Option<AhoCorasick>,
    needles: Vec<String>,
    /// Name of the secret that a needle is a form of.
    names: Vec<String>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Needles are secrets; only their number may be seen.
        f.debug_struct("Redactor")
            .field("needles", &self.needles.len())
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
}

/// Matches that overlap, as one.
struct Span {
    start: usize,
    end: usize,
    /// The match that names it: the one that starts first, then the longest.
    pattern: usize,
    first_end: usize,
}

impl Span {
    fn joined(self, other: Self) -> Self {
        let end = self.end.max(other.end);
        let named = if (self.start, std::cmp::Reverse(self.first_end))
            <= (other.start, std::cmp::Reverse(other.first_end))
        {
            self
        } else {
            other
        };
        Self { end, ..named }
    }
}

impl Redactor {
    /// A redactor of these secrets in all their forms.
    ///
    /// # Errors
    /// [`Unbuildable`]: there is no redactor that lets through what it can't find.
    pub fn new(secrets: &[Secret<'_>]) -> Result<Self, Unbuildable> {
        let mut needles = Vec::new();
        let mut names = Vec::new();
        for secret in secrets.iter().filter(|secret| !secret.value.is_empty()) {
            for form in forms::of(secret.value) {
                needles.push(form);
                names.push(secret.name.to_owned());
            }
        }
        if needles.is_empty() {
            return Ok(Self::default());
        }
        // Only the standard kind can report matches that overlap.
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&needles)
            .map_err(Unbuildable)?;
        Ok(Self {
            finder: Some(finder),
            needles,
            names,
        })
    }

    /// The text with every match, and where matches overlap their union,
    /// replaced by `[redacted:<NAME>]`: the name of the match that starts first,
    /// then of the longest.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let Some(finder) = &self.finder else {
            return text.to_owned();
        };
        // Matches come by their ends, so one may reach back over several spans. A
        // text that is one long match after another never holds more than one.
        let mut spans: Vec<Span> = Vec::new();
        for found in finder.find_overlapping_iter(text) {
            let mut span = Span {
                start: found.start(),
                end: found.end(),
                first_end: found.end(),
                pattern: found.pattern().as_usize(),
            };
            while let Some(before) = spans.pop_if(|before| before.end > span.start) {
                span = before.joined(span);
            }
            spans.push(span);
        }
        if spans.is_empty() {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        for span in spans {
            out.push_str(&text[copied..span.start]);
            out.push_str(&format!("[redacted:{}]", self.names[span.pattern]));
            copied = span.end;
        }
        out.push_str(&text[copied..]);
        out
    }

    /// The text without a tail that is the beginning of a needle: for a text
    /// that something cut before the redactor saw it.
    fn without_partial_end<'a>(&self, text: &'a str) -> &'a str {
        let longest = self
            .needles
            .iter()
            .filter_map(|needle| {
                (1..needle.len())
                    .rev()
                    .filter(|&length| needle.is_char_boundary(length))
                    .find(|&length| text.ends_with(&needle[..length]))
            })
            .max()
            .unwrap_or(0);
        &text[..text.len() - longest]
    }
}

impl Filtered {
    /// Takes the secrets out.
    #[must_use]
    pub fn redact(self, redactor: &Redactor) -> Redacted {
        let text = if self.cut {
            redactor.apply(redactor.without_partial_end(&self.text))
        } else if redactor.finder.is_none() {
            self.text
        } else {
            redactor.apply(&self.text)
        };
        Redacted {
            text,
            filter: self.filter,
            original_bytes: self.original_bytes,
            cut: self.cut,
            error: self.error,
            exit_code: self.exit_code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(secrets: &[(&str, &str)], text: &str, expected: &str) {
        let secrets: Vec<Secret<'_>> = secrets
            .iter()
            .map(|&(name, value)| Secret { name, value })
            .collect();
        assert_eq!(Redactor::new(&secrets).unwrap().apply(text), expected);
    }

    #[test]
    fn every_occurrence_goes_and_the_rest_stays() {
        check(
            &[("K", "hunter22")],
            "a hunter22 b hunter22",
            "a [redacted:K] b [redacted:K]",
        );
        check(&[("K", "hunter22")], "hunter2 2", "hunter2 2");
        check(&[], "hunter22", "hunter22");
    }

    #[test]
    fn overlapping_matches_are_replaced_as_their_union() {
        // The longer secret starts later and reaches farther.
        check(
            &[("A", "abcdef"), ("B", "defghijk")],
            "xabcdefghijky",
            "x[redacted:A]y",
        );
        check(
            &[("SHORT", "secret"), ("LONG", "secret-value")],
            "a secret-value, a secret",
            "a [redacted:LONG], a [redacted:SHORT]",
        );
        check(&[("A", "aaaaaa")], "aaaaaaaaab", "[redacted:A]b");
        // The longest starts first and ends last, over two that lie apart.
        check(
            &[("W", "ab-middle-yz"), ("X", "b-midd"), ("Y", "le-yz")],
            "1ab-middle-yz2b-midd",
            "1[redacted:W]2[redacted:X]",
        );
    }

    #[test]
    fn derived_forms_go_too() {
        check(
            &[("K", "p\"w\né1")],
            r#"{"k":"p\"w\né1"}"#,
            r#"{"k":"[redacted:K]"}"#,
        );
        check(
            &[("K", "p\"w\né1")],
            r#"{"k":"p\"w\n\u00e91"}"#,
            r#"{"k":"[redacted:K]"}"#,
        );
        check(&[("K", "a b/c+d")], "?q=a%20b%2Fc%2Bd&", "?q=[redacted:K]&");
        check(&[("K", "a b/c+d")], "?q=a%20b%2fc%2bd&", "?q=[redacted:K]&");
        check(&[("K", "a b/c+d")], "?q=a+b%2Fc%2Bd&", "?q=[redacted:K]&");
    }

    #[test]
    fn base64_goes_at_each_alignment() {
        // "sesame-open" alone, after one byte and after two.
        check(
            &[("K", "sesame-open")],
            "c2VzYW1lLW9wZW4=",
            "[redacted:K]4=",
        );
        check(
            &[("K", "sesame-open")],
            "OnNlc2FtZS1vcGVu",
            "On[redacted:K]",
        );
        check(
            &[("K", "sesame-open")],
            "dTpzZXNhbWUtb3Blbg==",
            "dTp[redacted:K]g==",
        );
    }

    #[test]
    fn a_cut_text_never_ends_in_a_part_of_a_secret() {
        let redactor = Redactor::new(&[Secret {
            name: "K",
            value: "hunter22",
        }])
        .unwrap();
        assert_eq!(
            redactor.without_partial_end("the key is hunter2"),
            "the key is "
        );
        assert_eq!(redactor.without_partial_end("the key is"), "the key is");
    }

    #[test]
    fn a_redacted_text_has_nothing_left_to_redact() {
        let redactor = Redactor::new(&[Secret {
            name: "K",
            value: "hunter22",
        }])
        .unwrap();
        let once = redactor.apply("x hunter22 y");
        assert_eq!(redactor.apply(&once), once);
    }
}
