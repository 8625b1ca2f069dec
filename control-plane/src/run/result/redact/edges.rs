//! Parts of values at the edges of a text that something cut before it came here.

use std::collections::{HashMap, HashSet};

use super::super::cuts::Cuts;
use super::spans::Spans;
use super::values::{FormId, Opened, Values};

/// Bytes of a form's beginning or end by which it is found.
const KEY: usize = 6;

/// Forms by their first and last bytes.
#[derive(Default)]
pub(super) struct Edges {
    heads: HashMap<[u8; KEY], Vec<FormId>>,
    tails: HashMap<[u8; KEY], Vec<FormId>>,
    /// Beginnings and ends of one byte to `KEY - 1`, with the value they are of.
    short_heads: HashSet<Vec<u8>>,
    short_tails: HashSet<Vec<u8>>,
    longest: usize,
}

impl Edges {
    pub(super) fn new(values: &Values) -> Self {
        let mut edges = Self::default();
        values.each_form(|form, text| {
            let text = text.as_bytes();
            edges.longest = edges.longest.max(text.len());
            for length in 1..KEY.min(text.len()) {
                edges.short_heads.insert(text[..length].to_vec());
                edges
                    .short_tails
                    .insert(text[text.len() - length..].to_vec());
            }
            // A form of no more bytes has no longer part that is not itself.
            if text.len() > KEY {
                if let Some(key) = text.first_chunk() {
                    edges.heads.entry(*key).or_default().push(form);
                }
                if let Some(key) = text.last_chunk() {
                    edges.tails.entry(*key).or_default().push(form);
                }
            }
        });
        edges
    }

    /// Adds the parts of values at the cuts of a text, and those of some length before each ellipsis, by which
    /// programs tell that they cut something.
    pub(super) fn spans(
        &self,
        bytes: &[u8],
        cuts: &Cuts,
        opened: &mut Opened<'_>,
        spans: &mut Spans,
    ) {
        for &end in &cuts.ends {
            let length = short(end.min(KEY - 1), |length| {
                self.short_heads.contains(&bytes[end - length..end])
            });
            if let Some(length) = length {
                spans.add_nameless(end - length, end);
            }
        }
        for &start in &cuts.starts {
            let most = (bytes.len() - start).min(KEY - 1);
            let length = short(most, |length| {
                self.short_tails.contains(&bytes[start..start + length])
            });
            if let Some(length) = length {
                spans.add_nameless(start, start + length);
            }
        }
        let mut ends = cuts.ends.clone();
        ends.extend(ellipses(bytes));
        ends.sort_unstable();
        self.long_heads(bytes, &ends, opened, spans);
        for &start in &cuts.starts {
            self.long_tails(bytes, start, opened, spans);
        }
    }

    /// Beginnings of forms that reach up to one of these ends, which are sorted.
    fn long_heads(&self, text: &[u8], ends: &[usize], opened: &mut Opened<'_>, spans: &mut Spans) {
        let mut at = 0;
        for &end in ends {
            at = at.max((end + 1).saturating_sub(self.longest));
            while at + KEY <= end {
                for &form in found(&self.heads, &text[at..]) {
                    let sought = opened.form(form).as_bytes();
                    let common = common(&text[at..], sought);
                    // The farthest end that the common part reaches; a form may hold an
                    // ellipsis of its own.
                    let reached = ends.partition_point(|&end| end <= at + common);
                    let reached = reached.checked_sub(1).map(|last| ends[last]);
                    if let Some(reached) = reached.filter(|&reached| reached >= at + KEY) {
                        spans.add(at, reached, form.value);
                    }
                }
                at += 1;
            }
        }
    }

    /// The longest end of a form with which the text from `start` on begins.
    fn long_tails(&self, text: &[u8], start: usize, opened: &mut Opened<'_>, spans: &mut Spans) {
        let text = &text[start..];
        let mut longest = None;
        for end in KEY..=text.len().min(self.longest.saturating_sub(1)) {
            for &form in found(&self.tails, &text[end - KEY..]) {
                if opened.form(form).as_bytes().ends_with(&text[..end]) {
                    longest = Some((end, form.value));
                }
            }
        }
        if let Some((end, value)) = longest {
            spans.add(start, start + end, value);
        }
    }
}

fn found<'a>(by_key: &'a HashMap<[u8; KEY], Vec<FormId>>, text: &[u8]) -> &'a [FormId] {
    text.first_chunk::<KEY>()
        .and_then(|key| by_key.get(key))
        .map_or(&[], Vec::as_slice)
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

fn short(most: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    (1..=most).rev().find(|&length| holds(length))
}

fn ellipses(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let sign = "…".as_bytes();
    text.windows(sign.len())
        .enumerate()
        .filter(move |(_, window)| *window == sign)
        .map(|(at, _)| at)
}
