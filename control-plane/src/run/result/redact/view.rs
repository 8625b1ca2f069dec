//! A text as its readers decode it: without escapes and percent signs, wrapped base64 on one line.
//!
//! What is found in a view goes where it stands in the text.

use std::borrow::Cow;

use super::super::cuts::Cuts;

/// Fewest characters of base64 before a line break that wraps them.
const WRAPPED: usize = 32;
/// Longest escape: `\u1234`.
const LONGEST_ESCAPE: usize = 6;

type Places = Vec<(usize, usize)>;

/// Bytes, and where each of them comes from.
pub(super) struct View<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    /// Start and end in the text of each byte; `None` when the bytes are the text.
    places: Option<Places>,
    pub(super) cuts: Cow<'a, Cuts>,
}

impl<'a> View<'a> {
    /// The text itself.
    pub(super) fn of(text: &'a str, cuts: &'a Cuts) -> Self {
        Self {
            bytes: Cow::Borrowed(text.as_bytes()),
            places: None,
            cuts: Cow::Borrowed(cuts),
        }
    }

    /// A stretch of the view as a stretch of the text.
    pub(super) fn in_text(&self, start: usize, end: usize) -> (usize, usize) {
        match &self.places {
            Some(places) => (places[start].0, places[end - 1].1),
            None => (start, end),
        }
    }

    /// Without JSON's escapes; `None` when there are none.
    pub(super) fn unescaped(&self) -> Option<View<'static>> {
        self.decoded(b'\\', escape)
    }

    /// Without percent-encoding; `None` when there is none.
    pub(super) fn unquoted(&self) -> Option<View<'static>> {
        self.decoded(b'%', percent)
    }

    /// As a form's text: each `+` is a space.
    pub(super) fn unplussed(&self) -> Option<View<'static>> {
        self.decoded(b'+', |_| Some((1, Decoded::one(b' '))))
    }

    /// With wrapped base64 on one line; `None` when there is none.
    pub(super) fn unwrapped(&self) -> Option<View<'static>> {
        let mut run = 0;
        self.rewritten(|at, bytes| {
            let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(&byte);
            if letter(bytes[at]) {
                run += 1;
                return None;
            }
            let wrapped = std::mem::take(&mut run) >= WRAPPED;
            let length = wrapped.then(|| line_break(&bytes[at..])).flatten()?;
            let goes_on = bytes.get(at + length).is_some_and(|byte| letter(*byte));
            goes_on.then_some((length, Decoded::default()))
        })
    }

    fn decoded(
        &self,
        sign: u8,
        decode: impl Fn(&[u8]) -> Option<(usize, Decoded)>,
    ) -> Option<View<'static>> {
        let ends = &self.cuts.ends;
        self.rewritten(|at, bytes| {
            if bytes[at] != sign {
                return None;
            }
            let next = ends.get(ends.partition_point(|&end| end <= at)).copied();
            let next = next.unwrap_or(bytes.len());
            decode(&bytes[at..next]).or_else(|| {
                // What a cut left of an escape is no byte of the value.
                let cut = next - at < LONGEST_ESCAPE && ends.contains(&next);
                let whole = bytes[at + 1..next].iter().all(u8::is_ascii_alphanumeric);
                (cut && whole).then(|| (next - at, Decoded::default()))
            })
        })
    }

    /// `None` when nothing is rewritten. `rewrite` answers how many bytes go and what comes.
    fn rewritten(
        &self,
        mut rewrite: impl FnMut(usize, &[u8]) -> Option<(usize, Decoded)>,
    ) -> Option<View<'static>> {
        let bytes: &[u8] = &self.bytes;
        let mut view: Option<(Vec<u8>, Places)> = None;
        let mut at = 0;
        while at < bytes.len() {
            let (length, decoded) = match rewrite(at, bytes) {
                Some(rewritten) => {
                    view.get_or_insert_with(|| {
                        let places = (0..at).map(|at| self.in_text(at, at + 1)).collect();
                        (bytes[..at].to_vec(), places)
                    });
                    rewritten
                }
                None => (1, Decoded::one(bytes[at])),
            };
            if let Some((rewritten, places)) = &mut view {
                for byte in decoded.bytes() {
                    rewritten.push(*byte);
                    places.push(self.in_text(at, at + length));
                }
            }
            at += length;
        }
        let (bytes, places) = view?;
        // A cut of the text is before the first byte that comes from behind it.
        let moved = |cuts: &[usize]| -> Vec<usize> {
            cuts.iter()
                .map(|&cut| {
                    let cut = match &self.places {
                        Some(old) => old.get(cut).map_or(usize::MAX, |place| place.0),
                        None => cut,
                    };
                    places.partition_point(|place| place.0 < cut)
                })
                .collect()
        };
        let cuts = Cuts {
            ends: moved(&self.cuts.ends),
            starts: moved(&self.cuts.starts),
        };
        Some(View {
            bytes: Cow::Owned(bytes),
            places: Some(places),
            cuts: Cow::Owned(cuts),
        })
    }
}

/// What stands for an escape: up to four bytes.
#[derive(Default)]
struct Decoded {
    bytes: [u8; 4],
    length: usize,
}

impl Decoded {
    fn one(byte: u8) -> Self {
        Self {
            bytes: [byte, 0, 0, 0],
            length: 1,
        }
    }

    fn character(c: char) -> Self {
        let mut bytes = [0; 4];
        let length = c.encode_utf8(&mut bytes).len();
        Self { bytes, length }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The escape that a text begins with, as JSON and most languages write it.
fn escape(text: &[u8]) -> Option<(usize, Decoded)> {
    let plain = |byte| Some((2, Decoded::one(byte)));
    match *text.get(1)? {
        b'n' => plain(b'\n'),
        b'r' => plain(b'\r'),
        b't' => plain(b'\t'),
        b'b' => plain(8),
        b'f' => plain(12),
        byte @ (b'"' | b'\'' | b'\\' | b'/') => plain(byte),
        b'x' => {
            let value = hex(text.get(2..4)?)?;
            Some((4, Decoded::character(char::from_u32(value)?)))
        }
        b'u' => {
            let first = hex(text.get(2..6)?)?;
            if let Some(c) = char::from_u32(first) {
                return Some((6, Decoded::character(c)));
            }
            let second = text.get(6..12)?.strip_prefix(b"\\u").and_then(hex)?;
            let units = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
            let c = char::decode_utf16(units).next()?.ok()?;
            Some((12, Decoded::character(c)))
        }
        _ => None,
    }
}

fn percent(text: &[u8]) -> Option<(usize, Decoded)> {
    let value = hex(text.get(1..3)?)?;
    Some((3, Decoded::one(u8::try_from(value).ok()?)))
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| {
        Some(value * 16 + char::from(*digit).to_digit(16)?)
    })
}

/// Bytes of the line break that a text begins with, and of the indentation after it.
fn line_break(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"\r").unwrap_or(text);
    let rest = rest.strip_prefix(b"\n")?;
    let indented = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    Some(text.len() - rest.len() + indented.count())
}
