//! The command line: a verb, the DevTools port and the agent's home.

use std::path::PathBuf;

/// What the helper can be asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Opens an address.
    Navigate,
    /// Reads the page as a tree.
    Snapshot,
    /// Clicks one element.
    Click,
    /// Types text into one field.
    Type,
    /// Replaces what one field holds.
    Fill,
    /// Scrolls a panel or the window.
    Scroll,
    /// Writes a picture of the viewport.
    Screenshot,
    /// Runs JavaScript in the page.
    Eval,
}

impl Verb {
    /// Every verb with its word on the command line.
    pub const ALL: [(&str, Self); 8] = [
        ("navigate", Self::Navigate),
        ("snapshot", Self::Snapshot),
        ("click", Self::Click),
        ("type", Self::Type),
        ("fill", Self::Fill),
        ("scroll", Self::Scroll),
        ("screenshot", Self::Screenshot),
        ("eval", Self::Eval),
    ];
}

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// What to do.
    pub verb: Verb,
    /// DevTools port of the agent's Chrome on 127.0.0.1.
    pub port: u16,
    /// Home of the agent; files are written nowhere else.
    pub home: PathBuf,
}

impl CommandLine {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// One sentence that names every problem and what is allowed.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut verb, mut port, mut home) = (None, None, None);
        let mut problems = Vec::new();
        let mut words = words;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--port" => match words.next().as_deref().map(str::parse::<u16>) {
                    Some(Ok(number)) if number > 0 => port = Some(number),
                    _ => problems.push("--port takes a number from 1 to 65535".to_owned()),
                },
                "--home" => match words.next() {
                    Some(folder) if folder.starts_with('/') => home = Some(PathBuf::from(folder)),
                    _ => problems.push("--home takes an absolute path".to_owned()),
                },
                other if verb.is_none() && !other.starts_with('-') => {
                    verb = Verb::ALL
                        .iter()
                        .find(|(name, _)| *name == other)
                        .map(|(_, verb)| *verb);
                    if verb.is_none() {
                        problems.push(format!("unknown verb {other}; allowed are {}", verbs()));
                    }
                }
                other => problems.push(format!("unexpected argument {other}")),
            }
        }
        match (verb, port, home, problems.is_empty()) {
            (Some(verb), Some(port), Some(home), true) => Ok(Self { verb, port, home }),
            (verb, port, home, _) => {
                let said = problems.join("; ");
                if verb.is_none() && !said.contains("verb") {
                    problems.push(format!("a verb is missing; allowed are {}", verbs()));
                }
                if port.is_none() && !said.contains("--port") {
                    problems.push("--port is missing".to_owned());
                }
                if home.is_none() && !said.contains("--home") {
                    problems.push("--home is missing".to_owned());
                }
                Err(problems.join("; "))
            }
        }
    }
}

fn verbs() -> String {
    Verb::ALL.map(|(name, _)| name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<CommandLine, String> {
        CommandLine::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_whole_line_is_understood() {
        let line = parse("click --port 9301 --home /home/ada").unwrap();
        assert_eq!(line.verb, Verb::Click);
        assert_eq!(line.port, 9301);
        assert_eq!(line.home, PathBuf::from("/home/ada"));
    }

    #[test]
    fn an_unknown_verb_is_refused_with_the_allowed_ones() {
        assert_eq!(
            parse("dance --port 9301 --home /home/ada").unwrap_err(),
            "unknown verb dance; allowed are navigate, snapshot, click, type, fill, scroll, screenshot, eval"
        );
    }

    #[test]
    fn every_problem_is_told_at_once() {
        assert_eq!(
            parse("--port x").unwrap_err(),
            "--port takes a number from 1 to 65535; a verb is missing; allowed are navigate, snapshot, click, type, fill, scroll, screenshot, eval; --home is missing"
        );
    }
}
