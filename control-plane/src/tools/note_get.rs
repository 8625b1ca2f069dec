//! `note_get`: read one note by its display path.

use serde::{Deserialize, Serialize};

use super::note_path::{absent, parse};
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::access::Access;
use crate::store::notes;
use crate::store::time::rfc3339;

pub(super) struct NoteGet;

#[derive(Deserialize)]
pub(super) struct Args {
    path: String,
}

#[derive(Serialize)]
struct Live<'a> {
    path: String,
    level: &'static str,
    access: Access,
    content: &'a str,
    updated_at: String,
}

#[derive(Serialize)]
struct Tombstone {
    path: String,
    deleted: bool,
    deleted_at: String,
}

impl Tool for NoteGet {
    const NAME: &'static str = "note_get";
    const DESCRIPTION: &'static str = "Reads one markdown note in full by its path, as note_find gives it: agent/<agent>/<key>, guild/<guild>/<key> or org/<key>. The answer has the content, when it last changed and whether you may write it. Your own task.md and memory.md always exist. A note that was deleted answers with the time of its deletion and no content.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "path": {
      "type": "string",
      "description": "Path of the note, for example agent/ada/plan.md, guild/core/style.md or org/handbook.md."
    }
  },
  "required": ["path"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"path": "agent/ada/plan.md"}"#;
    const OFFERED: Offered = Offered::Binding(Family::Note);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Reading;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let agent = &cx.caller.agent;
        let place = parse(agent, &args.path)?;
        let note = notes::find(cx.db, agent, &place)
            .await?
            .ok_or_else(|| absent(&place))?;
        let path = place.to_string();
        let text = match note.deleted_ms {
            Some(at) => serde_json::to_string(&Tombstone {
                path,
                deleted: true,
                deleted_at: rfc3339(at),
            }),
            None => serde_json::to_string(&Live {
                path,
                level: place.level.as_str(),
                access: note.access,
                content: &note.body,
                updated_at: rfc3339(note.updated_ms),
            }),
        }?;
        Ok(Answer::Text(text))
    }
}
