//! The `connector` filter: what an MCP server answered, as the text that a model reads.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Raw;

/// Most blocks that are read of one result.
const MAX_BLOCKS: usize = 10_000;

/// A result of `tools/call` (MCP, "Tool Result").
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(default, rename = "isError")]
    is_error: bool,
}

/// One block of content; which fields it has depends on its type.
#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    data: Option<String>,
    #[serde(rename = "mimeType")]
    media_type: Option<String>,
    name: Option<String>,
    uri: Option<String>,
    resource: Option<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    uri: String,
    #[serde(rename = "mimeType")]
    media_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

impl Raw {
    /// What a connector's tool answered: its blocks as text, a line break between two of them,
    /// structured content as JSON when there is no other. An error of the tool is one here. What
    /// is no result at all is refused in words.
    #[must_use]
    pub fn connector(answer: &str) -> Self {
        let raw = match serde_json::from_str::<Answer<'_>>(answer) {
            Err(_) => Self::error("the connector answered what is no result of a tool"),
            Ok(read) => {
                let text = read.text();
                if !read.is_error {
                    Self::text(text)
                } else if text.trim().is_empty() {
                    Self::error("the connector's tool failed and said nothing")
                } else {
                    Self::error(text.strip_prefix("ERROR: ").unwrap_or(&text))
                }
            }
        };
        Self {
            original_bytes: answer.len() as u64,
            ..raw
        }
    }
}

impl Answer<'_> {
    fn text(&self) -> String {
        let shown = self.content.iter().take(MAX_BLOCKS);
        let mut blocks: Vec<String> = shown.map(|block| show(block)).collect();
        if self.content.len() > MAX_BLOCKS {
            let more = self.content.len() - MAX_BLOCKS;
            blocks.push(format!("[{more} more blocks]"));
        }
        match self.structured {
            Some(structured) if blocks.is_empty() => structured.get().to_owned(),
            _ => blocks.join("\n"),
        }
    }
}

/// One block, whatever a server put there.
fn show(block: &RawValue) -> String {
    let Ok(block) = serde_json::from_str::<Block>(block.get()) else {
        return "[a block of no known form]".to_owned();
    };
    match (block.kind.as_str(), block.text, block.resource) {
        ("text", Some(text), _) => text,
        (kind @ ("image" | "audio"), ..) => {
            let data = block.data.unwrap_or_default();
            size_of_data(kind, block.media_type.as_deref(), &data)
        }
        ("resource_link", ..) => {
            let words = [block.name, block.uri].into_iter().flatten();
            format!("[resource {}]", words.collect::<Vec<_>>().join(" "))
        }
        ("resource", _, Some(resource)) => resource.show(),
        (kind, ..) => format!("[{kind}]"),
    }
}

impl Resource {
    fn show(self) -> String {
        if let Some(text) = self.text {
            return text;
        }
        let Some(blob) = self.blob else {
            return format!("[resource {}]", self.uri);
        };
        let media_type = self.media_type.as_deref();
        let decoded = media_type.is_some_and(is_text).then(|| decode(&blob));
        let text = decoded
            .flatten()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        text.unwrap_or_else(|| size_of_data("resource", media_type, &blob))
    }
}

fn is_text(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(essence.as_str(), "application/json" | "application/xml")
}

fn size_of_data(kind: &str, media_type: Option<&str>, data: &str) -> String {
    let letters = data.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let letters = letters.filter(|byte| *byte != b'=').count();
    let media_type = media_type.unwrap_or("application/octet-stream");
    format!("[{kind} {media_type} {} bytes]", letters * 3 / 4)
}

/// Base64 in either alphabet, padded or not, wrapped or not.
fn decode(data: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let data: String = data.split_ascii_whitespace().collect();
    [STANDARD, URL_SAFE]
        .into_iter()
        .find_map(|alphabet| GeneralPurpose::new(&alphabet, config).decode(&data).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, expected: &str) {
        assert_eq!(Raw::connector(answer).text, expected);
    }

    #[test]
    fn texts_are_as_they_are_with_a_line_break_between_two() {
        check(
            r#"{"content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]}"#,
            "a\n\nb",
        );
        check(r#"{"content":[]}"#, "");
    }

    #[test]
    fn pictures_and_sounds_are_told_by_type_and_size() {
        check(
            r#"{"content":[{"type":"image","data":"aGVsbG8=","mimeType":"image/png"},{"type":"audio","data":"aGVsbG8h","mimeType":"audio/wav"}]}"#,
            "[image image/png 5 bytes]\n[audio audio/wav 6 bytes]",
        );
    }

    #[test]
    fn text_resources_are_decoded_and_others_are_told() {
        check(
            r#"{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"plain"}},{"type":"resource","resource":{"uri":"file:///b","mimeType":"text/plain; charset=utf-8","blob":"aMOp\nbGxv"}},{"type":"resource","resource":{"uri":"file:///c","mimeType":"application/pdf","blob":"aGVsbG8="}},{"type":"resource_link","name":"d","uri":"file:///d"}]}"#,
            "plain\nhéllo\n[resource application/pdf 5 bytes]\n[resource d file:///d]",
        );
    }

    #[test]
    fn structured_content_is_json_when_there_is_no_other() {
        check(
            r#"{"content":[],"structuredContent":{"b":1.10,"a":[]}}"#,
            r#"{"b":1.10,"a":[]}"#,
        );
        check(
            r#"{"content":[{"type":"text","text":"said"}],"structuredContent":{"b":1}}"#,
            "said",
        );
    }

    #[test]
    fn an_error_of_the_tool_is_an_error_once() {
        for (said, expected) in [
            ("no such page", "ERROR: no such page"),
            ("ERROR: no such page", "ERROR: no such page"),
            (" ", "ERROR: the connector's tool failed and said nothing"),
        ] {
            let answer =
                format!(r#"{{"isError":true,"content":[{{"type":"text","text":"{said}"}}]}}"#);
            let raw = Raw::connector(&answer);
            assert_eq!(raw.text, expected);
            assert!(raw.error);
            assert_eq!(raw.original_bytes, answer.len() as u64);
        }
    }

    #[test]
    fn whatever_a_server_sends_is_a_text() {
        check(
            r#"{"content":[{"type":"image"},{"type":"resource"},{"type":"map"},5]}"#,
            "[image application/octet-stream 0 bytes]\n[resource]\n[map]\n[a block of no known form]",
        );
        check(
            "[]",
            "ERROR: the connector answered what is no result of a tool",
        );
    }
}
