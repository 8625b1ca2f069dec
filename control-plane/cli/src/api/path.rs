//! Percent-encoding (RFC 3986) of what goes into a path or a query.

/// One path segment, or one value of a query: everything but the unreserved
/// characters is encoded, a `/` too.
pub(crate) fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    // These two would be taken for steps in the path.
    match encoded.as_str() {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        _ => encoded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_segment() {
        assert_eq!(segment("ada"), "ada");
        assert_eq!(segment("org/a b.md"), "org%2Fa%20b.md");
        assert_eq!(segment("agent:ada:note_write"), "agent%3Aada%3Anote_write");
        assert_eq!(segment("ä?#%"), "%C3%A4%3F%23%25");
        assert_eq!(segment(".."), "%2E%2E");
    }
}
