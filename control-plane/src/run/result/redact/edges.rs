//! Parts of values at the edges of a text that something cut before it came here.

use std::collections::{HashMap, HashSet};

use super::spans::Spans;
use super::values::{FormId, Opened, Values};

/// Bytes of a form's beginning or end by which it is found.
const KEY: usize = 6;

/// Where a text was cut.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cuts {
    /// Its beginning is missing.
    pub(super) start: bool,
    /// Its end is missing.
    pub(super) end: bool,
    /// Something in the middle is, and a line says so (see [`seams`]).
    pub(super) middle: bool,
}

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
    pub(super) fn spans(&self, text: &str, cuts: Cuts, opened: &mut Opened<'_>, spans: &mut Spans) {
        let bytes = text.as_bytes();
        let (mut ends, mut starts) = (Vec::new(), Vec::new());
        if cuts.start {
            starts.push(0);
        }
        if cuts.end {
            ends.push(bytes.len());
        }
        if cuts.middle {
            for (head_end, tail_start) in seams(text) {
                // The line break before the line may be the value's or the line's own.
                ends.extend([head_end.saturating_sub(1), head_end]);
                starts.push(tail_start);
            }
        }
        for &end in &ends {
            let length = short(end.min(KEY - 1), |length| {
                self.short_heads.contains(&bytes[end - length..end])
            });
            if let Some(length) = length {
                spans.add_nameless(end - length, end);
            }
        }
        for &start in &starts {
            let most = (bytes.len() - start).min(KEY - 1);
            let length = short(most, |length| {
                self.short_tails.contains(&bytes[start..start + length])
            });
            if let Some(length) = length {
                spans.add_nameless(start, start + length);
            }
        }
        ends.extend(text.match_indices('…').map(|(at, _)| at));
        ends.sort_unstable();
        self.long_heads(bytes, &ends, opened, spans);
        for start in starts {
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

/// Where the middle of an output was left out: the end of what is before the line that says
/// so, and the start of what is after it. The line is the one of `guilds-code`.
fn seams(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    const OPENING: &str = "[… ";
    text.match_indices(OPENING).filter_map(|(at, _)| {
        let line = text[at..].split('\n').next().unwrap_or_default();
        let opens_line = at == 0 || text.as_bytes()[at - 1] == b'\n';
        let is_marker = line.ends_with(" …]") && line.contains(" left out here; ");
        (opens_line && is_marker).then(|| (at, (at + line.len() + 1).min(text.len())))
    })
}

#[cfg(test)]
mod tests {
    use super::seams;

    #[test]
    fn a_seam_is_a_whole_line_of_its_own() {
        let text = "head\n[… 5 bytes and 1 line left out here; the whole output is in ~/a …]\ntail";
        let found: Vec<_> = seams(text).collect();
        let start = text.find("tail").unwrap();
        assert_eq!(found, [(5, start)]);
        assert_eq!(seams("[… 5 bytes left out here; x …]").count(), 1);
        for other in [
            "a [… 5 left out here; x …]\n",
            "[… 5 left out here; x\n",
            "[…]",
        ] {
            assert_eq!(seams(other).count(), 0, "{other}");
        }
    }
}
