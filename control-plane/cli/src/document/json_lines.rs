//! Where in a JSON text a path stands.

use std::collections::{HashMap, HashSet};

use super::source::{Step, steps};

/// A text that was read once, to find many things in it: where each member of it
/// begins, and each item of those that are lists.
pub(super) struct Index<'a> {
    bytes: &'a [u8],
    members: HashMap<String, Member>,
}

struct Member {
    name: usize,
    value: usize,
    items: Vec<usize>,
}

impl<'a> Index<'a> {
    /// Reads a text that is known to be a JSON object.
    pub(super) fn read(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut index = Self {
            bytes,
            members: HashMap::new(),
        };
        let mut reader = Reader { bytes, at: 0 };
        reader.space();
        reader.at += 1;
        while let Some((start, name)) = reader.name() {
            reader.space();
            let value = reader.at;
            let items = if reader.peek() == Some(b'[') {
                reader.items()
            } else {
                Vec::new()
            };
            reader.at = value;
            let passed = reader.value();
            let member = Member {
                name: start,
                value,
                items,
            };
            index.members.insert(name, member);
            if passed.is_none() {
                break;
            }
        }
        index
    }

    /// The offset of the nearest thing to a path.
    pub(super) fn offset(&self, path: &str) -> Option<usize> {
        let mut steps = steps(path).peekable();
        let Some(Step::Key(key)) = steps.next() else {
            return None;
        };
        let member = self.members.get(key)?;
        let mut found = member.name;
        let mut reader = Reader {
            bytes: self.bytes,
            at: member.value,
        };
        if let Some(Step::Index(index)) = steps.peek()
            && let Some(item) = member.items.get(*index)
        {
            found = *item;
            reader.at = *item;
            steps.next();
        }
        for step in steps {
            let Some(at) = reader.enter(step) else {
                break;
            };
            found = at;
        }
        Some(found)
    }
}

/// The first name that stands in one object twice, and where it does so again, in
/// a text that is known to be JSON.
pub(super) fn repeated(text: &str) -> Option<(usize, String)> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
    };
    // The names of each object that is open; a list has none.
    let mut open: Vec<Option<HashSet<String>>> = Vec::new();
    loop {
        reader.space();
        match reader.peek()? {
            b'{' => open.push(Some(HashSet::new())),
            b'[' => open.push(None),
            b'}' | b']' => {
                open.pop();
            }
            b',' | b':' => {}
            b'"' => {
                let start = reader.at;
                reader.string();
                let end = reader.at;
                reader.space();
                if reader.peek() == Some(b':')
                    && let Some(Some(names)) = open.last_mut()
                {
                    let name: String = serde_json::from_slice(&reader.bytes[start..end]).ok()?;
                    if !names.insert(name.clone()) {
                        return Some((start, name));
                    }
                }
                continue;
            }
            _ => {
                reader.word();
                continue;
            }
        }
        reader.at += 1;
    }
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
        while let Some((start, name)) = self.name() {
            if name == wanted {
                return Some(start);
            }
            self.value()?;
        }
        None
    }

    /// Goes past the next name of an object and its colon; gives where it began.
    fn name(&mut self) -> Option<(usize, String)> {
        self.space();
        if self.peek()? == b',' {
            self.at += 1;
            self.space();
        }
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at;
        self.string();
        let name = serde_json::from_slice(self.bytes.get(start..self.at)?).ok()?;
        self.space();
        // The colon.
        self.at += 1;
        Some((start, name))
    }

    /// The offsets of a list's items.
    fn items(&mut self) -> Vec<usize> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.space();
            match self.peek() {
                None | Some(b']') => return items,
                Some(b',') => self.at += 1,
                Some(_) => {
                    items.push(self.at);
                    if self.value().is_none() {
                        return items;
                    }
                }
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
        let index = Index::read(TEXT);
        let line = |path| {
            index
                .offset(path)
                .map(|at| TEXT[..at].matches('\n').count() + 1)
        };
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
    #[test]
    fn a_name_that_stands_twice_in_an_object_is_found() {
        let found = repeated;
        assert_eq!(found(TEXT), None);
        assert_eq!(
            found("{\"a\": \"a\", \"b\": [\"a\", {\"a\": 1}, {\"a\": 2}]}"),
            None
        );
        assert_eq!(
            found("{\"a\": [], \"b\": 1, \"a\": []}"),
            Some((18, "a".to_owned()))
        );
        // However it is written, and however deep.
        assert_eq!(
            found("{\"b\": [{\"id\": 1, \"\\u0069d\": 2}]}"),
            Some((17, "id".to_owned()))
        );
    }
}
