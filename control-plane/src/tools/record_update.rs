//! `record_update`: merge columns into one record.

use serde::{Deserialize, Serialize};

use super::record_body::Shown;
use super::record_change;
use super::record_refusals::writable;
use super::validation::whole_number;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::records::body::Body;

pub(super) struct RecordUpdate;

#[derive(Deserialize)]
pub(super) struct Args {
    collection: String,
    #[serde(deserialize_with = "whole_number")]
    id: i64,
    body: Body,
}

#[derive(Serialize)]
struct Updated {
    record: Shown,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for RecordUpdate {
    const NAME: &'static str = "record_update";
    const DESCRIPTION: &'static str = "Changes one record: the columns in body replace what is there, columns left out stay, and null clears a column that is not required. Every value is checked, and all problems are told at once. Answers with the whole record; warnings name stored values in other columns that the collection no longer allows.";
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
    },
    "body": {
      "type": "object",
      "description": "The columns to change: { column: value }, null to clear one."
    }
  },
  "required": ["collection", "id", "body"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str =
        r#"{"collection": "contacts", "id": 12, "body": {"stage": "client", "amount": null}}"#;
    const OFFERED: Offered = Offered::Binding(Family::Record);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let agent = &cx.caller.agent;
        let definition = writable(cx.db, agent, &args.collection).await?;
        let actor = format!("agent:{}", agent.id);
        let (live, warnings) =
            record_change::update(cx.db, &definition, args.id, &args.body, &actor).await?;
        Ok(Answer::Text(serde_json::to_string(&Updated {
            record: Shown::of(&definition, live),
            warnings,
        })?))
    }
}
