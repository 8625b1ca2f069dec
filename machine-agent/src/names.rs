//! Grammars of the names that reach a path, an account or a file.

/// True for ids of organisations, agents and machines: `^[a-z][a-z0-9-]{0,30}$`.
#[must_use]
pub fn is_id(text: &str) -> bool {
    starts_small(text, 31, |byte| byte == b'-')
}

/// True for ids that may become an account: an id other than `user`.
#[must_use]
pub fn is_agent(text: &str) -> bool {
    is_id(text) && text != "user"
}

/// True for a script's name: `^[a-z][a-z0-9_-]{0,62}$`.
#[must_use]
pub fn is_script(text: &str) -> bool {
    starts_small(text, 63, |byte| byte == b'_' || byte == b'-')
}

/// True for a helper's verb: `^[a-z][a-z0-9_-]{0,30}$`.
#[must_use]
pub fn is_verb(text: &str) -> bool {
    starts_small(text, 31, |byte| byte == b'_' || byte == b'-')
}

/// True for a machine call id: 26 characters of lower-case base32.
#[must_use]
pub fn is_call(text: &str) -> bool {
    text.len() == 26
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
}

fn starts_small(text: &str, most: usize, also: impl Fn(u8) -> bool) -> bool {
    text.len() <= most
        && text.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || also(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_small_letters_digits_and_dashes() {
        for good in ["a", "ada", "a-1", "abcdefghijklmnopqrstuvwxyz01234"] {
            assert!(is_id(good), "{good}");
        }
        for bad in [
            "",
            "1a",
            "-a",
            "Ada",
            "a_b",
            "a/b",
            "..",
            "a\n",
            "é",
            "abcdefghijklmnopqrstuvwxyz012345",
        ] {
            assert!(!is_id(bad), "{bad}");
        }
    }

    #[test]
    fn nobody_is_called_user() {
        assert!(!is_agent("user"));
        assert!(is_agent("users"));
    }

    #[test]
    fn call_ids_are_base32() {
        assert!(is_call("abcdefghijklmnopqrstuvwxyz"));
        assert!(is_call("22222222222222222222222227"));
        assert!(!is_call("abcdefghijklmnopqrstuvwxy1"));
        assert!(!is_call("abcdefghijklmnopqrstuvwxy"));
    }

    #[test]
    fn scripts_stay_in_their_folder() {
        assert!(is_script("report_2-b"));
        for bad in ["../x", ".x", "x.py", "X"] {
            assert!(!is_script(bad), "{bad}");
        }
    }
}
