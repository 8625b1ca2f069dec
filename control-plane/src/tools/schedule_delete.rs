//! `schedule_delete`: remove a schedule for good.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::schedule_entry::own;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::schedules::writing;

pub(super) struct ScheduleDelete;

#[derive(Deserialize)]
pub(super) struct Args {
    schedule_id: String,
}

#[derive(Serialize)]
struct Deleted {
    schedule_id: Uuid,
    deleted: bool,
}

impl Tool for ScheduleDelete {
    const NAME: &'static str = "schedule_delete";
    const DESCRIPTION: &'static str = "Removes one of your schedules for good: it never fires again and leaves schedule_list. To stop it for a while use schedule_pause.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "schedule_id": {
      "type": "string",
      "description": "Id of the schedule, as schedule_list shows it."
    }
  },
  "required": ["schedule_id"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"schedule_id": "0192f0c1-2345-7abc-8def-0123456789ab"}"#;
    const OFFERED: Offered = Offered::Binding(Family::Schedule);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let stored = own(cx.db, &cx.caller.agent, &args.schedule_id).await?;
        writing::delete(cx.db, stored.id).await?;
        Ok(Answer::Text(serde_json::to_string(&Deleted {
            schedule_id: stored.id,
            deleted: true,
        })?))
    }
}
