//! The `terminal` filter: what a screen would show of a program's output.

use std::iter::Peekable;
use std::str::Chars;

use super::is_sign;

/// Equal lines in a row from which they are folded.
const FOLD_FROM: usize = 10;
/// How a count of equal lines begins.
const COUNT: &str = "[last line repeated ";
/// Farthest column a cursor movement may open beyond the end of a line.
const MAX_COLUMN: usize = 1_000;

/// Takes escape sequences out and resolves carriage returns, backspaces and
/// erasing within a line (ECMA-48).
pub(super) fn resolve(text: &str) -> String {
    if !text.bytes().any(is_control) && !text.contains(|c: char| is_c1(c)) {
        return text.to_owned();
    }
    let mut screen = Screen::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\u{b}' | '\u{c}' | '\u{85}' => screen.new_line(),
            '\r' => screen.column = 0,
            '\u{8}' => screen.column = screen.column.saturating_sub(1),
            '\u{1b}' => escape(&mut chars, &mut screen),
            '\u{9b}' => control_sequence(&mut chars, &mut screen),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => control_string(&mut chars),
            '\t' => screen.put(c),
            c if is_sign(c) => screen.signs.push((screen.column, c)),
            c if (c as u32) < 0x20 || c == '\u{7f}' || is_c1(c) => {}
            c => screen.put(c),
        }
    }
    screen.finish()
}

const fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f
}

const fn is_c1(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9f}')
}

/// The line being written and those that are done.
#[derive(Default)]
struct Screen {
    done: String,
    line: Vec<char>,
    column: usize,
    /// Signs of cuts in the line, before the cell of a column.
    signs: Vec<(usize, char)>,
}

impl Screen {
    fn put(&mut self, c: char) {
        if self.line.len() < self.column {
            self.line.resize(self.column, ' ');
        }
        match self.line.get_mut(self.column) {
            Some(cell) => *cell = c,
            None => self.line.push(c),
        }
        self.column += 1;
    }

    fn end_line(&mut self) {
        let mut signs = std::mem::take(&mut self.signs);
        signs.sort_by_key(|&(column, _)| column);
        let mut signs = signs.into_iter().peekable();
        for (column, c) in self.line.drain(..).enumerate() {
            while let Some((_, sign)) = signs.next_if(|&(at, _)| at <= column) {
                self.done.push(sign);
            }
            self.done.push(c);
        }
        self.done.extend(signs.map(|(_, sign)| sign));
    }

    fn new_line(&mut self) {
        self.end_line();
        self.done.push('\n');
        self.column = 0;
    }

    fn move_to(&mut self, column: usize) {
        self.column = column.min(self.line.len().max(MAX_COLUMN));
    }

    /// `CSI n K`: erase to the end, to the start, or the whole line.
    fn erase(&mut self, mode: usize) {
        match mode {
            0 => self.line.truncate(self.column),
            1 => {
                let end = self.line.len().min(self.column + 1);
                self.line[..end].fill(' ');
            }
            _ => self.line.clear(),
        }
    }

    fn finish(mut self) -> String {
        self.end_line();
        self.done
    }
}

/// After ESC: a control sequence, a control string, or a short escape.
fn escape(chars: &mut Peekable<Chars<'_>>, screen: &mut Screen) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            control_sequence(chars, screen);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            control_string(chars);
        }
        Some(_) => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        None => {}
    }
}

/// `CSI parameters intermediates final`: erasing and moving within the line act,
/// the others (colours, modes, other lines) go.
fn control_sequence(chars: &mut Peekable<Chars<'_>>, screen: &mut Screen) {
    let mut parameters = String::new();
    while let Some(c) = chars.next_if(|c| matches!(c, '0'..='?')) {
        parameters.push(c);
    }
    while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
    let Some(last) = chars.next_if(|c| matches!(c, '@'..='~')) else {
        return;
    };
    let number = parameters
        .split(';')
        .next()
        .and_then(|first| first.parse::<usize>().ok());
    let count = number.unwrap_or(1).max(1);
    match last {
        'K' => screen.erase(number.unwrap_or(0)),
        'C' => screen.move_to(screen.column.saturating_add(count)),
        'D' => screen.column = screen.column.saturating_sub(count),
        'G' => screen.move_to(count - 1),
        _ => {}
    }
}

