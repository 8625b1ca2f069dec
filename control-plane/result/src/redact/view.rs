//! A text as its readers decode it: without escapes and percent signs, wrapped base64 on one line.
//!
//! What is found in a view goes where it stands in the text. Only what holds something
//! decoded is looked for: the rest was found in the text.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use super::super::cuts::Cuts;
use super::escapes::{Decoded, LONGEST_ESCAPE, escape, line_break, percent};

/// Fewest characters of base64 before a line break that wraps them.
const WRAPPED: usize = 32;

/// A stretch of a view that stands for another stretch of what it is a view of.
struct Change {
    at: u32,
    length: u32,
    old: u32,
    old_length: u32,
}

impl Change {
    const fn start(&self) -> usize {
        self.at as usize
    }

    const fn end(&self) -> usize {
        self.at as usize + self.length as usize
    }

    const fn old_end(&self) -> usize {
        self.old as usize + self.old_length as usize
    }
}

/// Bytes, and where they come from.
pub(super) struct View<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) cuts: Cow<'a, Cuts>,
    /// In order; between them the bytes are those of `of`.
    changes: Vec<Change>,
    /// What it is a view of; `None` when it is the text.
    of: Option<&'a View<'a>>,
}

impl<'a> View<'a> {
    /// The text itself.
    pub(super) fn of(text: &'a str, cuts: &'a Cuts) -> Self {
        Self {
            bytes: Cow::Borrowed(text.as_bytes()),
            cuts: Cow::Borrowed(cuts),
            changes: Vec::new(),
            of: None,
        }
    }

