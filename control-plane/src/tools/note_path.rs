//! Display paths of notes as a model writes them, and what is refused about them.

use super::ToolError;
use super::validation::shown;
use crate::store::agents::{self, Agent};
use crate::store::notes::{self, Level, Place};

/// Keys that exist at agent level only, always.
pub(super) const TASK: &str = "task.md";
/// Key of the Memory.
pub(super) const MEMORY: &str = crate::store::memory::KEY;

/// Reads a display path.
///
/// # Errors
/// 422 for a path of another form, with a pointer for records and scripts; 404
/// for an owner that can't exist.
pub(super) fn parse(agent: &Agent, path: &str) -> Result<Place, ToolError> {
    let parts: Vec<&str> = path.split('/').collect();
    let (level, owner, key) = match parts.as_slice() {
        ["record" | "collection", ..] => {
            return Err(ToolError::invalid(format!(
                "{} is no note; records are reached with the record tools: record_search, record_list, record_add, record_update, record_remove",
                shown(path)
            )));
        }
        ["script", ..] => {
            return Err(ToolError::invalid(format!(
                "{} is no note; scripts are reached with the script tools: script_list, script_read, script_create, script_run, script_delete",
                shown(path)
            )));
        }
        ["agent", owner, key] => (Level::Agent, *owner, *key),
        ["guild", owner, key] => (Level::Guild, *owner, *key),
        ["org", key] => (Level::Org, agent.organisation.as_str(), *key),
        _ => {
            return Err(ToolError::invalid(format!(
                "{} is no path of a note; paths are agent/<agent>/<key>, guild/<guild>/<key> and org/<key>, and notes have no folders",
                shown(path)
            )));
        }
    };
    check_key(key)?;
    if !agents::is_id(owner) {
        return Err(absent(path));
    }
    Ok(Place {
        level,
        owner: owner.to_owned(),
        key: key.to_owned(),
    })
}

/// Refuses a key that is no file name of a note.
///
/// # Errors
/// 422 with what is allowed.
pub(super) fn check_key(key: &str) -> Result<(), ToolError> {
    if notes::is_key(key) {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "{} is no key of a note; a key is one file name that ends in .md, opens with a letter or digit, and has letters, digits, spaces, dots, underscores and hyphens, at most 122 characters",
        if key.is_empty() {
            "an empty text".to_owned()
        } else {
            shown(key)
        }
    )))
}

/// The one answer for what does not exist and what is out of reach.
pub(super) fn absent(path: impl std::fmt::Display) -> ToolError {
    ToolError::not_found(format!(
        "no note {} that you can read; note_find lists the notes you can",
        shown(&path.to_string())
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::store::agents::AgentConfig;

    /// An agent of the tests.
    pub(in crate::tools) fn ada() -> Agent {
        Agent {
            id: "ada".to_owned(),
            organisation: "acme".to_owned(),
            guild: "core".to_owned(),
            machine: "local".to_owned(),
            machine_address: "https://127.0.0.1:8443".to_owned(),
            slot: 1,
            config: AgentConfig::default(),
        }
    }

    #[track_caller]
    fn check(path: &str, expected: Result<(Level, &str, &str), &str>) {
        match (parse(&ada(), path), expected) {
            (Ok(place), Ok((level, owner, key))) => {
                assert_eq!(
                    (place.level, &*place.owner, &*place.key),
                    (level, owner, key)
                );
                assert_eq!(place.to_string(), path);
            }
            (Err(error), Err(part)) => {
                assert!(error.to_string().contains(part), "{error}");
            }
            (found, expected) => panic!("{path}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_path_names_level_owner_and_key() {
        check("agent/ada/plan.md", Ok((Level::Agent, "ada", "plan.md")));
        check(
            "guild/core/A b_c-1.md",
            Ok((Level::Guild, "core", "A b_c-1.md")),
        );
        check("org/handbook.md", Ok((Level::Org, "acme", "handbook.md")));
    }

    #[test]
    fn other_kinds_get_a_pointer_to_their_tools() {
        check(
            "record/contacts/7",
            Err("422 record/contacts/7 is no note; records are reached with the record tools"),
        );
        check("collection/contacts", Err("record tools"));
        check(
            "script/ada/report",
            Err("422 script/ada/report is no note; scripts are reached with the script tools"),
        );
    }

    #[test]
    fn what_is_no_path_is_refused_with_the_forms() {
        for path in [
            "",
            "plan.md",
            "agent/ada",
            "agent/ada/x/y.md",
            "org/a/b.md",
            "/org/a.md",
        ] {
            check(path, Err("422 "));
        }
        check("agent/Ada/x.md", Err("404 no note agent/Ada/x.md"));
    }

    #[test]
    fn a_key_is_one_file_name() {
        let longest = format!("{}.md", "a".repeat(119));
        let longer = format!("{}.md", "a".repeat(120));
        for good in ["a.md", "1 b.md", "a.b.md", &longest] {
            assert!(check_key(good).is_ok(), "{good}");
        }
        for bad in [
            "", ".md", " a.md", "-a.md", "a", "a.MD", "ä.md", "a/b.md", "a\0.md", &longer,
        ] {
            assert!(check_key(bad).is_err(), "{bad}");
        }
    }
}