/// OSC, DCS, SOS, PM and APC: up to BEL, ST or CAN. One that never ends takes
/// only the rest of its line, so that a stray introducer hides nothing.
fn control_string(chars: &mut Peekable<Chars<'_>>) {
    let mut ahead = chars.clone();
    let mut previous = '\0';
    while let Some(c) = ahead.next() {
        if matches!(c, '\u{7}' | '\u{9c}' | '\u{18}') || (c == '\\' && previous == '\u{1b}') {
            *chars = ahead;
            return;
        }
        previous = c;
    }
    while chars.next_if(|&c| c != '\n').is_some() {}
}

/// Writes a run of 10 or more equal lines as the line and a count.
pub(super) fn fold(text: &str) -> String {
    let mut folded = fold_once(text);
    // A count may be equal to lines that the program wrote after it.
    while folded.contains(COUNT) {
        let again = fold_once(&folded);
        if again == folded {
            break;
        }
        folded = again;
    }
    folded
}

fn fold_once(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.split('\n').peekable();
    let mut first = true;
    while let Some(line) = lines.next() {
        let mut more = 0;
        // The piece after the last newline is no line of its own when it is empty.
        while lines.peek() == Some(&line) && !(line.is_empty() && is_last(&lines)) {
            lines.next();
            more += 1;
        }
        let shown = if more + 1 >= FOLD_FROM { 1 } else { more + 1 };
        for _ in 0..shown {
            if !first {
                out.push('\n');
            }
            out.push_str(line);
            first = false;
        }
        if more + 1 >= FOLD_FROM {
            out.push_str(&format!("\n{COUNT}{more} more times]"));
        }
    }
    out
}

fn is_last(lines: &Peekable<std::str::Split<'_, char>>) -> bool {
    lines.clone().nth(1).is_none()
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(super::resolve(text), expected);
    }

    #[test]
    fn escape_sequences_go() {
        check("\u{1b}[1;31mred\u{1b}[0m\n", "red\n");
        check(
            "\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\",
            "alink",
        );
        check("\u{1b}Pq#0\u{1b}\\b\u{1b}(Bc\u{1b}7d", "bcd");
        check("\u{9b}31mc1\u{9d}0;t\u{9c}!", "c1!");
        check("bell\u{7} nul\u{0}", "bell nul");
    }

    #[test]
    fn an_endless_control_string_takes_only_its_line() {
        check("a\u{1b}]0;never ends\nb", "a\nb");
        check("end\u{1b}", "end");
        check("end\u{1b}[12", "end");
    }

    #[test]
    fn a_line_reads_as_the_screen_would() {
        check("10%\r50%\r100%\n", "100%\n");
        check("abcdef\rxy\n", "xycdef\n");
        check("line\r\nnext\r\n", "line\nnext\n");
        check("abc\u{8}\u{8}X", "aXc");
        check("downloading\r\u{1b}[Kdone", "done");
        check("abc\u{1b}[2Kd", "   d");
        check("a\u{1b}[3Cb\u{1b}[1Gz", "z   b");
    }

    #[test]
    fn a_sign_stays_before_the_cell_that_it_came_to() {
        check("......\rabc\u{fdd0}", "abc\u{fdd0}...");
        check("\u{fdd1}ab\r..c\n", "\u{fdd1}..c\n");
        check("abc\u{fdd0}\r\u{1b}[K", "\u{fdd0}");
        check("a\u{1b}[1m\u{fdd0}", "a\u{fdd0}");
    }

    #[test]
    fn a_far_column_costs_little() {
        let text = super::resolve("\u{1b}[999999999Cx");
        assert_eq!(text.len(), 1_001);
    }

    #[test]
    fn plain_text_is_untouched() {
        check("tab\there\nünïcode 🙂\n\n", "tab\there\nünïcode 🙂\n\n");
    }

    #[test]
    fn ten_equal_lines_are_folded_and_nine_are_not() {
        assert_eq!(
            super::fold(&format!("a\n{}b\n", "x\n".repeat(10))),
            "a\nx\n[last line repeated 9 more times]\nb\n"
        );
        let nine = format!("a\n{}b\n", "x\n".repeat(9));
        assert_eq!(super::fold(&nine), nine);
        assert_eq!(
            super::fold(&"x\n".repeat(12)),
            "x\n[last line repeated 11 more times]\n"
        );
        assert_eq!(
            super::fold(&"\n".repeat(10)),
            "\n[last line repeated 9 more times]\n"
        );
    }

    #[test]
    fn what_is_folded_is_not_folded_again() {
        // The count of the first ten is equal to the nine lines after it.
        let count = "[last line repeated 9 more times]\n";
        let text = format!("{}{}", "x\n".repeat(10), count.repeat(9));
        let folded = super::fold(&text);
        assert_eq!(folded, format!("x\n{}", count.repeat(2)));
        assert_eq!(super::fold(&folded), folded);
    }
}
