//! `note_write`: write a note at a level, or rewrite one by its path.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::memory_write;
use super::note_path::{MEMORY, TASK, absent, check_key, parse};
use super::validation::storable;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::access::Access;
use crate::store::agents::Agent;
use crate::store::notes::{self, Level, Note, history};
use crate::store::{bindings, memory};

/// Most characters of a note.
const MAX_CHARACTERS: usize = 200_000;

pub(super) struct NoteWrite;

#[derive(Deserialize)]
pub(super) struct Args {
    content: String,
    level: Option<String>,
    key: Option<String>,
    path: Option<String>,
}

#[derive(Serialize)]
struct Written {
    path: String,
    created: bool,
}

impl Tool for NoteWrite {
    const NAME: &'static str = "note_write";
    const DESCRIPTION: &'static str = "Writes a markdown note and replaces all of its content: read it with note_get first when you mean to keep a part. Name it either by level and key, which makes the note when it is new (agent for yourself, guild for everybody in your guild; only an operator makes one at org), or by path, which rewrites a note that exists and that you may write. At most 200,000 characters. Keep what you are doing in task.md; memory.md is your memory, at most 12,000 characters, shown to you when a run starts. Writing under the key of a deleted note brings it back. Answers with the path.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "content": {
      "type": "string",
      "description": "The whole new content in markdown, at most 200,000 characters."
    },
    "level": {
      "type": "string",
      "enum": ["agent", "guild", "org"],
      "description": "Level of the note, together with key. Omit it when path is given."
    },
    "key": {
      "type": "string",
      "description": "File name of the note, ending in .md, for example plan.md; together with level. Omit it when path is given."
    },
    "path": {
      "type": "string",
      "description": "Path of an existing note, for example guild/core/style.md. Omit it when level and key are given."
    }
  },
  "required": ["content"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str =
        r##"{"level": "agent", "key": "plan.md", "content": "# Plan\n\n1. Ship it"}"##;
    const OFFERED: Offered = Offered::Binding(Family::Note);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let agent = &cx.caller.agent;
        let (place, may_create) = target(agent, &args)?;
        let content = storable(args.content);
        let created = if place.key == MEMORY && place == own(agent, MEMORY) {
            write_memory(cx.db, agent, &place, &content).await?;
            false
        } else {
            check_length(&content, MAX_CHARACTERS, "a note holds at most 200,000")?;
            write_note(cx.db, agent, &place, &content, may_create).await?
        };
        Ok(Answer::Text(serde_json::to_string(&Written {
            path: place.to_string(),
            created,
        })?))
    }
}

fn own(agent: &Agent, key: &str) -> notes::Place {
    notes::Place::of(agent, Level::Agent, key)
}

/// Where to write, and whether a note may be made there.
fn target(agent: &Agent, args: &Args) -> Result<(notes::Place, bool), ToolError> {
    let (place, may_create) = match (&args.path, &args.level, &args.key) {
        (Some(path), None, None) => (parse(agent, path)?, false),
        (None, Some(level), Some(key)) => {
            check_key(key)?;
            let level = Level::parse(level).ok_or_else(|| {
                ToolError::invalid("level is none of the allowed ones: agent, guild, org")
            })?;
            (notes::Place::of(agent, level, key), true)
        }
        (Some(_), _, _) => {
            return Err(ToolError::invalid(
                "path and level or key are both given; give either path, or level with key",
            ));
        }
        (None, _, _) => {
            return Err(ToolError::invalid(
                "it is not said where to write; give either path, or level with key",
            ));
        }
    };
    if place.level != Level::Agent && (place.key == TASK || place.key == MEMORY) {
        return Err(ToolError::invalid(format!(
            "{} exists at level agent only; choose another key",
            place.key
        )));
    }
    Ok((place, may_create))
}

fn check_length(content: &str, most: usize, allowed: &str) -> Result<(), ToolError> {
    let characters = content.chars().count();
    if characters <= most {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "the content has {characters} characters; {allowed}, and nothing was stored"
    )))
}

