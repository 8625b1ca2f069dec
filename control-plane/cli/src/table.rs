//! Tables that fit the screen: text is cut, then columns are left out from the right, ids stay whole.

use crate::screen::{Screen, Tone};
use crate::text;

/// Between two columns.
const GAP: usize = 2;
/// Text is not cut shorter than this.
const MIN_TEXT: usize = 12;

/// What a column holds, and so what may become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Never left out, and cut only when there is nothing else left.
    Id,
    /// Left out before it is cut.
    Word,
    /// As a word, and set to the right.
    Number,
    /// Cut when there is no room.
    Text,
}

/// The head of a column.
#[derive(Debug, Clone)]
pub(crate) struct Heading {
    title: String,
    role: Role,
}

impl Heading {
    pub(crate) fn new(title: &str, role: Role) -> Self {
        Self {
            title: text::line(title),
            role,
        }
    }
}

/// One field of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A cell with text of anyone's.
    pub(crate) fn new(text: &str) -> Self {
        Self::toned(text, Tone::Plain)
    }

    /// A cell that is to be taken in some way.
    pub(crate) fn toned(text: &str, tone: Tone) -> Self {
        Self {
            text: text::line(text),
            tone,
        }
    }
}

/// Rows under headings.
#[derive(Debug)]
pub(crate) struct Table {
    headings: Vec<Heading>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
}

impl Table {
    pub(crate) fn new(headings: Vec<Heading>) -> Self {
        Self {
            headings,
            rows: Vec::new(),
            indent: 0,
        }
    }

    /// The same, set in from the left.
    pub(crate) fn indented(mut self, columns: usize) -> Self {
        self.indent = columns;
        self
    }

    /// Adds a row, which has as many cells as there are headings.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// The table, every line in the screen's width and without trailing spaces.
    pub(crate) fn show(&self, screen: &Screen) -> String {
        let widths = self.fit(screen.width.saturating_sub(self.indent));
        let mut shown = String::new();
        let titles = self
            .headings
            .iter()
            .map(|heading| Cell::toned(&heading.title, Tone::Title))
            .collect();
        for row in std::iter::once(&titles).chain(&self.rows) {
            self.line(&mut shown, row, &widths, screen);
        }
        shown
    }

    fn line(&self, shown: &mut String, row: &[Cell], widths: &[Option<usize>], screen: &Screen) {
        let start = shown.len();
        let mut pad = self.indent;
        for ((cell, heading), width) in row.iter().zip(&self.headings).zip(widths) {
            let Some(width) = *width else {
                continue;
            };
            let text = text::cut(&cell.text, width);
            let room = width.saturating_sub(text::width(&text));
            let (before, after) = match heading.role {
                Role::Number => (room, 0),
                _ => (0, room),
            };
            shown.push_str(&" ".repeat(pad + before));
            shown.push_str(&screen.paint(&text, cell.tone));
            pad = after + GAP;
        }
        let kept = shown[start..].trim_end_matches(' ').len();
        shown.truncate(start + kept);
        shown.push('\n');
    }

    /// Each column's width; nothing for one that is left out.
    fn fit(&self, room: usize) -> Vec<Option<usize>> {
        let natural: Vec<_> = (0..self.headings.len())
            .map(|index| self.natural(index))
            .collect();
        // A column that says nothing takes no room.
        let mut kept: Vec<_> = (0..self.headings.len())
            .filter(|index| self.headings[*index].role == Role::Id || !self.is_empty(*index))
            .collect();
        loop {
            let least: usize = kept
                .iter()
                .map(|index| self.least(*index, natural[*index]))
                .sum();
            let gaps = GAP * kept.len().saturating_sub(1);
            if least + gaps <= room {
                return self.share(&kept, &natural, room - gaps);
            }
            let Some(at) = kept
                .iter()
                .rposition(|index| self.headings[*index].role != Role::Id)
            else {
                return self.only_ids(&kept, &natural, room.saturating_sub(gaps));
            };
            kept.remove(at);
        }
    }

