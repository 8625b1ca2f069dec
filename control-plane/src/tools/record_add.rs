//! `record_add`: add a record, or merge it into the one that has its unique value.

use serde::{Deserialize, Serialize};

use super::record_body::Shown;
use super::record_change;
use super::record_refusals::writable;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::records::body::Body;

pub(super) struct RecordAdd;

#[derive(Deserialize)]
pub(super) struct Args {
    collection: String,
    body: Body,
}

#[derive(Serialize)]
struct Added {
    record: Shown,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for RecordAdd {
    const NAME: &'static str = "record_add";
    const DESCRIPTION: &'static str = "Adds a record to a collection. body has declared columns only; null is the same as leaving a column out. Every value is checked, and all problems are told at once. When the collection has a unique column and a record with that value exists, body is merged into it: columns given replace the old values, others stay, and note tells the id. Answers with the whole record.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "collection": {
      "type": "string",
      "description": "Name of the collection."
    },
    "body": {
      "type": "object",
      "description": "Columns with their values: { column: value }. Text and times in quotes, times as 2026-03-01T09:30:00Z; numbers, true and false without quotes; arrays of texts."
    }
  },
  "required": ["collection", "body"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"collection": "contacts", "body": {"email": "ann@example.com", "stage": "lead", "amount": 1250.50, "tags": ["fair"]}}"#;
    const OFFERED: Offered = Offered::Binding(Family::Record);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let agent = &cx.caller.agent;
        let definition = writable(cx.db, agent, &args.collection).await?;
        let actor = format!("agent:{}", agent.id);
        let added = record_change::add(cx.db, &definition, &args.body, &actor).await?;
        let id = added.record.id;
        Ok(Answer::Text(serde_json::to_string(&Added {
            record: Shown::of(&definition, added.record),
            note: added
                .merged
                .then(|| format!("merged into existing record {id}")),
        })?))
    }
}
