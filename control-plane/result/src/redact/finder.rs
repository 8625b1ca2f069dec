//! Finds every occurrence of every form of every value, overlapping ones too, in one pass over a text.

use std::collections::{BTreeSet, HashMap};

use super::patterns::{Patterns, Stand, WHOLE};
use super::sieve::{Entry, Sieve, WIDEST, Windows};
use super::spans::Spans;
use super::values::{FormId, Opened};
use super::view::View;

/// Narrowest window.
const NARROWEST: usize = 4;
/// Places of a form's windows that are compared.
const CHOICES: usize = 32;

/// Forms of like lengths.
struct Class {
    /// The most bytes of a form.
    most: usize,
    /// Places of a text from one look to the next. A form has as many windows, one after the
    /// other, of which one stands where it is looked at.
    stride: usize,
}

/// Each leaves room for its windows at their widest, but for the first.
const CLASSES: [Class; 3] = [
    Class {
        most: 10,
        stride: 1,
    },
    Class {
        most: WHOLE,
        stride: 4,
    },
    Class {
        most: usize::MAX,
        stride: 8,
    },
];

/// What finds the forms of each class, where there are any.
pub(super) struct Finder {
    sieves: [Option<Sieve>; CLASSES.len()],
}

/// A finder as its forms are gathered.
pub(super) struct Gathering {
    windows: [Windows; CLASSES.len()],
    taken: Taken,
}

impl Default for Gathering {
    fn default() -> Self {
        Self {
            windows: CLASSES.map(|class| {
                // The shortest forms have no room for the widest windows.
                let width = if class.stride == 1 { NARROWEST } else { WIDEST };
                Windows::new(width, class.stride)
            }),
            taken: Taken::default(),
        }
    }
}

impl Gathering {
    /// Adds a form to the patterns and answers its number.
    pub(super) fn add(&mut self, patterns: &mut Patterns, form: FormId, text: &[u8]) -> u32 {
        let class = CLASSES.iter().position(|class| text.len() <= class.most);
        let windows = &mut self.windows[class.unwrap_or_default()];
        let place = self.taken.choose(text, windows.width(), windows.stride());
        let pattern = patterns.add(form, text, place);
        for offset in place..place + windows.stride() {
            windows.add(text, offset, pattern);
        }
        pattern
    }

    pub(super) fn build(self) -> Finder {
        Finder {
            sieves: self.windows.map(Windows::build),
        }
    }
}

impl Finder {
    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.sieves.iter().flatten().map(Sieve::bytes).sum()
    }

    /// Adds the occurrences in a view, less those that its text has as well.
    pub(super) fn spans(
        &self,
        view: &View<'_>,
        patterns: &Patterns,
        opened: &mut Opened<'_>,
        spans: &mut Spans,
    ) {
        let mut search = Search {
            patterns,
            opened,
            spans,
            left: view.bytes.len(),
            suspects: BTreeSet::new(),
        };
        for (class, sieve) in CLASSES.iter().zip(&self.sieves) {
            let Some(sieve) = sieve else { continue };
            for range in view.changed(class.most.min(patterns.longest())) {
                let text = &view.bytes[range.clone()];
                sieve.scan(text, |at, entry| search.look(text, range.start, at, entry));
            }
        }
        search.end(&view.bytes);
    }
}

/// One search of a view.
struct Search<'a, 'b> {
    patterns: &'a Patterns,
    opened: &'a mut Opened<'b>,
    spans: &'a mut Spans,
    /// Bytes that may yet be looked at where long forms are suspected.
    left: usize,
    /// Forms that the whole view is searched for, as they are suspected too often: a value
    /// that repeats itself must not cost its length at each place.
    suspects: BTreeSet<u32>,
}

impl Search<'_, '_> {
    /// A window of a pattern stands at `at` of a text, which begins at `base` of the view.
    fn look(&mut self, text: &[u8], base: usize, at: usize, entry: &Entry) {
        let stand = self.patterns.stands(entry.pattern, text, at, entry.offset);
        let value = self.patterns.get(entry.pattern).form.value;
        match stand {
            Some(Stand::Whole(start, end)) => self.spans.add(base + start, base + end, value),
            Some(Stand::Piece(start)) if !self.suspects.contains(&entry.pattern) => {
                let length = self.patterns.get(entry.pattern).length as usize;
                if self.patterns.begins(entry.pattern, text, start) {
                    let start = base + start;
                    self.spans.add(start, start + length, value);
                }
                self.left = self.left.saturating_sub(length);
                if self.left == 0 {
                    self.suspects.insert(entry.pattern);
                }
            }
            _ => {}
        }
    }

    fn end(self, view: &[u8]) {
        for pattern in self.suspects {
            let value = self.patterns.get(pattern).form.value;
            let sought = self.patterns.text(pattern, self.opened);
            each_occurrence(view, sought, |start, end| {
                self.spans.add(start, end, value);
            });
        }
    }
}

/// Windows that are taken, and by how many forms: values that begin alike should not all be
/// suspected wherever that beginning stands.
#[derive(Default)]
struct Taken(HashMap<u64, u32>);

impl Taken {
    /// Where in a form its windows are, of which there are `count` of this width: where the
    /// fewest have theirs and where texts are the least like it.
    fn choose(&mut self, text: &[u8], width: usize, count: usize) -> usize {
        let places = text.len() + 2 - width - count;
        let step = places.div_ceil(CHOICES);
        let place = (0..places)
            .step_by(step)
            .min_by_key(|&place| {
                let all = &text[place..place + width + count - 1];
                let taken: u32 = all.windows(width).map(|window| self.by(window)).sum();
                let common: u32 = all.iter().map(|byte| commonness(*byte)).sum();
                (taken, common)
            })
            .unwrap_or_default();
        for window in text[place..place + width + count - 1].windows(width) {
            *self.0.entry(key(window)).or_default() += 1;
        }
        place
    }

    fn by(&self, window: &[u8]) -> u32 {
        self.0.get(&key(window)).copied().unwrap_or_default()
    }
}

fn key(window: &[u8]) -> u64 {
    window
        .iter()
        .fold(0, |key, byte| key << 8 | u64::from(*byte))
}

/// How often a byte stands in texts, roughly.
const fn commonness(byte: u8) -> u32 {
    match byte {
        b'a'..=b'z' | b' ' | b'-' | b'=' | b'/' => 3,
        b'0'..=b'9' | b'A'..=b'Z' | b'_' | b'.' => 1,
        _ => 2,
    }
}

/// Every occurrence of `sought`, in time linear in both (Knuth, Morris and Pratt).
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
    use super::*;

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

    #[test]
    fn forms_that_are_alike_have_windows_of_their_own() {
        let mut taken = Taken::default();
        let places: Vec<_> = ["key-000000-1A2B3C4D5E6F", "KEY-AAAAAA-1A2B3C4D5E6F"]
            .iter()
            .map(|text| taken.choose(text.as_bytes(), 8, 4))
            .collect();
        // The first eleven bytes without a common one; then, of those whose windows nobody
        // has, the first with one dash.
        assert_eq!(places, [11, 4]);
    }
}
