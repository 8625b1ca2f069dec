//! The command line: a verb and a home.

use std::path::PathBuf;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Run a command in a fresh shell.
    Shell,
}

impl Verb {
    /// Every verb.
    const ALL: [Self; 1] = [Self::Shell];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
        }
    }
}

/// Reads `VERB --home DIR`.
///
/// # Errors
/// Every problem, a sentence each.
pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<(Verb, PathBuf), Vec<String>> {
    let (mut verb, mut home, mut problems) = (None, None, Vec::new());
    let allowed = Verb::ALL.map(Verb::as_str).join(", ");
    let mut words = words;
    while let Some(word) = words.next() {
        if word == "--home" {
            match words.next() {
                Some(value) if home.is_none() => home = Some(value),
                Some(_) => problems.push("--home is given twice".to_owned()),
                None => problems.push("--home has no value".to_owned()),
            }
        } else if word.starts_with('-') {
            problems.push(format!("`{word}` is not known; known is --home"));
        } else if verb.is_some() {
            problems.push(format!("`{word}` is a second verb"));
        } else {
            let found = Verb::ALL.into_iter().find(|known| known.as_str() == word);
            if found.is_none() {
                problems.push(format!("`{word}` is not a verb; verbs are: {allowed}"));
            }
            verb = Some(found);
        }
    }
    if verb.is_none() {
        problems.push(format!("the verb is missing; verbs are: {allowed}"));
    }
    match &home {
        None => problems.push("--home is missing".to_owned()),
        Some(home) if !home.starts_with('/') => {
            problems.push(format!("--home `{home}` is not an absolute path"));
        }
        Some(_) => {}
    }
    match (verb.flatten(), home) {
        (Some(verb), Some(home)) if problems.is_empty() => Ok((verb, PathBuf::from(home))),
        _ => Err(problems),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str]) -> Result<(Verb, PathBuf), Vec<String>> {
        read(words.iter().map(ToString::to_string))
    }

    #[test]
    fn a_verb_and_a_home_are_read() {
        assert_eq!(
            check(&["shell", "--home", "/home/ada"]),
            Ok((Verb::Shell, PathBuf::from("/home/ada")))
        );
    }

    #[test]
    fn every_problem_is_told() {
        assert_eq!(
            check(&["compile", "--home", "ada", "-q"]).unwrap_err(),
            [
                "`compile` is not a verb; verbs are: shell",
                "`-q` is not known; known is --home",
                "--home `ada` is not an absolute path",
            ]
        );
        assert_eq!(
            check(&[]).unwrap_err(),
            ["the verb is missing; verbs are: shell", "--home is missing"]
        );
    }
}
