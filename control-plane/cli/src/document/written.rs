//! A document written as TOML for people: a table an object, short things on one line.

use serde_json::{Map, Value};

/// Longest line of a list or an inline table; a longer list has a line an item.
const MAX_LINE: usize = 100;

/// The document as TOML. Reading it gives the same document again; nulls, which
/// TOML has not, are left out.
pub(crate) fn to_toml(document: &Map<String, Value>) -> String {
    let (lists, plain): (Vec<_>, Vec<_>) = document
        .iter()
        .filter(|(_, value)| !value.is_null())
        .partition(|(_, value)| is_list_of_objects(value));
    let mut text = String::new();
    for (name, value) in plain {
        text.push_str(&assignment(name, value));
    }
    for (name, list) in lists {
        for object in list.as_array().into_iter().flatten() {
            text.push_str(&format!("\n[[{}]]\n", key(name)));
            for (name, value) in object.as_object().into_iter().flatten() {
                if !value.is_null() {
                    text.push_str(&assignment(name, value));
                }
            }
        }
    }
    text
}

fn is_list_of_objects(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

fn assignment(name: &str, value: &Value) -> String {
    let name = key(name);
    match value {
        Value::String(text) if text.contains('\n') => {
            return format!("{name} = {}\n", several_lines(text));
        }
        Value::Array(items) => {
            let line = format!("{name} = {}\n", inline(value));
            let is_short = line.chars().count() <= MAX_LINE;
            let has_tables = items.iter().any(Value::is_object);
            if is_short && !(has_tables && items.len() > 1) {
                return line;
            }
            let items: String = items
                .iter()
                .map(|item| format!("  {},\n", inline(item)))
                .collect();
            return format!("{name} = [\n{items}]\n");
        }
        _ => {}
    }
    format!("{name} = {}\n", inline(value))
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| format!("{} = {}", key(name), inline(value)))
                .collect();
            match fields.as_slice() {
                [] => "{}".to_owned(),
                fields => format!("{{ {} }}", fields.join(", ")),
            }
        }
        Value::String(text) => format!("\"{}\"", escaped(text, false)),
        other => other.to_string(),
    }
}

/// Text of several lines between three quotes; the line's end after the first
/// three is not part of it.
fn several_lines(text: &str) -> String {
    format!("\"\"\"\n{}\"\"\"", escaped(text, true))
}

/// A basic string's inside (TOML 1.0).
fn escaped(text: &str, keeps_lines: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    // Three quotes in a row would end the text, and one at its end join the end.
    let mut quotes = 0;
    for (at, character) in text.char_indices() {
        quotes = if character == '"' { quotes + 1 } else { 0 };
        let is_last = at + character.len_utf8() == text.len();
        match character {
            '"' if keeps_lines && quotes < 3 && !is_last => escaped.push('"'),
            '"' => {
                escaped.push_str("\\\"");
                quotes = 0;
            }
            '\\' => escaped.push_str("\\\\"),
            '\n' if keeps_lines => escaped.push('\n'),
            '\n' => escaped.push_str("\\n"),
            '\t' if keeps_lines => escaped.push('\t'),
            '\t' => escaped.push_str("\\t"),
            '\r' => escaped.push_str("\\r"),
            hidden if crate::text::is_hidden(hidden) => {
                let code = u32::from(hidden);
                if code > 0xffff {
                    escaped.push_str(&format!("\\U{code:08X}"));
                } else {
                    escaped.push_str(&format!("\\u{code:04X}"));
                }
            }
            other => escaped.push(other),
        }
    }
    escaped
}

fn key(name: &str) -> String {
    let is_bare = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_bare {
        name.to_owned()
    } else {
        format!("\"{}\"", escaped(name, false))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::Document;

    fn written(value: &Value) -> String {
        to_toml(value.as_object().unwrap())
    }

    #[test]
    fn a_document_reads_as_people_write_it() {
        let document = json!({
            "organisation": "acme",
            "agents": [{"id": "ada", "slot": 1, "config": {"browser": true, "max_scripts": 5}}],
            "collections": [{
                "name": "contacts",
                "unique": null,
                "columns": [
                    {"name": "email", "type": "text", "required": true},
                    {"name": "stage", "type": "text", "values": ["lead", "lost"]},
                ],
                "access": [{"guild": "core", "access": "write"}],
            }],
            "notes": [{"path": "org/a.md", "content": "# A\n\nSay \"hi\".\n", "access": []}],
            "connectors": [{"id": "web", "filters": {"tavily search": "jq:.[]"}}],
        });
        assert_eq!(
            written(&document),
            r##"organisation = "acme"

[[agents]]
id = "ada"
slot = 1
config = { browser = true, max_scripts = 5 }

[[collections]]
name = "contacts"
columns = [
  { name = "email", type = "text", required = true },
  { name = "stage", type = "text", values = ["lead", "lost"] },
]
access = [{ guild = "core", access = "write" }]

[[notes]]
path = "org/a.md"
content = """
# A

Say "hi".
"""
access = []

[[connectors]]
id = "web"
filters = { "tavily search" = "jq:.[]" }
"##
        );
    }

    #[test]
    fn any_text_is_read_back_as_it_was() {
        let texts = [
            "",
            "\"",
            "\"\"\"\"\"\"",
            "\n",
            "\n\"",
            "a\n\"\"\"b\"\"\"\"\n\"\"",
            "\r\n\r",
            "back\\slash\n\\",
            "\u{0}\u{1b}\u{7f}\u{9b}\u{202e}\u{e0001}\n\u{feff}",
            "\ttab\n\ttab",
            "  spaces  \n  \n",
            "日本語 🙂\n",
            "''' # = [x]\n[[agents]]",
        ];
        for text in texts {
            let document = json!({
                "organisation": text,
                "notes": [{"path": text, "content": text, "access": [text, text], "x": {"y": text, text: 1}}],
            });
            let toml = written(&document);
            let read = Document::of_text("x.toml", &toml)
                .unwrap_or_else(|failure| panic!("{}\n{toml}", failure.message()));
            assert_eq!(read.body(), &document, "{toml}");
        }
    }
}
