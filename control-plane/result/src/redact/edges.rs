//! Parts of values at the edges of a text that something cut before it came here.

use std::collections::BTreeSet;

use memchr::memmem;

use super::patterns::Patterns;
use super::sieve::{Sieve, Windows};
use super::spans::Spans;
use super::values::Opened;
use super::view::View;

/// Bytes of a form's beginning or end by which it is found.
const KEY: usize = 6;
/// By this programs tell that they cut something.
const ELLIPSIS: &str = "…";

/// Forms by their first and last bytes.
#[derive(Default)]
pub(super) struct Edges {
    heads: Option<Sieve>,
    tails: Option<Sieve>,
    /// Beginnings and ends of one byte to `KEY - 1`, as numbers, in order.
    short_heads: Vec<u64>,
    short_tails: Vec<u64>,
}

/// Edges as their forms are gathered.
pub(super) struct Gathering {
    heads: Windows,
    tails: Windows,
    short_heads: BTreeSet<u64>,
    short_tails: BTreeSet<u64>,
}

impl Default for Gathering {
    fn default() -> Self {
        Self {
            heads: Windows::new(KEY, 1),
            tails: Windows::new(KEY, 1),
            short_heads: BTreeSet::new(),
            short_tails: BTreeSet::new(),
        }
    }
}

impl Gathering {
    /// Adds the form that is a pattern.
    pub(super) fn add(&mut self, pattern: u32, text: &[u8]) {
        for length in 1..KEY.min(text.len()) {
            self.short_heads.insert(short_key(&text[..length]));
            let tail = &text[text.len() - length..];
            self.short_tails.insert(short_key(tail));
        }
        // A form of no more bytes has no longer part that is not itself.
        if text.len() > KEY {
            self.heads.add(text, 0, pattern);
            self.tails.add(text, text.len() - KEY, pattern);
        }
    }

    pub(super) fn build(self) -> Edges {
        Edges {
            heads: self.heads.build(),
            tails: self.tails.build(),
            short_heads: self.short_heads.into_iter().collect(),
            short_tails: self.short_tails.into_iter().collect(),
        }
    }
}

impl Edges {
    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        let sieves = [&self.heads, &self.tails];
        let keys = self.short_heads.len() + self.short_tails.len();
        let sieves: usize = sieves.into_iter().flatten().map(Sieve::bytes).sum();
        sieves + keys * size_of::<u64>()
    }

    /// Adds the parts of values at the cuts of a text, and those of some length before each ellipsis.
    pub(super) fn spans(
        &self,
        view: &View<'_>,
        patterns: &Patterns,
        opened: &mut Opened<'_>,
        spans: &mut Spans,
    ) {
        let (bytes, cuts): (&[u8], _) = (&view.bytes, &view.cuts);
        for &end in &cuts.ends {
            let length = short(end, |length| {
                is_among(&self.short_heads, &bytes[end - length..end])
            });
            if let Some(length) = length {
                spans.add_nameless(end - length, end);
            }
        }
        for &start in &cuts.starts {
            let length = short(bytes.len() - start, |length| {
                is_among(&self.short_tails, &bytes[start..start + length])
            });
            if let Some(length) = length {
                spans.add_nameless(start, start + length);
            }
        }
        let mut ends = cuts.ends.clone();
        ends.extend(memmem::find_iter(bytes, ELLIPSIS));
        ends.sort_unstable();
        self.long_heads(bytes, &ends, patterns, opened, spans);
        for &start in &cuts.starts {
            self.long_tails(bytes, start, patterns, opened, spans);
        }
    }

    /// Beginnings of forms that reach up to one of these ends, which are sorted.
    fn long_heads(
        &self,
        text: &[u8],
        ends: &[usize],
        patterns: &Patterns,
        opened: &mut Opened<'_>,
        spans: &mut Spans,
    ) {
        let Some(heads) = &self.heads else { return };
        let mut looked = 0;
        for &end in ends {
            let from = looked.max((end + 1).saturating_sub(patterns.longest()));
            if from + KEY > end {
                continue;
            }
            looked = end + 1 - KEY;
            heads.scan(&text[from..end], |at, entry| {
                let at = from + at;
                let sought = patterns.text(entry.pattern, opened);
                let common = common(&text[at..], sought);
                // The farthest end that the common part reaches; a form may hold an
                // ellipsis of its own.
                let reached = ends.partition_point(|&end| end <= at + common);
                let reached = reached.checked_sub(1).map(|last| ends[last]);
                if let Some(reached) = reached.filter(|&reached| reached >= at + KEY) {
                    spans.add(at, reached, patterns.get(entry.pattern).form.value);
                }
            });
        }
    }

    /// The longest end of a form with which the text from `start` on begins.
    fn long_tails(
        &self,
        text: &[u8],
        start: usize,
        patterns: &Patterns,
        opened: &mut Opened<'_>,
        spans: &mut Spans,
    ) {
        let Some(tails) = &self.tails else { return };
        let text = &text[start..];
        let most = text.len().min(patterns.longest().saturating_sub(1));
        let mut longest = None;
        tails.scan(&text[..most], |at, entry| {
            let end = at + KEY;
            if patterns.text(entry.pattern, opened).ends_with(&text[..end]) {
                longest = Some((end, patterns.get(entry.pattern).form.value));
            }
        });
        if let Some((end, value)) = longest {
            spans.add(start, start + end, value);
        }
    }
}

/// Fewer than eight bytes as a number that tells their length, too.
fn short_key(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(1, |key, byte| key << 8 | u64::from(*byte))
}

fn is_among(keys: &[u64], bytes: &[u8]) -> bool {
    keys.binary_search(&short_key(bytes)).is_ok()
}

/// How many bytes two texts have in common from their beginning.
fn common(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 256;
    let equal = a
        .chunks_exact(STEP)
        .zip(b.chunks_exact(STEP))
        .take_while(|(a, b)| a == b)
        .count()
        * STEP;
    let rest = a[equal..].iter().zip(&b[equal..]);
    equal + rest.take_while(|(a, b)| a == b).count()
}

/// The longest length that holds, of at most `KEY - 1` and no more than there is.
fn short(most: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    (1..=most.min(KEY - 1)).rev().find(|&length| holds(length))
}
