//! `memory_write`: replace the agent's whole Memory.

use serde::{Deserialize, Serialize};

use super::validation::storable;
use super::{Answer, Cx, Family, Filter, Flag, Offered, Place, Tool, ToolError};
use crate::store::memory;

pub(super) struct MemoryWrite;

#[derive(Deserialize)]
pub(super) struct Args {
    content: String,
}

#[derive(Serialize)]
struct Written {
    characters: usize,
    revisions: i64,
}

impl Tool for MemoryWrite {
    const NAME: &'static str = "memory_write";
    const DESCRIPTION: &'static str = "Replaces your whole memory: what you write here is shown to you when your next run starts, and nothing else of the old memory stays, so repeat what you want to keep. At most 12,000 characters; longer is refused and changes nothing. Keep what lasts: facts, decisions, preferences, open ends. Answers with its characters and how many earlier versions are kept.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "content": {
      "type": "string",
      "description": "The whole new memory in markdown, at most 12,000 characters."
    }
  },
  "required": ["content"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str =
        r##"{"content": "# About the team\n\n* Releases are on Thursdays."}"##;
    const OFFERED: Offered = Offered::FlagAndBinding(Flag::Memory, Family::Memory);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let content = storable(args.content);
        check_length(&content)?;
        let written = memory::write(cx.db, &cx.caller.agent, &content).await?;
        Ok(Answer::Text(serde_json::to_string(&Written {
            characters: written.characters,
            revisions: written.revisions,
        })?))
    }
}

/// Refuses a memory that is too long; also when it is written as a note.
///
/// # Errors
/// 422 with its length.
pub(super) fn check_length(content: &str) -> Result<(), ToolError> {
    let characters = content.chars().count();
    if characters <= memory::MAX_CHARACTERS {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "the content has {characters} characters; the memory holds at most 12,000, and nothing was stored"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_thousand_characters_are_the_most() {
        assert!(check_length(&"é".repeat(12_000)).is_ok());
        assert_eq!(
            check_length(&"é".repeat(12_001)).unwrap_err().to_string(),
            "422 the content has 12001 characters; the memory holds at most 12,000, and nothing was stored"
        );
    }
}
