//! The command line of the launcher.

use std::path::PathBuf;

/// Which script of whom.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Name without `.py`.
    pub(crate) name: String,
    /// The agent's home, absolute.
    pub(crate) home: PathBuf,
}

/// Reads `--name NAME --home DIR`.
///
/// # Errors
/// Every problem, a sentence each.
pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Place, Vec<String>> {
    let (mut name, mut home, mut problems) = (None, None, Vec::new());
    let mut words = words;
    while let Some(word) = words.next() {
        let slot = match word.as_str() {
            "--name" => &mut name,
            "--home" => &mut home,
            other => {
                problems.push(format!("`{other}` is not known; known are --name, --home"));
                continue;
            }
        };
        match words.next() {
            Some(value) if slot.is_none() => *slot = Some(value),
            Some(_) => problems.push(format!("{word} is given twice")),
            None => problems.push(format!("{word} has no value")),
        }
    }
    match &name {
        None => problems.push("--name is missing".to_owned()),
        Some(name) if !is_script_name(name) => problems.push(format!(
            "`{name}` is not a script's name: a lower-case letter, then up to 62 of a-z 0-9 _ -"
        )),
        Some(_) => {}
    }
    match &home {
        None => problems.push("--home is missing".to_owned()),
        Some(home) if !home.starts_with('/') => {
            problems.push(format!("--home `{home}` is not an absolute path"));
        }
        Some(_) => {}
    }
    match (name, home) {
        (Some(name), Some(home)) if problems.is_empty() => Ok(Place {
            name,
            home: PathBuf::from(home),
        }),
        _ => Err(problems),
    }
}

/// `^[a-z][a-z0-9_-]{0,62}$` of the specification.
fn is_script_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes
            .iter()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str]) -> Result<Place, Vec<String>> {
        read(words.iter().map(ToString::to_string))
    }

    #[test]
    fn both_are_read_in_any_order() {
        let place = check(&["--home", "/home/ada", "--name", "daily-1_b"]).unwrap();
        assert_eq!(place.name, "daily-1_b");
        assert_eq!(place.home, PathBuf::from("/home/ada"));
    }

    #[test]
    fn every_problem_is_told() {
        assert_eq!(
            check(&["--name", "../x", "--home", "ada", "-v"]).unwrap_err(),
            [
                "`-v` is not known; known are --name, --home",
                "`../x` is not a script's name: a lower-case letter, then up to 62 of a-z 0-9 _ -",
                "--home `ada` is not an absolute path",
            ]
        );
        assert_eq!(
            check(&[]).unwrap_err(),
            ["--name is missing", "--home is missing"]
        );
        assert_eq!(
            check(&["--home", "/h", "--name"]).unwrap_err(),
            ["--name has no value", "--name is missing"]
        );
    }

    #[test]
    fn a_name_has_at_most_63_characters() {
        assert!(is_script_name(&"a".repeat(63)));
        assert!(!is_script_name(&"a".repeat(64)));
        assert!(!is_script_name(""));
        assert!(!is_script_name("9a"));
        assert!(!is_script_name("aB"));
    }
}
