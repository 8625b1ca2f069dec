//! Names of scripts, and what is refused about them.

use super::validation::shown;
use super::{ToolError, names};

/// Most characters of a name.
const MAX_NAME: usize = 63;
/// A file of that name describes the scripts of a home.
const RESERVED: &str = "manifest";

/// Refuses a name that no script may have.
///
/// # Errors
/// 422 with what is allowed.
pub(super) fn check(name: &str) -> Result<(), ToolError> {
    if !is_name(name) {
        return Err(ToolError::invalid(format!(
            "{} is no name of a script; a name opens with a lower-case letter and has lower-case letters, digits, underscores and hyphens, at most {MAX_NAME} characters",
            if name.is_empty() {
                "an empty text".to_owned()
            } else {
                shown(name)
            }
        )));
    }
    if name == RESERVED {
        return Err(ToolError::invalid(format!(
            "the name {RESERVED} is reserved; choose another"
        )));
    }
    if names::all().any(|(tool, _)| tool == name) {
        return Err(ToolError::invalid(format!(
            "{name} is the name of a tool; choose another name for the script"
        )));
    }
    Ok(())
}

/// Whether text matches `^[a-z][a-z0-9_-]{0,62}$`.
fn is_name(text: &str) -> bool {
    let inner =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    text.len() <= MAX_NAME
        && text
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_lowercase())
        && text.bytes().all(inner)
}

/// The answer for a name that the agent has no script of.
pub(super) fn unknown(name: &str) -> ToolError {
    ToolError::not_found(format!(
        "no script {}; script_list names the scripts there are",
        shown(name)
    ))
}

/// A name that can be looked up at all.
///
/// # Errors
/// 404, since nothing of that name can exist.
pub(super) fn known_form(name: &str) -> Result<(), ToolError> {
    if is_name(name) {
        Ok(())
    } else {
        Err(unknown(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_name(name: &str, expected: Result<(), &str>) {
        match (check(name).map_err(|error| error.to_string()), expected) {
            (Ok(()), Ok(())) => {}
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            (found, expected) => panic!("{name}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_name_follows_the_grammar() {
        check_name("a", Ok(()));
        check_name("report-2_b", Ok(()));
        check_name(&"a".repeat(63), Ok(()));
        let longer = "a".repeat(64);
        for bad in ["", "1a", "_a", "A", "a.b", "a b", "ä", "a\0", &longer] {
            check_name(bad, Err("is no name of a script"));
        }
    }

    #[test]
    fn a_tools_name_and_the_reserved_one_are_refused() {
        check_name("manifest", Err("422 the name manifest is reserved"));
        check_name("shell", Err("422 shell is the name of a tool"));
        check_name("record_add", Err("422 record_add is the name of a tool"));
    }
}
