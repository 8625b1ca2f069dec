//! The forms in which programs write a value.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Fewest bytes of a text that is looked for in a value's place.
const MIN_FORM: usize = 4;

/// Raw; JSON-escaped with and without ASCII escapes, also twice, as a text in a JSON text is;
/// percent-encoded in both cases and with `+`; base64 in both alphabets at its three
/// alignments. Sorted, each once: the same value has the same forms every time.
pub(super) fn of(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for value in as_shown(value) {
        let once = json(&value);
        forms.extend(once.iter().flat_map(|text| json(text)));
        forms.extend(once);
        forms.extend(percent(&value));
        for alignment in 0..3 {
            forms.extend(base64_at(value.as_bytes(), alignment));
        }
        forms.push(value);
    }
    forms.retain(|form| form.len() >= MIN_FORM);
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// The value, as a terminal shows its line ends, and without those at its end; on one line, where
/// a reader joins white space or writes a space for each control character.
fn as_shown(value: &str) -> Vec<String> {
    let mut shown = vec![value.to_owned()];
    for line in [
        joined(value.split_whitespace()),
        joined(value.split_ascii_whitespace()),
    ] {
        if line.len() >= MIN_FORM {
            shown.push(line);
        }
    }
    if value.contains('\r') {
        shown.push(value.replace("\r\n", "\n"));
    }
    for at in 0..shown.len() {
        let trimmed = shown[at].trim_end_matches(['\r', '\n']);
        if trimmed.len() < shown[at].len() && trimmed.len() >= MIN_FORM {
            let trimmed = trimmed.to_owned();
            shown.push(trimmed);
        }
    }
    for at in 0..shown.len() {
        if shown[at].contains(char::is_control) {
            shown.push(shown[at].replace(char::is_control, " "));
        }
    }
    shown.sort_unstable();
    shown.dedup();
    shown
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

/// What writers of JSON make of a text between its quotes.
fn json(value: &str) -> Vec<String> {
    let Ok(quoted) = serde_json::to_string(value) else {
        return Vec::new();
    };
    let plain = &quoted[1..quoted.len() - 1];
    // Some escape the slash, some what HTML gives a meaning, some all but ASCII.
    let mut texts = vec![plain.to_owned(), plain.replace('/', "\\/")];
    let html = |c: char| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    let ascii = |c: char| !c.is_ascii() || c == '\u{7f}';
    texts.push(escape(plain, html, lower));
    texts.push(escape(plain, ascii, lower));
    texts.push(escape(plain, ascii, upper));
    texts.sort_unstable();
    texts.dedup();
    texts
}

fn lower(unit: u16) -> String {
    format!("\\u{unit:04x}")
}

fn upper(unit: u16) -> String {
    format!("\\u{unit:04X}")
}

fn escape(text: &str, which: impl Fn(char) -> bool, write: fn(u16) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if which(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&write(*unit));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// RFC 3986's unreserved characters stay; some encoders leave `!'()*` too, some the slash.
fn percent(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for kept in ["", "!'()*", "/"] {
        for plus in [false, true] {
            for upper in [false, true] {
                forms.push(percent_encode(value, kept, plus, upper));
            }
        }
    }
    forms
}

fn percent_encode(value: &str, kept: &str, plus: bool, upper: bool) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte as char);
            }
            _ if kept.as_bytes().contains(&byte) => out.push(byte as char),
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
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_characters_that_the_value_decides_are_kept() {
        // "abc" is `YWJj`; after one byte `?GFiYw`: `hYm` would depend on more.
        assert_eq!(base64_at(b"abcdef", 0), ["YWJjZGVm", "YWJjZGVm"]);
        assert_eq!(base64_at(b"abcdef", 1), ["FiY2RlZ", "FiY2RlZ"]);
    }

    #[track_caller]
    fn among(value: &str, expected: &[&str]) {
        let forms = of(value);
        for form in expected {
            assert!(forms.iter().any(|found| found == form), "{form}: {forms:?}");
        }
    }

    #[test]
    fn a_plain_value_has_few_forms() {
        assert_eq!(of("abcdef"), ["FiY2RlZ", "YWJjZGVm", "abcdef", "hYmNkZW"]);
    }

    #[test]
    fn line_ends_read_as_they_are_shown() {
        among(
            "one\r\ntwo\r\n",
            &["one\r\ntwo\r\n", "one\ntwo\n", "one\ntwo", "one\\ntwo"],
        );
        among("sesame\n", &["sesame\n", "sesame", "sesame\\n", "c2VzYW1l"]);
    }

    #[test]
    fn json_is_written_in_several_ways() {
        among(
            "a\"<é/\u{7f}",
            &[
                "a\\\"<é/\u{7f}",
                "a\\\"<é\\/\u{7f}",
                "a\\\"\\u003cé/\u{7f}",
                "a\\\"<\\u00e9/\\u007f",
                "a\\\"<\\u00E9/\\u007F",
                // In a text that is itself in a JSON text.
                "a\\\\\\\"<é/\u{7f}",
                "a\\\\\\\"<\\\\u00e9/\\\\u007f",
            ],
        );
    }

    #[test]
    fn percent_is_written_in_several_ways() {
        among(
            "a b/c!",
            &[
                "a%20b%2Fc%21",
                "a%20b%2fc%21",
                "a+b%2Fc%21",
                "a%20b%2Fc!",
                "a%20b/c%21",
                "a+b/c%21",
            ],
        );
    }
}