async fn write_memory(
    db: &mut PgConnection,
    agent: &Agent,
    place: &notes::Place,
    content: &str,
) -> Result<(), ToolError> {
    if !agent.config.memory {
        return Err(absent(place));
    }
    let rows = bindings::for_agent(db, agent).await?;
    if !bindings::enabled(&rows, "memory_write", Family::Memory.as_str()) {
        return Err(ToolError::forbidden(
            "writing your memory is switched off; keep the note under another key",
        ));
    }
    memory_write::check_length(content)?;
    memory::write(db, agent, content).await?;
    Ok(())
}

/// Writes within the agent's access; true when the note is new or live again.
async fn write_note(
    db: &mut PgConnection,
    agent: &Agent,
    place: &notes::Place,
    content: &str,
    may_create: bool,
) -> Result<bool, ToolError> {
    if let Some(note) = notes::find_for_write(db, agent, place).await? {
        return rewrite(db, agent, place, &note, content).await;
    }
    if !may_create {
        return Err(absent(place));
    }
    if place.level == Level::Org {
        return Err(ToolError::forbidden(format!(
            "only an operator makes a note at level org, and there is no {place} that you can write; use level agent or guild"
        )));
    }
    if notes::create(db, agent, place, content).await? {
        return Ok(true);
    }
    // Taken: by a writer of this moment, or out of the agent's reach.
    match notes::find_for_write(db, agent, place).await? {
        Some(note) => rewrite(db, agent, place, &note, content).await,
        None => Err(absent(place)),
    }
}

async fn rewrite(
    db: &mut PgConnection,
    agent: &Agent,
    place: &notes::Place,
    note: &Note,
    content: &str,
) -> Result<bool, ToolError> {
    if note.access != Access::Write {
        return Err(ToolError::forbidden(format!(
            "you may read {place} and not write it"
        )));
    }
    history::keep(db, note.id, &format!("agent:{}", agent.id)).await?;
    notes::replace(db, note.id, &place.key, content).await?;
    Ok(note.deleted_ms.is_some())
}

#[cfg(test)]
mod tests {
    use super::super::note_path::tests::ada;
    use super::*;

    #[track_caller]
    fn check(level: Option<&str>, key: Option<&str>, path: Option<&str>, expected: &str) {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let args = Args {
            content: String::new(),
            level: owned(level),
            key: owned(key),
            path: owned(path),
        };
        let found = match target(&ada(), &args) {
            Ok((place, may_create)) => format!("{place} {may_create}"),
            Err(error) => error.to_string(),
        };
        assert!(found.starts_with(expected), "{found}");
    }

    #[test]
    fn a_note_is_named_by_level_and_key_or_by_path() {
        check(Some("guild"), Some("a.md"), None, "guild/core/a.md true");
        check(Some("org"), Some("a.md"), None, "org/a.md true");
        check(None, None, Some("agent/bob/a.md"), "agent/bob/a.md false");
        check(
            Some("agent"),
            Some("task.md"),
            None,
            "agent/ada/task.md true",
        );
    }

    #[test]
    fn both_or_neither_is_refused() {
        check(None, None, None, "422 it is not said where to write");
        check(
            Some("agent"),
            None,
            None,
            "422 it is not said where to write",
        );
        check(
            None,
            Some("a.md"),
            None,
            "422 it is not said where to write",
        );
        check(
            Some("agent"),
            Some("a.md"),
            Some("org/a.md"),
            "422 path and level or key",
        );
        check(
            None,
            Some("a.md"),
            Some("org/a.md"),
            "422 path and level or key",
        );
    }

    #[test]
    fn the_two_lasting_keys_exist_at_agent_level_only() {
        check(
            Some("guild"),
            Some("task.md"),
            None,
            "422 task.md exists at level agent only",
        );
        check(
            None,
            None,
            Some("org/memory.md"),
            "422 memory.md exists at level agent only",
        );
    }

    #[test]
    fn length_is_counted_in_characters() {
        assert!(check_length(&"é".repeat(12_000), 12_000, "").is_ok());
        let error = check_length(
            &"a".repeat(12_001),
            12_000,
            "the memory holds at most 12,000",
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "422 the content has 12001 characters; the memory holds at most 12,000, and nothing was stored"
        );
    }
}
