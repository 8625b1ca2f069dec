//! The grammar of ids of organisations, guilds, agents, machines and connectors.

/// Whether a text matches `^[a-z][a-z0-9-]{0,30}$`.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= 31
        && bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_are_short_lower_case_words() {
        for good in ["a", "ada", "web-search-2", &"a".repeat(31)] {
            assert!(super::is_id(good), "{good}");
        }
        for bad in ["", "Ada", "2a", "-a", "a_b", "a b", &"a".repeat(32), "ä"] {
            assert!(!super::is_id(bad), "{bad}");
        }
    }
}
