//! Texts and secrets of the usual kinds, the same each time they are made.

/// Numbers that look random and are the same every time (Knuth's MMIX constants).
#[derive(Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// The numbers that begin with `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One below `most`.
    pub fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % most
    }

    /// A text of some of these letters.
    pub fn text(&mut self, letters: &str, length: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..length)
            .map(|_| letters[self.below(letters.len())])
            .collect()
    }
}

const ALPHANUMERIC: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const WORDS: [&str; 16] = [
    "the", "request", "of", "worker", "was", "retried", "after", "a", "timeout", "in", "queue",
    "order", "payment", "and", "customer", "shipped",
];

/// Secrets: of twenty one PEM key, one phrase of words, two passwords with special
/// characters, the others keys of a service that all begin alike.
#[must_use]
pub fn secrets(count: usize) -> Vec<String> {
    let mut numbers = Numbers::new(11);
    (0..count)
        .map(|number| match number % 20 {
            0 => {
                let lines: Vec<_> = (0..24).map(|_| numbers.text(ALPHANUMERIC, 64)).collect();
                format!(
                    "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
                    lines.join("\n")
                )
            }
            1 => words(&mut numbers, 6) + &numbers.text("0123456789", 4),
            2 | 3 => numbers.text("abcdefghijkXYZ0123456789!\"/<&+ %ü", 16),
            _ => format!("sk_live_51{}", numbers.text(ALPHANUMERIC, 32)),
        })
        .collect()
}

/// What makes a line of a text.
pub type Line = fn(&mut Numbers) -> String;

/// Kinds of text, and what makes a line of each.
pub const KINDS: [(&str, Line); 4] = [
    ("a log", log),
    ("JSON", json),
    ("wrapped base64", base64),
    ("nothing but escapes", escapes),
];

/// Lines of a kind, at least so many bytes of them.
#[must_use]
pub fn of_lines(line: Line, bytes: usize, numbers: &mut Numbers) -> String {
    let mut text = String::with_capacity(bytes + 256);
    while text.len() < bytes {
        text.push_str(&line(numbers));
    }
    text
}

fn words(numbers: &mut Numbers, count: usize) -> String {
    let words: Vec<_> = (0..count)
        .map(|_| WORDS[numbers.below(WORDS.len())])
        .collect();
    words.join(" ")
}

fn log(numbers: &mut Numbers) -> String {
    format!(
        "2026-11-30T12:{:02}:{:02}Z INFO worker-{} {} id={}\n",
        numbers.below(60),
        numbers.below(60),
        numbers.below(8),
        words(numbers, 8),
        numbers.text("0123456789abcdef", 16),
    )
}

fn json(numbers: &mut Numbers) -> String {
    format!(
        "{{\"id\":{},\"title\":\"{}\",\"text\":\"{}\\n\\t\\\"{}\\\"\",\"url\":\"https://example.com/a%20b?q={}\"}},\n",
        numbers.below(1_000_000),
        words(numbers, 4),
        words(numbers, 10),
        words(numbers, 5),
        numbers.text(ALPHANUMERIC, 12),
    )
}

fn base64(numbers: &mut Numbers) -> String {
    numbers.text(&format!("{ALPHANUMERIC}+/"), 76) + "\n"
}

fn escapes(numbers: &mut Numbers) -> String {
    format!(
        "\\u00{:02x}%{:02X}+\\n",
        0x20 + numbers.below(0x5f),
        0x20 + numbers.below(0x5f)
    )
}
