//! The two streams: stdout has the payload and nothing else, stderr everything people are told.

use std::io::{ErrorKind, Write};

use serde_json::Value;

use crate::error::Failure;
use crate::text;

/// Writes a part of the payload as it is.
///
/// # Errors
/// [`Failure::reader_gone`] when nobody reads any more, else what went wrong.
pub(crate) fn payload(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::reader_gone(),
            _ => Failure::local(format!("stdout can't be written: {error}")),
        })
}

/// Writes a value as one line of JSON.
///
/// # Errors
/// As [`payload`].
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    payload(&format!("{}\n", compact(value)))
}

/// One line of JSON, in which what a terminal would obey is escaped.
pub(crate) fn compact(value: &Value) -> String {
    let text = value.to_string();
    if !text.chars().any(text::is_hidden) {
        return text;
    }
    // Such characters stand inside strings only, where this is the same value.
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if text::is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// A line on stderr. A stderr that is gone must not end what goes on.
pub(crate) fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_holds_nothing_a_terminal_would_obey() {
        let value = json!({"a": "\u{1b}[2J\u{9b}31m\u{202e}x\u{7f}é"});
        let text = compact(&value);
        assert_eq!(text, "{\"a\":\"\\u001b[2J\\u009b31m\\u202ex\\u007fé\"}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
