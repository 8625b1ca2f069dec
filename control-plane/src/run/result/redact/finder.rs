//! Finds every occurrence of every form of every value, overlapping ones too.
//!
//! Short forms stand whole in one automaton. Of a long form only a piece of its middle does,
//! and the form itself is looked for when its piece occurs: values of many kilobytes would
//! make an automaton of many megabytes.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};

use super::Unbuildable;
use super::spans::Spans;
use super::values::{FormId, Opened, Values};

/// Forms up to this many bytes stand whole in the automaton.
const WHOLE: usize = 64;
/// Bytes of a long form's piece.
const PIECE: usize = 32;

/// The automaton and what each of its patterns is of.
pub(super) struct Finder {
    automaton: AhoCorasick,
    patterns: Vec<Pattern>,
}

struct Pattern {
    form: FormId,
    whole: bool,
}

impl Finder {
    /// `None` when there is nothing to find.
    pub(super) fn new(values: &Values) -> Result<Option<Self>, Unbuildable> {
        let mut texts: Vec<Vec<u8>> = Vec::new();
        let mut patterns = Vec::new();
        values.each_form(|form, text| {
            let text = text.as_bytes();
            let whole = text.len() <= WHOLE;
            texts.push(if whole {
                text.to_vec()
            } else {
                let start = (text.len() - PIECE) / 2;
                text[start..start + PIECE].to_vec()
            });
            patterns.push(Pattern { form, whole });
        });
        if texts.is_empty() {
            return Ok(None);
        }
        // Only the standard kind can report matches that overlap.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&texts)
            .map_err(Unbuildable)?;
        Ok(Some(Self {
            automaton,
            patterns,
        }))
    }

    /// Adds the occurrences in a text.
    pub(super) fn spans(&self, text: &[u8], opened: &mut Opened<'_>, spans: &mut Spans) {
        let mut suspects = BTreeSet::new();
        for found in self.automaton.find_overlapping_iter(text) {
            let Pattern { form, whole } = &self.patterns[found.pattern().as_usize()];
            if *whole {
                spans.add(found.start(), found.end(), form.value);
            } else {
                suspects.insert(*form);
            }
        }
        for form in suspects {
            let sought = opened.form(form);
            each_occurrence(text, sought.as_bytes(), |start, end| {
                spans.add(start, end, form.value);
            });
        }
    }
}

/// Every occurrence of `sought`, in time linear in both (Knuth, Morris and Pratt): a value
/// that repeats itself must not cost its length at each place.
fn each_occurrence(text: &[u8], sought: &[u8], mut found: impl FnMut(usize, usize)) {
    let mut borders = vec![0_usize; sought.len()];
    let mut length = 0;
    for at in 1..sought.len() {
        while length > 0 && sought[at] != sought[length] {
            length = borders[length - 1];
        }
        if sought[at] == sought[length] {
            length += 1;
        }
        borders[at] = length;
    }
    let mut matched = 0;
    for (at, byte) in text.iter().enumerate() {
        while matched > 0 && *byte != sought[matched] {
            matched = borders[matched - 1];
        }
        if *byte == sought[matched] {
            matched += 1;
        }
        if matched == sought.len() {
            found(at + 1 - matched, at + 1);
            matched = borders[matched - 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::each_occurrence;

    #[track_caller]
    fn check(text: &str, sought: &str, expected: &[usize]) {
        let mut starts = Vec::new();
        each_occurrence(text.as_bytes(), sought.as_bytes(), |start, end| {
            assert_eq!(end - start, sought.len());
            starts.push(start);
        });
        assert_eq!(starts, expected, "{sought} in {text}");
    }

    #[test]
    fn occurrences_overlap() {
        check("aaaa", "aa", &[0, 1, 2]);
        check("abababab", "abab", &[0, 2, 4]);
        check("aabaaabaaab", "aabaaab", &[0, 4]);
        check("abc", "abcd", &[]);
        check("xabcabd", "abcabd", &[1]);
    }
}
