//! Where in a JSON text a path stands.

use super::source::{Step, steps};

/// The offset of the nearest thing to a path, in a text that is known to be JSON.
pub(super) fn offset(text: &str, path: &str) -> Option<usize> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
    };
    let mut found = None;
    for step in steps(path) {
        let Some(at) = reader.enter(step) else {
            break;
        };
        found = Some(at);
    }
    found
}

/// Goes through a text token by token; it stands at the start of a value.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// Goes to the value of a step, and gives the offset of what names it.
    fn enter(&mut self, step: Step<'_>) -> Option<usize> {
        self.space();
        match (self.peek()?, step) {
            (b'{', Step::Key(key)) => self.key(key),
            (b'[', Step::Index(index)) => self.index(index),
            _ => None,
        }
    }

    fn key(&mut self, wanted: &str) -> Option<usize> {
        self.at += 1;
        loop {
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b'"' => {
                    let start = self.at;
                    self.string();
                    let name: String = serde_json::from_slice(&self.bytes[start..self.at]).ok()?;
                    self.space();
                    // The colon.
                    self.at += 1;
                    if name == wanted {
                        return Some(start);
                    }
                    self.value()?;
                }
                _ => return None,
            }
        }
    }

    fn index(&mut self, wanted: usize) -> Option<usize> {
        self.at += 1;
        for index in 0.. {
            self.space();
            match self.peek()? {
                b']' => return None,
                _ if index == wanted => return Some(self.at),
                _ => self.value()?,
            }
            self.space();
            if self.peek()? == b',' {
                self.at += 1;
            }
        }
        None
    }

    /// Passes over a value, however deep it is.
    fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            self.space();
            match self.peek()? {
                b'"' => self.string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                _ => self.word(),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += match byte {
                b'\\' => 2,
                _ => 1,
            };
            if byte == b'"' {
                return;
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) {
        while self
            .peek()
            .is_some_and(|byte| !b",:]} \t\r\n".contains(&byte))
        {
            self.at += 1;
        }
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| b" \t\r\n".contains(&byte)) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n \"organisation\": \"a\\\"{\",\n \"agents\": [\n  {\"id\": \"ada\", \"x\": [[], {\"y\": -1e3}]},\n  {\"id\": \"bob\",\n   \"config\": {\n    \"browser\": 1}\n  }\n ]\n}\n";

    #[test]
    fn a_problem_stands_on_a_line() {
        let line = |path| offset(TEXT, path).map(|at| TEXT[..at].matches('\n').count() + 1);
        assert_eq!(line("organisation"), Some(2));
        assert_eq!(line("agents"), Some(3));
        assert_eq!(line("agents[0].x[1].y"), Some(4));
        assert_eq!(line("agents[1].config.browser"), Some(7));
        // What is missing stands where it is missed.
        assert_eq!(line("agents[1].guild"), Some(5));
        assert_eq!(line("agents[7]"), Some(3));
        assert_eq!(line("guilds"), None);
        assert_eq!(line(""), None);
    }
}
