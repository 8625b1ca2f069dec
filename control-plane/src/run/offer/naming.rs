//! Names of connectors' tools: their own where every model API takes it, else mapped, the same way each time.

use std::collections::HashSet;

use ring::digest::{SHA256, digest};

use crate::tools;

/// Most characters of a name that every model API takes.
const MAX: usize = 64;
/// Hexadecimal digits that tell mapped names apart.
const DIGITS: usize = 8;

/// The offered name of each tool, given by connector id and the connector's own name, in
/// the order of precedence. Native tools go before all of them; of two equal names the
/// later becomes `<connector>_<tool>`.
pub(super) fn names<'a>(
    listed: impl Iterator<Item = (&'a str, &'a str)>,
) -> impl Iterator<Item = String> {
    let mut taken: HashSet<String> = tools::names::all()
        .map(|(name, _)| name.to_owned())
        .collect();
    listed.map(move |(connector, tool)| {
        let own = legal(tool.to_owned(), tool);
        let prefixed = || {
            legal(
                format!("{connector}_{tool}"),
                &format!("{connector}_{tool}"),
            )
        };
        let hashed = |n: u64| {
            let key = format!("{connector}/{tool}/{n}");
            mapped(&format!("{connector}_{tool}"), &key)
        };
        let name = std::iter::once(own)
            .chain(std::iter::once_with(prefixed))
            .chain((0..).map(hashed))
            .find(|name| !taken.contains(name))
            .unwrap_or_default();
        taken.insert(name.clone());
        name
    })
}

/// A name that is legal as it stands, or mapped.
fn legal(name: String, key: &str) -> String {
    if is_legal(&name) {
        name
    } else {
        mapped(&name, key)
    }
}

/// `^[a-zA-Z0-9_-]{1,64}$`, which every model API takes.
fn is_legal(name: &str) -> bool {
    (1..=MAX).contains(&name.len()) && name.bytes().all(is_legal_byte)
}

fn is_legal_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The legal characters of a name, cut, and digits that are of the key alone.
fn mapped(name: &str, key: &str) -> String {
    let start: String = name
        .chars()
        .map(|c| match u8::try_from(c) {
            Ok(byte) if is_legal_byte(byte) => c,
            _ => '_',
        })
        .take(MAX - DIGITS - 1)
        .collect();
    let hash = digest(&SHA256, key.as_bytes());
    let digits: String = hash
        .as_ref()
        .iter()
        .take(DIGITS / 2)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{start}_{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listed: &[(&str, &str)], expected: &[&str]) {
        let found: Vec<String> = names(listed.iter().copied()).collect();
        assert_eq!(found, expected);
        let distinct: HashSet<&String> = found.iter().collect();
        assert_eq!(distinct.len(), found.len());
        assert!(found.iter().all(|name| is_legal(name)), "{found:?}");
    }

    #[test]
    fn a_legal_name_stays() {
        let long = "x".repeat(64);
        check(
            &[
                ("web", "tavily_search"),
                ("web", "Get-Page"),
                ("web", &long),
            ],
            &["tavily_search", "Get-Page", &long],
        );
    }

    #[test]
    fn another_is_mapped_by_itself_alone() {
        // The first eight digits of each name's SHA-256.
        check(
            &[("files", "fs/read"), ("files", "fs.read")],
            &["fs_read_96379919", "fs_read_4074bc02"],
        );
        let long = "x".repeat(65);
        let found: Vec<String> = names([("a", &*long)].into_iter()).collect();
        assert_eq!(found[0].len(), 64);
        let again: Vec<String> = names([("b", "y"), ("c", &*long)].into_iter()).collect();
        assert_eq!(again[1], found[0]);
    }

    #[test]
    fn native_tools_go_first_then_connectors_by_id() {
        check(
            &[
                ("a", "search"),
                ("b", "search"),
                ("c", "note_get"),
                ("c", "file_read"),
            ],
            &["search", "b_search", "c_note_get", "c_file_read"],
        );
    }

    #[test]
    fn a_name_that_the_prefix_takes_is_taken() {
        let found: Vec<String> =
            names([("a", "t"), ("b", "t"), ("c", "b_t"), ("c_b", "t")].into_iter()).collect();
        assert_eq!(found[..3], ["t", "b_t", "c_b_t"]);
        assert!(
            found[3].starts_with("c_b_t_") && found[3].len() == 14,
            "{}",
            found[3]
        );
    }
}
