//! A command's output: whole while it is short, else its first third and last two thirds around a marker.

use std::collections::VecDeque;
use std::path::Path;

use helper_protocol::child::Sink;

use crate::spool::Spool;

/// Output up to this many bytes is given back whole.
const WHOLE_BYTES: usize = 32 * 1024;
/// Room that the first line and the names of background processes may need.
const RESERVED_BYTES: usize = 4 * 1024;

/// Takes output as it comes, in bounded memory.
pub(crate) struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_bytes: usize,
    tail_bytes: usize,
    total: u64,
    newlines: u64,
    spool: Spool,
}

impl Output {
    /// For a reply of at most `max_output_bytes`; what is too long goes to a
    /// file below `home`.
    pub(crate) fn new(home: &Path, max_output_bytes: usize) -> Self {
        let whole = WHOLE_BYTES.min(max_output_bytes.saturating_sub(RESERVED_BYTES));
        let head_bytes = whole / 3;
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_bytes,
            tail_bytes: whole - head_bytes,
            total: 0,
            newlines: 0,
            spool: Spool::new(home),
        }
    }

    /// Bytes that came.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The text for the reply. Bytes that are no UTF-8 read as U+FFFD.
    pub(crate) fn text(&mut self) -> String {
        let tail = self.tail.make_contiguous();
        let kept = self.head.len() + tail.len();
        if self.total == kept as u64 {
            let whole = [self.head.as_slice(), tail].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let head = cut_end(&self.head);
        let tail = cut_start(tail);
        let bytes = self.total - (head.len() + tail.len()) as u64;
        let lines = self.newlines - newlines(head) - newlines(tail);
        let marker = format!(
            "[… {} and {} left out here; {} …]",
            counted(bytes, "byte"),
            counted(lines, "line"),
            self.spool.describe(self.total)
        );
        let mut text = String::from_utf8_lossy(head).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&marker);
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(tail));
        text
    }
}

impl Sink for Output {
    fn take(&mut self, bytes: &[u8]) {
        let before = self.total;
        self.total += bytes.len() as u64;
        self.newlines += newlines(bytes);
        let whole = (self.head_bytes + self.tail_bytes) as u64;
        if self.total > whole {
            if before <= whole {
                let tail = self.tail.make_contiguous();
                self.spool.write(&self.head);
                self.spool.write(tail);
            }
            self.spool.write(bytes);
        }
        let room = (self.head_bytes - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        let rest = &rest[rest.len().saturating_sub(self.tail_bytes)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_bytes);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Ends at a line's end when there is one in the second half, else at a character's.
fn cut_end(bytes: &[u8]) -> &[u8] {
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(at) if at >= bytes.len() / 2 => &bytes[..=at],
        _ => {
            let end = bytes.len();
            let start = (end.saturating_sub(3)..end).rev();
            let split = start.into_iter().find(|at| bytes[*at] >= 0xc0);
            match split {
                Some(at) if str::from_utf8(&bytes[at..]).is_err() => &bytes[..at],
                _ => bytes,
            }
        }
    }
}

/// Begins at a line's start when there is one in the first half, else at a character's.
fn cut_start(bytes: &[u8]) -> &[u8] {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) if at < bytes.len() / 2 => &bytes[at + 1..],
        _ => {
            let followers = bytes
                .iter()
                .take(3)
                .take_while(|byte| **byte & 0xc0 == 0x80);
            &bytes[followers.count()..]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(home: &Path) -> Output {
        Output::new(home, 131_072)
    }

    #[test]
    fn up_to_32_kib_is_whole() {
        let home = tempfile::tempdir().unwrap();
        let mut output = output(home.path());
        let bytes = vec![b'x'; 32_768];
        for part in bytes.chunks(1000) {
            output.take(part);
        }
        assert_eq!(output.text(), "x".repeat(32_768));
        assert_eq!(output.total(), 32_768);
        assert!(home.path().read_dir().unwrap().next().is_none(), "no file");
    }

    #[test]
    fn one_byte_more_is_cut_and_kept_in_a_file() {
        let home = tempfile::tempdir().unwrap();
        let mut output = output(home.path());
        output.take(&vec![b'x'; 32_769]);
        let text = output.text();
        let (head, rest) = text.split_once("\n[… ").unwrap();
        let (marker, tail) = rest.split_once(" …]\n").unwrap();
        assert_eq!(head.len(), 10_922);
        assert_eq!(tail.len(), 21_846);
        let start = "1 byte and 0 lines left out here; the whole output is in ~/";
        assert!(marker.starts_with(start), "{marker}");
        let path = marker.split_once("~/").unwrap().1;
        let kept = std::fs::read(home.path().join(path)).unwrap();
        assert_eq!(kept.len(), 32_769);
    }

    #[test]
    fn lines_left_out_are_counted_exactly() {
        let home = tempfile::tempdir().unwrap();
        let mut output = output(home.path());
        // 8 bytes a line, 80,000 bytes.
        for number in 0..10_000 {
            output.take(format!("{number:07}\n").as_bytes());
        }
        let text = output.text();
        // 10,922 bytes hold 1,365 whole lines; 21,846 bytes 2,730.
        assert!(text.contains("0001364\n[… 47240 bytes and 5905 lines left out here; "));
        assert!(text.contains(" …]\n0007270\n"));
        assert!(text.ends_with("0009999\n"));
    }

    #[test]
    fn a_cut_splits_no_character() {
        assert_eq!(cut_end("aa\u{20ac}".as_bytes()), "aa\u{20ac}".as_bytes());
        assert_eq!(cut_end(&"aa\u{20ac}".as_bytes()[..4]), b"aa");
        assert_eq!(cut_start(&"\u{20ac}bb".as_bytes()[1..]), b"bb");
        assert_eq!(cut_start(b"a\nbbbb"), b"bbbb");
        assert_eq!(cut_end(b"aaaa\nb"), b"aaaa\n");
    }
}
