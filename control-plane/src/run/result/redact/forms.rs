//! The forms in which programs write a value.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Raw; JSON-escaped with and without ASCII escapes; percent-encoded in both
/// cases and with `+`; base64 in both alphabets at its three alignments.
pub(super) fn of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    forms.extend(json(value));
    forms.extend(percent(value));
    for alignment in 0..3 {
        forms.extend(base64_at(value.as_bytes(), alignment));
    }
    forms.sort();
    forms.dedup();
    forms
}

fn json(value: &str) -> Vec<String> {
    let Ok(quoted) = serde_json::to_string(value) else {
        return Vec::new();
    };
    let plain = quoted[1..quoted.len() - 1].to_owned();
    let ascii = |hex: fn(u16) -> String| -> String {
        plain
            .chars()
            .map(|c| {
                if c.is_ascii() {
                    c.to_string()
                } else {
                    c.encode_utf16(&mut [0; 2])
                        .iter()
                        .map(|unit| hex(*unit))
                        .collect()
                }
            })
            .collect()
    };
    vec![
        ascii(|unit| format!("\\u{unit:04x}")),
        ascii(|unit| format!("\\u{unit:04X}")),
        plain,
    ]
}

/// RFC 3986's unreserved characters stay; some encoders leave `!'()*` too.
fn percent(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for lenient in [false, true] {
        for plus in [false, true] {
            for upper in [false, true] {
                forms.push(percent_encode(value, lenient, plus, upper));
            }
        }
    }
    forms
}

fn percent_encode(value: &str, lenient: bool, plus: bool, upper: bool) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte as char);
            }
            b'!' | b'\'' | b'(' | b')' | b'*' if lenient => out.push(byte as char),
            b' ' if plus => out.push('+'),
            _ if upper => out.push_str(&format!("%{byte:02X}")),
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

/// The characters of a base64 text that the value alone decides when
/// `alignment` bytes of something else precede it in its group of three.
fn base64_at(value: &[u8], alignment: usize) -> Vec<String> {
    let mut bytes = vec![0; alignment];
    bytes.extend_from_slice(value);
    let first = (8 * alignment).div_ceil(6);
    let end = 8 * bytes.len() / 6;
    [
        STANDARD_NO_PAD.encode(&bytes),
        URL_SAFE_NO_PAD.encode(&bytes),
    ]
    .into_iter()
    .filter_map(|text| text.get(first..end).map(str::to_owned))
    .filter(|form| form.len() >= 4)
    .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_characters_that_the_value_decides_are_kept() {
        // "abc" is `YWJj`; after one byte `?GFiYw`: `hYm` would depend on more.
        assert_eq!(super::base64_at(b"abcdef", 0), ["YWJjZGVm", "YWJjZGVm"]);
        assert_eq!(super::base64_at(b"abcdef", 1), ["FiY2RlZ", "FiY2RlZ"]);
    }
}
