//! Text of others on a terminal: nothing it would obey, measured in its columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Stands for what was cut off.
const ELLIPSIS: char = '…';

/// Whether a terminal would obey the character rather than show it: controls,
/// and those that turn the direction of writing or show as nothing.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// One line: ends of lines and tabs are spaces, what is hidden shows as `�`.
pub(crate) fn line(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' | '\r' | '\t' => ' ',
            hidden if is_hidden(hidden) => '\u{fffd}',
            shown => shown,
        })
        .collect()
}

/// Several lines: as [`line()`], but ends of lines and tabs stay.
pub(crate) fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            hidden if is_hidden(hidden) => '\u{fffd}',
            shown => shown,
        })
        .collect()
}

/// Columns that a line takes.
pub(crate) fn width(line: &str) -> usize {
    UnicodeWidthStr::width(line)
}

/// The line in at most `columns`, with `…` where something was cut off.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    // A line in a terminal's width has far fewer bytes than this; a whole
    // note's text need not be measured.
    let near = line.floor_char_boundary(columns.saturating_mul(32).max(256));
    if near == line.len() && width(line) <= columns {
        return line.to_owned();
    }
    let mut kept = String::new();
    let mut taken = 0;
    for character in line[..near].chars() {
        let wide = character.width().unwrap_or(0);
        if taken + wide + 1 > columns {
            break;
        }
        taken += wide;
        kept.push(character);
    }
    kept.truncate(kept.trim_end().len());
    if columns > 0 {
        kept.push(ELLIPSIS);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_reaches_the_terminal_as_a_command() {
        assert_eq!(line("a\u{1b}[31mb\nc\td\u{9b}"), "a�[31mb c d�");
        assert_eq!(line("\u{202e}txt\u{2066}"), "�txt�");
        assert_eq!(lines("a\r\n\tb\u{7}\r"), "a\n\tb��");
    }

    #[test]
    fn a_cut_line_ends_in_an_ellipsis_and_fits() {
        assert_eq!(cut("handbook", 8), "handbook");
        assert_eq!(cut("handbooks", 8), "handboo…");
        assert_eq!(cut("hand books", 6), "hand…");
        // Each of these takes two columns.
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("ab", 1), "…");
        assert_eq!(cut("ab", 0), "");
    }
}
