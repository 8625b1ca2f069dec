//! A file of an agent's home: how it is asked for, which paths are one, and how a path stands in a query.

/// Most bytes of a file that is read.
pub const MOST_FILE: u64 = 16 << 20;
/// Most bytes of a path.
pub const MOST_PATH: usize = 1_024;
/// Most bytes of a name between slashes, Linux's own bound.
const MOST_NAME: usize = 255;

/// `GET /v1/agents/{agent}/files?path=`: a regular file inside the agent's home, read as the agent.
///
/// The answer with status 200 is the file's bytes under their length, at most
/// [`MOST_FILE`], and no JSON; every other answer is an [`crate::ErrorBody`]: 404
/// for a file that isn't there, 422 for what is no regular file, is too large or
/// leads out of the home.
#[derive(Debug)]
pub struct ReadFile<'a> {
    /// Agent id.
    pub agent: &'a str,
    /// Path relative to the home, which [`check_path`] accepts.
    pub path: &'a str,
}

impl ReadFile<'_> {
    /// HTTP method.
    pub const METHOD: &'static str = "GET";

    /// Path and query.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/v1/agents/{}/files?path={}", self.agent, encode(self.path))
    }
}

/// Refuses text that names no file inside a home, whatever lies there.
///
/// # Errors
/// What is wrong and what is allowed, as the rest of a sentence about the path.
pub fn check_path(path: &str) -> Result<(), String> {
    if path.is_empty() {
        return Err("is empty; allowed is a path relative to the home".to_owned());
    }
    if path.len() > MOST_PATH {
        return Err(format!("has {} bytes; allowed are {MOST_PATH}", path.len()));
    }
    if path.contains('\0') {
        return Err("holds U+0000, which no path does".to_owned());
    }
    if path.starts_with('/') {
        return Err("begins with /; allowed is a path relative to the home".to_owned());
    }
    let mut depth = 0_usize;
    for name in path.split('/') {
        if name.len() > MOST_NAME {
            return Err(format!(
                "has a name of {} bytes in it; a name has at most {MOST_NAME}",
                name.len()
            ));
        }
        match name {
            "" | "." => {}
            ".." => {
                depth = depth
                    .checked_sub(1)
                    .ok_or("leads out of the home; allowed is a path inside it")?;
            }
            _ => depth += 1,
        }
    }
    Ok(())
}

/// Text for a query: everything but letters, digits and `-._~/` as `%XX` (RFC 3986).
#[must_use]
pub fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Reads what [`encode`] wrote; none for a broken `%XX` or what is not UTF-8.
#[must_use]
pub fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stands_in_a_query_and_comes_back() {
        let read = ReadFile {
            agent: "ada",
            path: "a b/ü&+%.txt",
        };
        assert_eq!(
            read.path(),
            "/v1/agents/ada/files?path=a%20b/%C3%BC%26%2B%25.txt"
        );
        assert_eq!(
            decode("a%20b/%C3%BC%26%2b%25.txt").as_deref(),
            Some("a b/ü&+%.txt")
        );
        for broken in ["%", "%4", "%zz", "%ff", "a%"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let found = check_path(path).err().unwrap_or_default();
        assert!(found.starts_with(expected), "{path}: {found}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{path}: {found}");
    }

    #[test]
    fn a_path_stays_inside_the_home() {
        check("screenshots/latest.jpg", "");
        check("./a/../b", "");
        check("a//b", "");
        check("..a/b..", "");
        check("", "is empty");
        check("/etc/passwd", "begins with /");
        check("..", "leads out of the home");
        check("a/../../b", "leads out of the home");
        check("a\0b", "holds U+0000");
        check(&"a/".repeat(513), "has 1026 bytes; allowed are 1024");
        check(&"a".repeat(256), "has a name of 256 bytes");
    }
}
