//! How JSON and most languages escape a character, and how a URL does.

/// Longest escape: `\u1234`.
pub(super) const LONGEST_ESCAPE: usize = 6;

/// What stands for an escape: up to four bytes.
#[derive(Default)]
pub(super) struct Decoded {
    bytes: [u8; 4],
    length: usize,
}

impl Decoded {
    pub(super) fn one(byte: u8) -> Self {
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

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The escape that a text begins with, as JSON and most languages write it.
pub(super) fn escape(text: &[u8]) -> Option<(usize, Decoded)> {
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

pub(super) fn percent(text: &[u8]) -> Option<(usize, Decoded)> {
    let value = hex(text.get(1..3)?)?;
    Some((3, Decoded::one(u8::try_from(value).ok()?)))
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| {
        Some(value * 16 + char::from(*digit).to_digit(16)?)
    })
}

/// Bytes of the line break that a text begins with, and of the indentation after it.
pub(super) fn line_break(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"\r").unwrap_or(text);
    let rest = rest.strip_prefix(b"\n")?;
    let indented = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    Some(text.len() - rest.len() + indented.count())
}
