//! `note_delete`: leave a tombstone in a note's place.

use serde::{Deserialize, Serialize};

use super::note_path::{MEMORY, TASK, absent, parse};
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::access::Access;
use crate::store::notes::{self, Level, history};

pub(super) struct NoteDelete;

#[derive(Deserialize)]
pub(super) struct Args {
    path: String,
}

#[derive(Serialize)]
struct Deleted {
    path: String,
    deleted: bool,
}

impl Tool for NoteDelete {
    const NAME: &'static str = "note_delete";
    const DESCRIPTION: &'static str = "Deletes one note that you may write, by its path. It leaves the lists at once; note_write under the same key makes a note there again. task.md and memory.md can't be deleted: write them empty instead.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "path": {
      "type": "string",
      "description": "Path of the note, for example agent/ada/plan.md."
    }
  },
  "required": ["path"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"path": "agent/ada/plan.md"}"#;
    const OFFERED: Offered = Offered::Binding(Family::Note);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let agent = &cx.caller.agent;
        let place = parse(agent, &args.path)?;
        let note = notes::find_for_write(cx.db, agent, &place)
            .await?
            .filter(|note| note.deleted_ms.is_none())
            .ok_or_else(|| absent(&place))?;
        if note.access != Access::Write {
            return Err(ToolError::forbidden(format!(
                "you may read {place} and not delete it"
            )));
        }
        if place.level == Level::Agent && (place.key == TASK || place.key == MEMORY) {
            return Err(ToolError::forbidden(format!(
                "{} can't be deleted; write it empty instead",
                place.key
            )));
        }
        history::keep(cx.db, note.id, &format!("agent:{}", agent.id)).await?;
        notes::delete(cx.db, note.id).await?;
        Ok(Answer::Text(serde_json::to_string(&Deleted {
            path: place.to_string(),
            deleted: true,
        })?))
    }
}
