//! One stream of a script: its first bytes are kept, all are counted.

use helper_protocol::child::Sink;

/// Bytes of a stream up to a bound.
pub(crate) struct Capture {
    kept: Vec<u8>,
    bound: usize,
    total: u64,
}

impl Capture {
    /// Keeps at most `bound` bytes.
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            kept: Vec::new(),
            bound,
            total: 0,
        }
    }

    /// Bytes that came.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Bytes that came and weren't kept.
    pub(crate) fn bytes_left_out(&self) -> u64 {
        self.total - self.kept.len() as u64
    }

    /// What was kept. Bytes that are no UTF-8 read as U+FFFD; a character that
    /// the bound split is left out.
    pub(crate) fn text(&self) -> String {
        let whole = if self.bytes_left_out() > 0 {
            without_split_end(&self.kept)
        } else {
            &self.kept
        };
        String::from_utf8_lossy(whole).into_owned()
    }
}

impl Sink for Capture {
    fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.bound - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

fn without_split_end(bytes: &[u8]) -> &[u8] {
    match bytes.utf8_chunks().last() {
        // Only a sequence that could still become a character is an incomplete one.
        Some(chunk) if !chunk.invalid().is_empty() && chunk.invalid()[0] >= 0xc2 => {
            &bytes[..bytes.len() - chunk.invalid().len()]
        }
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bound: usize, bytes: &[u8], text: &str, left_out: u64) {
        let mut capture = Capture::new(bound);
        for byte in bytes {
            capture.take(&[*byte]);
        }
        assert_eq!(capture.text(), text);
        assert_eq!(capture.bytes_left_out(), left_out);
    }

    #[test]
    fn a_bound_splits_no_character() {
        check(10, b"abc", "abc", 0);
        check(2, b"abc", "ab", 1);
        check(4, "a\u{20ac}\u{20ac}".as_bytes(), "a\u{20ac}", 3);
        check(5, "a\u{20ac}\u{20ac}".as_bytes(), "a\u{20ac}", 2);
        check(3, b"a\xffb-", "a\u{fffd}b", 1);
    }
}
