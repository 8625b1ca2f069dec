//! Are two answers about one selector the same: refused or not, which elements in which order, and how strict?

use guilds_browser::Matching;
use serde_json::Value;

/// A line on the difference, if there is one.
pub fn difference(
    selector: &str,
    ours: &Result<Matching, String>,
    theirs: &Value,
) -> Option<String> {
    match (ours, theirs["refused"].as_str()) {
        (Err(_), Some(_)) => None,
        (Err(why), None) => Some(format!("{selector}\n    only we refuse: {why}")),
        (Ok(found), Some(why)) => Some(format!(
            "{selector}\n    only they refuse: {why}\n    ours: {:?}",
            found.names
        )),
        (Ok(found), None) => {
            let expected: Vec<(usize, u64)> =
                serde_json::from_value(theirs["found"].clone()).unwrap();
            if found.places != expected {
                return Some(format!(
                    "{selector}\n    ours:   {:?} {:?}\n    theirs: {expected:?}",
                    found.places, found.names
                ));
            }
            strictness(selector, found, &theirs["strict"])
        }
    }
}

fn strictness(selector: &str, found: &Matching, theirs: &Value) -> Option<String> {
    let count = theirs.as_u64()?;
    let sentence = format!("strict mode violation: {selector} resolved to {count} elements\n");
    match &found.strict {
        Some(own) if own.starts_with(&sentence) => None,
        other => Some(format!(
            "{selector}\n    strict for {count} elements, ours: {other:?}"
        )),
    }
}
