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

/// Refuses a name that one of the agent's connector tools has.
///
/// # Errors
/// 422 with what to do.
pub(super) fn check_connectors(name: &str, tools: &[String]) -> Result<(), ToolError> {
    if tools.iter().any(|tool| tool == name) {
        return Err(ToolError::invalid(format!(
            "{name} is the name of a tool of one of your connectors; choose another name for the script"
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
    fn a_connector_tools_name_is_refused() {
        let tools = ["tavily_search".to_owned(), "Crawl".to_owned()];
        assert!(check_connectors("crawl", &tools).is_ok());
        assert!(check_connectors("tavily", &tools).is_ok());
        assert_eq!(
            check_connectors("tavily_search", &tools)
                .unwrap_err()
                .to_string(),
            "422 tavily_search is the name of a tool of one of your connectors; choose another name for the script"
        );
    }

    /// Every name in the specification's tables of native tools.
    #[test]
    fn no_script_takes_the_name_of_a_native_tool() {
        for tool in [
            "note_find",
            "note_get",
            "note_write",
            "note_delete",
            "record_search",
            "record_list",
            "record_add",
            "record_update",
            "record_remove",
            "memory_write",
            "browser_navigate",
            "browser_snapshot",
            "browser_click",
            "browser_type",
            "browser_fill",
            "browser_scroll",
            "browser_screenshot",
            "browser_eval",
            "code_task",
            "shell",
            "shell_status",
            "file_read",
            "code_search",
            "group_post",
            "report_issue",
            "schedule_create_cron",
            "schedule_create_window",
            "schedule_list",
            "schedule_pause",
            "schedule_resume",
            "schedule_delete",
            "script_create",
            "script_list",
            "script_read",
            "script_run",
            "script_delete",
            "secret_store",
            "secret_request",
        ] {
            check_name(tool, Err("is the name of a tool"));
        }
    }

    #[test]
    fn a_tools_name_and_the_reserved_one_are_refused() {
        check_name("manifest", Err("422 the name manifest is reserved"));
        check_name("shell", Err("422 shell is the name of a tool"));
        check_name("record_add", Err("422 record_add is the name of a tool"));
    }
}