    fn is_empty(&self, index: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(index));
        cells.all(|cell| cell.text.is_empty())
    }

    fn natural(&self, index: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(index));
        cells
            .map(|cell| text::width(&cell.text))
            .chain([text::width(&self.headings[index].title)])
            .max()
            .unwrap_or(0)
    }

    fn least(&self, index: usize, natural: usize) -> usize {
        match self.headings[index].role {
            Role::Text => natural.min(MIN_TEXT),
            _ => natural,
        }
    }

    /// Gives what is left over to the text that wants it, the shortest first.
    fn share(&self, kept: &[usize], natural: &[usize], room: usize) -> Vec<Option<usize>> {
        let mut widths = vec![None; self.headings.len()];
        let mut left = room;
        for index in kept {
            let least = self.least(*index, natural[*index]);
            widths[*index] = Some(least);
            left -= least;
        }
        while left > 0 {
            let hungry = kept
                .iter()
                .filter_map(|index| Some((widths[*index]?, *index)))
                .filter(|(width, index)| *width < natural[*index])
                .min();
            let Some((width, index)) = hungry else {
                break;
            };
            widths[index] = Some(width + 1);
            left -= 1;
        }
        widths
    }

    /// Cuts the widest id until all have their place.
    fn only_ids(&self, kept: &[usize], natural: &[usize], room: usize) -> Vec<Option<usize>> {
        let mut widths = vec![None; self.headings.len()];
        for index in kept {
            widths[*index] = Some(natural[*index]);
        }
        let mut over = kept
            .iter()
            .map(|index| natural[*index])
            .sum::<usize>()
            .saturating_sub(room);
        while over > 0 {
            let widest = kept
                .iter()
                .filter_map(|index| Some((widths[*index]?, *index)))
                .max();
            let Some((width, index)) = widest.filter(|(width, _)| *width > 1) else {
                break;
            };
            widths[index] = Some(width - 1);
            over -= 1;
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues() -> Table {
        let mut table = Table::new(vec![
            Heading::new("ID", Role::Id),
            Heading::new("SUMMARY", Role::Text),
            Heading::new("REPORTS", Role::Number),
            Heading::new("STATUS", Role::Word),
        ]);
        for row in [
            [
                "0192f3a0-0000-7000-8000-000000000001",
                "browser_click waits for a button that never shows on the page of the orders",
                "12",
                "open",
            ],
            [
                "0192f3a0-0000-7000-8000-000000000002",
                "日本語の文字",
                "1",
                "resolved",
            ],
        ] {
            table.push(row.iter().map(|text| Cell::new(text)).collect());
        }
        table
    }

    #[test]
    fn at_40_columns_the_ids_stay_whole() {
        assert_eq!(
            issues().show(&Screen::of(40)),
            "\
ID
0192f3a0-0000-7000-8000-000000000001
0192f3a0-0000-7000-8000-000000000002
"
        );
    }

    #[test]
    fn at_80_columns_text_is_cut() {
        assert_eq!(
            issues().show(&Screen::of(80)),
            "\
ID                                    SUMMARY                  REPORTS  STATUS
0192f3a0-0000-7000-8000-000000000001  browser_click waits fo…       12  open
0192f3a0-0000-7000-8000-000000000002  日本語の文字                   1  resolved
"
        );
    }

    #[test]
    fn at_200_columns_nothing_is_cut() {
        assert_eq!(
            issues().show(&Screen::of(200)),
            "\
ID                                    SUMMARY                                                                      REPORTS  STATUS
0192f3a0-0000-7000-8000-000000000001  browser_click waits for a button that never shows on the page of the orders       12  open
0192f3a0-0000-7000-8000-000000000002  日本語の文字                                                                       1  resolved
"
        );
    }

    #[test]
    fn a_column_without_anything_in_it_is_left_out() {
        let mut table = Table::new(vec![
            Heading::new("ID", Role::Id),
            Heading::new("REASON", Role::Text),
            Heading::new("AGENTS", Role::Number),
        ]);
        table.push(vec![Cell::new("local"), Cell::new(""), Cell::new("2")]);
        assert_eq!(
            table.show(&Screen::of(80)),
            "ID     AGENTS\nlocal       2\n"
        );
    }

    #[test]
    fn where_nothing_else_is_left_an_id_is_cut() {
        assert_eq!(
            issues().show(&Screen::of(20)),
            "ID\n0192f3a0-0000-7000-…\n0192f3a0-0000-7000-…\n"
        );
    }
}
