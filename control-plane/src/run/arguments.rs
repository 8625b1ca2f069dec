//! Arguments of a call: from what a model sent to an object that the schema accepts.

mod empty;

use std::borrow::Cow;

use serde_json::value::RawValue;

pub use self::empty::without_empty;
pub use crate::tools::validation::{validate, validate_open};

/// Reads arguments as received: an object, or the JSON text of one; missing,
/// empty, white space and `null` mean `{}`.
///
/// # Errors
/// The sentence for the caller (without `ERROR: `) that names what it was instead.
pub fn parse(arguments: Option<&RawValue>) -> Result<Box<RawValue>, String> {
    let Some(raw) = arguments else {
        return empty();
    };
    let text = raw.get().trim();
    match text.as_bytes().first() {
        None | Some(b'n') => empty(),
        Some(b'{') => Ok(raw.to_owned()),
        Some(b'"') => {
            let inner: String = serde_json::from_str(text)
                .map_err(|error| format!("the arguments are not readable: {error}"))?;
            from_text(&inner)
        }
        Some(_) => Err(not_an_object(text)),
    }
}

/// A JSON text in which every escaped U+0000 is U+FFFD, which is what is stored in
/// its place; a JSON text holds no other form of it.
#[must_use]
pub fn without_nul(json: &str) -> Cow<'_, str> {
    const NUL: &str = "\\u0000";
    if !json.contains(NUL) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        // A backslash and what it escapes go together, so that an escaped
        // backslash before `u0000` is left alone.
        let (before, escape) = rest.split_at(at);
        text.push_str(before);
        if let Some(after) = escape.strip_prefix(NUL) {
            text.push_str("\\ufffd");
            rest = after;
        } else {
            let end = escape.ceil_char_boundary(2);
            text.push_str(&escape[..end]);
            rest = &escape[end..];
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

fn empty() -> Result<Box<RawValue>, String> {
    RawValue::from_string("{}".to_owned()).map_err(|error| error.to_string())
}

fn from_text(text: &str) -> Result<Box<RawValue>, String> {
    let text = text.trim();
    if text.is_empty() || text == "null" {
        return empty();
    }
    let raw = RawValue::from_string(text.to_owned()).map_err(|error| {
        format!("the arguments are a text that is not JSON ({error}); send one JSON object")
    })?;
    if text.starts_with('{') {
        Ok(raw)
    } else {
        Err(not_an_object(text))
    }
}

fn not_an_object(json: &str) -> String {
    let kind = match json.as_bytes().first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    };
    format!("the arguments are {kind}; send one JSON object")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(received: Option<&str>, expected: Result<&str, &str>) {
        let raw = received.map(|text| RawValue::from_string(text.to_owned()).unwrap());
        match (parse(raw.as_deref()), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.get(), expected),
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            (found, expected) => panic!("{received:?}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn what_is_stored_holds_no_nul() {
        assert_eq!(
            without_nul(r#"{"a":"\n\u0000b\u0000"}"#),
            r#"{"a":"\n\ufffdb\ufffd"}"#
        );
        assert_eq!(without_nul(r#"{"a":"\\u0000"}"#), r#"{"a":"\\u0000"}"#);
        assert_eq!(without_nul(r#"{"a":"\\\u0000é"}"#), r#"{"a":"\\\ufffdé"}"#);
    }

    #[test]
    fn an_object_is_taken_as_it_was_written() {
        check(
            Some(r#"{"b": 1.50, "a": 12345678901234567890123}"#),
            Ok(r#"{"b": 1.50, "a": 12345678901234567890123}"#),
        );
    }

    #[test]
    fn the_text_of_an_object_is_read() {
        check(Some(r#""{\"a\": \"x\\n\"}""#), Ok(r#"{"a": "x\n"}"#));
        check(Some(r#""  {}\n""#), Ok("{}"));
    }

    #[test]
    fn nothing_means_no_arguments() {
        for received in [
            None,
            Some("null"),
            Some("\"\""),
            Some(r#"" \n\t""#),
            Some("\"null\""),
            Some("{}"),
        ] {
            check(received, Ok("{}"));
        }
    }

    #[test]
    fn anything_else_is_named() {
        check(Some("[1]"), Err("the arguments are an array"));
        check(Some("7"), Err("the arguments are a number"));
        check(Some("-1.5"), Err("the arguments are a number"));
        check(Some("true"), Err("the arguments are a boolean"));
        check(Some(r#""[1]""#), Err("the arguments are an array"));
        check(Some(r#""\"a\"""#), Err("the arguments are a string"));
        check(Some(r#""false""#), Err("the arguments are a boolean"));
        check(
            Some(r#""hello""#),
            Err("the arguments are a text that is not JSON"),
        );
        check(
            Some(r#""{\"a\":""#),
            Err("the arguments are a text that is not JSON"),
        );
    }
}
