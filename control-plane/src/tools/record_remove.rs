//! `record_remove`: remove one record.

use serde::{Deserialize, Serialize};

use super::record_change;
use super::record_refusals::writable;
use super::validation::whole_number;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};

pub(super) struct RecordRemove;

#[derive(Deserialize)]
pub(super) struct Args {
    collection: String,
    #[serde(deserialize_with = "whole_number")]
    id: i64,
}

#[derive(Serialize)]
struct Removed {
    removed: i64,
}

impl Tool for RecordRemove {
    const NAME: &'static str = "record_remove";
    const DESCRIPTION: &'static str = "Removes one record from its collection. It is found no more, and its unique value is free for another record; only an operator can bring it back. To change a record use record_update.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "collection": {
      "type": "string",
      "description": "Name of the collection."
    },
    "id": {
      "type": "integer",
      "description": "Id of the record, as record_list and record_search tell it."
    }
  },
  "required": ["collection", "id"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"collection": "contacts", "id": 12}"#;
    const OFFERED: Offered = Offered::Binding(Family::Record);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let agent = &cx.caller.agent;
        let definition = writable(cx.db, agent, &args.collection).await?;
        let actor = format!("agent:{}", agent.id);
        record_change::remove(cx.db, &definition, args.id, &actor).await?;
        Ok(Answer::Text(serde_json::to_string(&Removed {
            removed: args.id,
        })?))
    }
}
