//! Messages that hold half of a surrogate pair, which JSON may say and Rust's strings can't hold.

/// The same JSON text with every lone surrogate escape replaced by U+FFFD
/// (RFC 8259, section 8.2 leaves such escapes to the reader).
pub(crate) fn mended(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut kept) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let Some(unit) = escaped_unit(bytes, at) else {
            // Another escape: its second byte begins none of its own.
            at += 2;
            continue;
        };
        let pair = matches!(unit, 0xD800..=0xDBFF)
            && escaped_unit(bytes, at + 6).is_some_and(|low| matches!(low, 0xDC00..=0xDFFF));
        if matches!(unit, 0xD800..=0xDFFF) && !pair {
            out.push_str(&text[kept..at]);
            out.push_str("\\ufffd");
            kept = at + 6;
        }
        at += if pair { 12 } else { 6 };
    }
    out.push_str(&text[kept..]);
    out
}

/// The UTF-16 code unit of a `\uXXXX` at this place.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    if &escape[..2] != b"\\u" {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(&escape[2..]).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(mended(text), expected);
    }

    #[test]
    fn lone_halves_are_replaced_and_pairs_stay() {
        check(r#""a\ud83d!""#, r#""a\ufffd!""#);
        check(r#""\ude00\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(r#""\ud83d""#, r#""\ufffd""#);
        check(r#""ü\n\u00e9""#, r#""ü\n\u00e9""#);
    }

    #[test]
    fn an_escaped_backslash_begins_no_escape() {
        check(r#""\\ud83d""#, r#""\\ud83d""#);
        check(r#""\\\ud83d""#, r#""\\\ufffd""#);
        check("\\", "\\");
    }
}
