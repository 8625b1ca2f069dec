//! Digests: a call's machine id, and the keyed digest that tells a retry from a reuse.

use std::collections::BTreeMap;

use ring::{digest, hmac};
use serde_json::value::RawValue;
use uuid::Uuid;

/// RFC 4648's base32 alphabet in lower case.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Deepest nesting that is compared by value; what is deeper is compared as text.
const MAX_DEPTH: usize = 64;

/// The machine's id of a call: 26 characters of base32 of the SHA-256 of run id and call id.
#[must_use]
pub fn machine_id(run: Uuid, call_id: &str) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(run.as_bytes());
    context.update(call_id.as_bytes());
    base32(context.finish().as_ref())
}

fn base32(bytes: &[u8]) -> String {
    let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
    (0..26)
        .map(|group| {
            let five = (0..5).fold(0, |value, offset| value << 1 | bit(group * 5 + offset));
            char::from(ALPHABET[usize::from(five)])
        })
        .collect()
}

/// Keyed digest of a name and its arguments as values: key order and white space don't
/// count, digits do. Absent arguments are `{}`.
#[must_use]
pub fn call_digest(key: &hmac::Key, name: &str, arguments: Option<&RawValue>) -> Vec<u8> {
    let mut context = hmac::Context::with_key(key);
    context.update(&(name.len() as u64).to_be_bytes());
    context.update(name.as_bytes());
    let text = arguments.map_or("{}", RawValue::get);
    match canonical(text, 0) {
        Some(canonical) => {
            context.update(b"v");
            context.update(canonical.as_bytes());
        }
        None => {
            context.update(b"t");
            context.update(text.as_bytes());
        }
    }
    context.sign().as_ref().to_vec()
}

/// One text per JSON value: keys sorted, no white space, escapes as one writer
/// makes them, numbers digit for digit.
fn canonical(text: &str, depth: usize) -> Option<String> {
    let text = text.trim();
    if depth > MAX_DEPTH {
        return None;
    }
    match text.as_bytes().first()? {
        b'{' => {
            let object: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
            let members = object
                .into_iter()
                .map(|(key, value)| {
                    let key = serde_json::to_string(&key).ok()?;
                    Some(format!("{key}:{}", canonical(value.get(), depth + 1)?))
                })
                .collect::<Option<Vec<_>>>()?;
            Some(format!("{{{}}}", members.join(",")))
        }
        b'[' => {
            let array: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let items = array
                .into_iter()
                .map(|item| canonical(item.get(), depth + 1))
                .collect::<Option<Vec<_>>>()?;
            Some(format!("[{}]", items.join(",")))
        }
        b'"' => {
            let string: String = serde_json::from_str(text).ok()?;
            serde_json::to_string(&string).ok()
        }
        _ => Some(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_id_is_base32_of_sha_256() {
        // RFC 4648's own examples, at this length.
        assert_eq!(base32(&[0; 32]), "aaaaaaaaaaaaaaaaaaaaaaaaaa");
        assert_eq!(
            base32(b"foobar-foobar-foobar-foobar-foob")[..8],
            *"mzxw6ytb"
        );
        let id = machine_id(Uuid::nil(), "call_1");
        assert_eq!(id.len(), 26);
        assert_ne!(id, machine_id(Uuid::nil(), "call_2"));
    }

    #[track_caller]
    fn check(a: &str, b: &str, equal: bool) {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]);
        let digest = |text: &str| {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            call_digest(&key, "note_get", Some(&raw))
        };
        assert_eq!(digest(a) == digest(b), equal, "{a} and {b}");
    }

    #[test]
    fn equal_values_are_equal_and_others_are_not() {
        check(
            r#"{"a":1,"b":[true,null]}"#,
            r#" { "b" : [ true , null ] , "a" : 1 } "#,
            true,
        );
        check(r#"{"a":"\u00e9"}"#, r#"{"a":"é"}"#, true);
        check(r#"{"a":1}"#, r#"{"a":"1"}"#, false);
        check(
            r#"{"a":10000000000000000000001}"#,
            r#"{"a":10000000000000000000002}"#,
            false,
        );
        check(r#"{"a":{}}"#, r#"{"a":[]}"#, false);
    }

    #[test]
    fn name_and_key_count() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]);
        let other = hmac::Key::new(hmac::HMAC_SHA256, &[8; 32]);
        assert_ne!(call_digest(&key, "a", None), call_digest(&key, "b", None));
        assert_ne!(call_digest(&key, "a", None), call_digest(&other, "a", None));
        let empty = RawValue::from_string("{}".to_owned()).unwrap();
        assert_eq!(
            call_digest(&key, "a", None),
            call_digest(&key, "a", Some(&empty))
        );
    }

    #[test]
    fn nesting_without_end_costs_no_stack() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        check(&deep, &deep, true);
    }
}
