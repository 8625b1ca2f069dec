//! What the texts of arguments have in common.

/// Characters that end a line, for some reader.
const LINE_ENDS: [char; 7] = [
    '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
];

/// Whether a text has a second line.
pub(super) fn has_lines(text: &str) -> bool {
    text.contains(LINE_ENDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_in_seven_ways() {
        for end in [
            "\n", "\r\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}",
        ] {
            assert!(has_lines(&format!("two{end}lines")), "{end:?}");
        }
        assert!(!has_lines("one line,\tand a\u{a0}tab"));
    }
}
