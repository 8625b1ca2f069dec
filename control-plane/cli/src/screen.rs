//! What the payload is shown on: its size, whether it has colours, and what time it is.

use std::io::IsTerminal;

use jiff::Timestamp;
use rustix::termios::tcgetwinsize;

use crate::api::variable;

/// Where nothing tells the size.
const WIDTH: usize = 80;
const HEIGHT: usize = 24;
/// A narrower terminal is treated as one this wide.
const MIN_WIDTH: usize = 20;

/// The terminal, or what stands for one.
#[derive(Debug, Clone)]
pub(crate) struct Screen {
    /// Columns.
    pub(crate) width: usize,
    /// Lines, where somebody looks at them: on a terminal, or where `LINES` is set.
    pub(crate) height: Option<usize>,
    /// Whether stdout is a terminal.
    pub(crate) is_terminal: bool,
    colours: bool,
    /// Times are told from here.
    pub(crate) now: Timestamp,
}

/// How a cell is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Title,
    Good,
    Bad,
    Faint,
}

impl Screen {
    /// What stdout is: `COLUMNS` and `LINES`, else the terminal's size, else 80 by 24.
    /// Colours need a terminal and no `NO_COLOR` (no-color.org).
    pub(crate) fn find() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let size = tcgetwinsize(std::io::stdout()).ok();
        let number = |name: &str, told: Option<u16>| {
            variable(name)
                .and_then(|text| text.parse().ok())
                .filter(|count| *count > 0)
                .or(told.map(usize::from).filter(|count| *count > 0))
        };
        let width = number("COLUMNS", size.map(|size| size.ws_col)).unwrap_or(WIDTH);
        let height = number("LINES", size.map(|size| size.ws_row));
        let is_dumb = variable("TERM").is_some_and(|name| name == "dumb");
        Self {
            width: width.max(MIN_WIDTH),
            height: height.or(is_terminal.then_some(HEIGHT)),
            is_terminal,
            colours: is_terminal && variable("NO_COLOR").is_none() && !is_dumb,
            now: Timestamp::now(),
        }
    }

    /// The text in its colour, where there are colours.
    pub(crate) fn paint(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            _ if !self.colours || text.is_empty() => return text.to_owned(),
            Tone::Plain => return text.to_owned(),
            Tone::Title => 1,
            Tone::Faint => 2,
            Tone::Bad => 31,
            Tone::Good => 32,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A screen of a test.
    #[cfg(test)]
    pub(crate) fn of(width: usize) -> Self {
        Self {
            width,
            height: None,
            is_terminal: false,
            colours: false,
            now: "2026-03-01T12:00:00Z".parse().unwrap(),
        }
    }
}
