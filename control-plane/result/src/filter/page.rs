//! The `page` filter: text of a web page without what a reader can't see.

/// Leaves out zero-width and bidi control characters and cuts `data:` URLs to
/// their type and size. Well-formed Unicode is what a Rust string already is.
pub(super) fn clean(text: &str) -> String {
    let visible: String = text.chars().filter(|&c| !invisible(c)).collect();
    cut_data_urls(&visible)
}

/// Zero-width characters, bidi controls and tags (Unicode's `Bidi_Control` and
/// the format characters that have no width).
const fn invisible(c: char) -> bool {
    matches!(
        c,
        '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

fn cut_data_urls(text: &str) -> String {
    const SCHEME: &str = "data:";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(at) = find_ignoring_case(rest, SCHEME) {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        before = head.chars().next_back().or(before);
        let after = &tail[SCHEME.len()..];
        let starts_a_url = !before.is_some_and(|c| c.is_alphanumeric());
        if let Some(url) = starts_a_url.then(|| DataUrl::parse(after)).flatten() {
            out.push_str(&format!("data:{} [{} bytes]", url.media_type, url.bytes));
            rest = &after[url.length..];
            before = Some(']');
        } else {
            out.push_str(&tail[..SCHEME.len()]);
            rest = after;
            before = Some(':');
        }
    }
    out.push_str(rest);
    out
}

fn find_ignoring_case(text: &str, needle: &str) -> Option<usize> {
    text.as_bytes()
        .windows(needle.len())
        .position(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

/// RFC 2397: `data:[<mediatype>][;base64],<data>`.
struct DataUrl<'a> {
    media_type: &'a str,
    bytes: usize,
    /// Bytes after `data:` that belong to it.
    length: usize,
}

impl<'a> DataUrl<'a> {
    fn parse(after: &'a str) -> Option<Self> {
        let head_length = after
            .bytes()
            .position(|b| !(b.is_ascii_alphanumeric() || b"!#$&^_.+-/;=%".contains(&b)))?;
        if after.as_bytes()[head_length] != b',' {
            return None;
        }
        let head = &after[..head_length];
        let media_type = head.split(';').next().unwrap_or_default();
        if !media_type.is_empty() && !media_type.contains('/') {
            return None;
        }
        let payload = &after[head_length + 1..];
        let end = payload
            .find(|c: char| super::is_sign(c) || c.is_whitespace() || "\"'<>()`\\{}|".contains(c))
            .unwrap_or(payload.len());
        let payload = &payload[..end];
        let base64 = head.to_ascii_lowercase().ends_with(";base64");
        Some(Self {
            media_type: if media_type.is_empty() {
                "text/plain"
            } else {
                media_type
            },
            bytes: if base64 {
                payload.trim_end_matches('=').len() * 3 / 4
            } else {
                percent_decoded_length(payload)
            },
            length: head_length + 1 + end,
        })
    }
}

fn percent_decoded_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let escapes = bytes
        .windows(3)
        .filter(|w| w[0] == b'%' && w[1].is_ascii_hexdigit() && w[2].is_ascii_hexdigit())
        .count();
    bytes.len() - 2 * escapes
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(super::clean(text), expected);
    }

    #[test]
    fn what_has_no_width_or_turns_direction_is_left_out() {
        check("a\u{200b}b\u{202e}c\u{2066}d\u{feff}e\u{e0041}f", "abcdef");
        check("שלום, naïve – 日本 🙂", "שלום, naïve – 日本 🙂");
    }

    #[test]
    fn data_urls_are_cut_to_type_and_size() {
        check(
            "- img \"data:image/png;base64,iVBORw0KGgo=\" end",
            "- img \"data:image/png [8 bytes]\" end",
        );
        check("(data:,a%20b)", "(data:text/plain [3 bytes])");
        check(
            "DATA:text/html;charset=utf-8,<b> x",
            "data:text/html [0 bytes]<b> x",
        );
        check(
            "url(data:font/woff2;base64,AAAA) data:image/gif;base64,R0lG",
            "url(data:font/woff2 [3 bytes]) data:image/gif [3 bytes]",
        );
    }

    #[test]
    fn prose_about_data_stays() {
        check("data: three, four", "data: three, four");
        check("metadata:a/b,c", "metadata:a/b,c");
        check("the data:image, then", "the data:image, then");
    }
}
