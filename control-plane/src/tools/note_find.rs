//! `note_find`: search or list the notes an agent may read.

use serde::{Deserialize, Serialize};

use super::listing::{cut, whole};
use super::validation::whole_number;
use super::{Answer, Cx, Family, Filter, Offered, Place, Redact, Tool, ToolError};
use crate::store::access::Access;
use crate::store::notes::{self, Found, Level};
use crate::store::time::rfc3339;
use crate::store::words::{self, Query};

/// Characters of an excerpt.
const EXCERPT: usize = 240;
/// Characters of an excerpt before the first hit.
const BEFORE: usize = 60;
/// Characters of a query; more is a text, not a search.
const MAX_QUERY: usize = 1_000;

pub(super) struct NoteFind;

#[derive(Deserialize)]
pub(super) struct Args {
    #[serde(default)]
    query: String,
    level: Option<String>,
    #[serde(default = "default_limit", deserialize_with = "whole_number")]
    limit: i64,
}

const fn default_limit() -> i64 {
    20
}

#[derive(Clone, Serialize)]
struct Listed {
    path: String,
    level: String,
    access: Access,
    bytes: i32,
    updated_at: String,
    excerpt: String,
}

impl Tool for NoteFind {
    const NAME: &'static str = "note_find";
    const DESCRIPTION: &'static str = "Searches the markdown notes you may read: your own, your guild's and your organisation's. Use it before you write a note, and to find out what is already known. Words are joined by AND and match whole words of name and content in any case; OR widens, \"quotes\" keep a phrase, -word excludes; a single word also matches inside words. Without a query it lists all your notes, the newest first. Each hit has its path for note_get, an excerpt, and access: read or write. Earlier versions of your memory are not searched.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "query": {
      "type": "string",
      "description": "What to look for. Omit it to list every note, newest first."
    },
    "level": {
      "type": "string",
      "enum": ["agent", "guild", "org"],
      "description": "Search notes of this level only. Omit it to search every level."
    },
    "limit": {
      "type": "integer",
      "minimum": 1,
      "maximum": 100,
      "default": 20,
      "description": "Most notes to answer with, 1 to 100; 20 when omitted."
    }
  },
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"query": "release plan", "level": "guild", "limit": 5}"#;
    const OFFERED: Offered = Offered::Binding(Family::Note);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Reading;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let query = read_query(&args.query)?;
        let level = args.level.as_deref().and_then(Level::parse);
        let found =
            notes::search(cx.db, &cx.caller.agent, query.as_ref(), level, args.limit).await?;
        let notes: Vec<Listed> = found
            .into_iter()
            .filter_map(|note| listed(note, query.as_ref(), cx.words))
            .collect();
        let text = whole("notes", &notes, cx.cap_bytes, |note, room| Listed {
            excerpt: cut(&note.excerpt, room),
            ..note.clone()
        })?;
        Ok(Answer::Text(text))
    }
}

fn read_query(text: &str) -> Result<Option<Query>, ToolError> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    if text.chars().count() > MAX_QUERY {
        return Err(ToolError::invalid(format!(
            "the query has more than {MAX_QUERY} characters; look for a few words"
        )));
    }
    words::parse(text).map(Some).map_err(ToolError::invalid)
}

fn listed(note: Found, query: Option<&Query>, words: &dyn Redact) -> Option<Listed> {
    let level = Level::parse(&note.level)?;
    // Before it is cut and its white space joined: a part of a value would be known no more.
    let excerpt = excerpt(&words.redact(&note.body), query);
    let place = notes::Place {
        level,
        owner: note.owner,
        key: note.key,
    };
    Some(Listed {
        path: place.to_string(),
        level: note.level,
        access: note.access,
        bytes: note.bytes,
        updated_at: rfc3339(note.updated_ms),
        excerpt,
    })
}

/// The text around the first hit, else the beginning, white space joined.
fn excerpt(body: &str, query: Option<&Query>) -> String {
    let hit = query.and_then(|query| first_hit(body, query)).unwrap_or(0);
    let from = body[..hit]
        .char_indices()
        .rev()
        .nth(BEFORE - 1)
        .map_or(0, |(at, _)| at);
    // A cut inside a word would show a word that isn't there.
    let whole = from == 0 || body[..from].ends_with(char::is_whitespace);
    let from = if whole {
        from
    } else {
        body[from..hit]
            .find(char::is_whitespace)
            .map_or(from, |gap| from + gap)
    };
    let mut text = String::new();
    let mut length = 0;
    for word in body[from..].split_whitespace() {
        let room = EXCERPT.saturating_sub(length + usize::from(length > 0));
        let characters = word.chars().count();
        if characters > room {
            if length == 0 {
                text.extend(word.chars().take(room));
            }
            text.push('…');
            break;
        }
        if length > 0 {
            text.push(' ');
            length += 1;
        }
        text.push_str(word);
        length += characters;
    }
    if from > 0 {
        text.insert(0, '…');
    }
    text
}

/// Byte position of the first word that the query asks for.
fn first_hit(body: &str, query: &Query) -> Option<usize> {
    let wanted: Vec<&str> = query
        .groups
        .iter()
        .flatten()
        .filter(|term| !term.excluded)
        .filter_map(|term| term.words.split_whitespace().next())
        .collect();
    let part = query
        .partial
        .as_deref()
        .and_then(|part| part.split_whitespace().next());
    let mut at = 0;
    let mut inside = None;
    for piece in body.split_inclusive(|c| !words::in_word(c)) {
        let word = words::fold(piece.trim_end_matches(|c| !words::in_word(c)));
        if wanted.iter().any(|wanted| *wanted == word) {
            return Some(at);
        }
        if inside.is_none() && part.is_some_and(|part| word.contains(part)) {
            inside = Some(at);
        }
        at += piece.len();
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, query: &str, expected: &str) {
        let query = read_query(query).unwrap();
        assert_eq!(excerpt(body, query.as_ref()), expected);
    }

    #[test]
    fn an_excerpt_is_the_beginning_or_the_text_around_the_first_hit() {
        check("# Plan\n\n ship  it", "", "# Plan ship it");
        check("", "plan", "");
        let body = format!("{}needle {}", "ab ".repeat(50), "cd ".repeat(100));
        let words = format!(
            "…{}needle {}…",
            "ab ".repeat(20),
            "cd ".repeat(58).trim_end()
        );
        check(&body, "NEEDLE", &words);
    }

    #[test]
    fn a_part_of_a_word_is_a_hit_too() {
        let body = format!("{}bob@example.com", "xy ".repeat(100));
        // The hit is the word "example": 60 characters before it begin inside a word.
        let expected = format!("…{}bob@example.com", "xy ".repeat(18));
        check(&body, "exam", &expected);
    }

    #[test]
    fn a_long_word_is_cut() {
        check(&"x".repeat(1_000), "", &format!("{}…", "x".repeat(240)));
    }

    #[test]
    fn a_query_without_a_word_to_look_for_is_refused() {
        assert!(read_query(" \n").unwrap().is_none());
        for text in ["...", "-plan"] {
            let error = read_query(text).unwrap_err().to_string();
            assert!(
                error.starts_with("422 the query has nothing to look for"),
                "{error}"
            );
        }
        assert!(read_query(&"a ".repeat(501)).is_err());
    }
}