    /// Visits a text and what its readers make of it. `spaces`: whether what is looked for has
    /// any, which a form writes as `+`.
    pub(super) fn each(text: &str, cuts: &Cuts, spaces: bool, mut visit: impl FnMut(&View<'_>)) {
        let text = View::of(text, cuts);
        visit(&text);
        if let Some(unescaped) = text.unescaped() {
            visit(&unescaped);
            unescaped.unwrapped().iter().for_each(&mut visit);
            unescaped.unescaped().iter().for_each(&mut visit);
        }
        text.unwrapped().iter().for_each(&mut visit);
        text.unquoted().iter().for_each(&mut visit);
        if spaces && let Some(unplussed) = text.unplussed() {
            visit(&unplussed);
            unplussed.unquoted().iter().for_each(&mut visit);
        }
    }

    /// A stretch of the view as a stretch of the text.
    pub(super) fn in_text(&self, start: usize, end: usize) -> (usize, usize) {
        let Some(of) = self.of else {
            return (start, end);
        };
        let first = match self.change_before(start) {
            Some(change) if start < change.end() => change.old as usize,
            Some(change) => change.old_end() + start - change.end(),
            None => start,
        };
        let last = end - 1;
        let past = match self.change_before(last) {
            Some(change) if last < change.end() => change.old_end(),
            Some(change) => change.old_end() + end - change.end(),
            None => end,
        };
        of.in_text(first, past)
    }

    /// The last change that begins at a place or before it.
    fn change_before(&self, place: usize) -> Option<&Change> {
        let after = self
            .changes
            .partition_point(|change| change.start() <= place);
        after.checked_sub(1).map(|last| &self.changes[last])
    }

    /// All of a text, and of a view what is so near a change that a stretch of at most `reach`
    /// bytes may hold both.
    pub(super) fn changed(&self, reach: usize) -> Vec<Range<usize>> {
        if self.of.is_none() {
            return std::iter::once(0..self.bytes.len()).collect();
        }
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for change in &self.changes {
            let start = change.start().saturating_sub(reach);
            let end = (change.end() + reach).min(self.bytes.len());
            match ranges.last_mut() {
                Some(last) if start <= last.end => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        ranges
    }

    /// Without JSON's escapes; `None` when there are none.
    fn unescaped(&'a self) -> Option<View<'a>> {
        self.decoded(b'\\', escape)
    }

    /// Without percent-encoding; `None` when there is none.
    fn unquoted(&'a self) -> Option<View<'a>> {
        self.decoded(b'%', percent)
    }

    /// As a form's text: each `+` is a space.
    fn unplussed(&'a self) -> Option<View<'a>> {
        self.decoded(b'+', |_| Some((1, Decoded::one(b' '))))
    }

    /// With wrapped base64 on one line; `None` when there is none.
    fn unwrapped(&'a self) -> Option<View<'a>> {
        let letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(byte);
        self.rewritten(|bytes, from| {
            let mut looked = from;
            loop {
                let end = looked + memchr(b'\n', &bytes[looked..])?;
                looked = end + 1;
                let start = end - usize::from(end > from && bytes[end - 1] == b'\r');
                let wrapped = start >= from + WRAPPED
                    && bytes[start - WRAPPED..start].iter().rev().all(letter);
                if wrapped
                    && let Some(length) = line_break(&bytes[start..])
                    && bytes.get(start + length).is_some_and(letter)
                {
                    return Some((start, length, Decoded::default()));
                }
            }
        })
    }

    fn decoded(
        &'a self,
        sign: u8,
        decode: impl Fn(&[u8]) -> Option<(usize, Decoded)>,
    ) -> Option<View<'a>> {
        let ends = &self.cuts.ends;
        self.rewritten(|bytes, mut from| {
            loop {
                let at = from + memchr(sign, &bytes[from..])?;
                from = at + 1;
                let next = ends.get(ends.partition_point(|&end| end <= at)).copied();
                let next = next.unwrap_or(bytes.len());
                if let Some((length, decoded)) = decode(&bytes[at..next]) {
                    return Some((at, length, decoded));
                }
                // What a cut left of an escape is no byte of the value.
                let cut = next - at < LONGEST_ESCAPE && ends.contains(&next);
                if cut && bytes[at + 1..next].iter().all(u8::is_ascii_alphanumeric) {
                    return Some((at, next - at, Decoded::default()));
                }
            }
        })
    }

    /// `None` when nothing is rewritten. `next` finds, from a place on, what goes, its length,
    /// and what comes.
    fn rewritten(
        &'a self,
        mut next: impl FnMut(&[u8], usize) -> Option<(usize, usize, Decoded)>,
    ) -> Option<View<'a>> {
        let old: &[u8] = &self.bytes;
        let mut bytes = Vec::new();
        let mut changes = Vec::new();
        let mut copied = 0;
        // Texts are bounded far below what 32 bits count.
        let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        while let Some((at, length, decoded)) = next(old, copied) {
            if changes.is_empty() {
                bytes.reserve(old.len());
            }
            bytes.extend_from_slice(&old[copied..at]);
            changes.push(Change {
                at: number(bytes.len()),
                length: number(decoded.bytes().len()),
                old: number(at),
                old_length: number(length),
            });
            bytes.extend_from_slice(decoded.bytes());
            copied = at + length;
        }
        if changes.is_empty() {
            return None;
        }
        bytes.extend_from_slice(&old[copied..]);
        let moved = |cuts: &[usize]| cuts.iter().map(|&cut| moved(&changes, cut)).collect();
        let cuts = Cuts {
            ends: moved(&self.cuts.ends),
            starts: moved(&self.cuts.starts),
        };
        Some(View {
            bytes: Cow::Owned(bytes),
            cuts: Cow::Owned(cuts),
            changes,
            of: Some(self),
        })
    }
}

/// Where a cut is after changes: before the first byte that comes from behind it.
fn moved(changes: &[Change], cut: usize) -> usize {
    let after = changes.partition_point(|change| (change.old as usize) < cut);
    let Some(last) = after.checked_sub(1).map(|last| &changes[last]) else {
        return cut;
    };
    last.end() + cut.saturating_sub(last.old_end())
}
