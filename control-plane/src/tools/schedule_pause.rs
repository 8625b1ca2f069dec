//! `schedule_pause`: stop a schedule firing.

use serde::Deserialize;

use super::schedule_entry::{answer, own};
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::schedules::writing;

pub(super) struct SchedulePause;

#[derive(Deserialize)]
pub(super) struct Args {
    schedule_id: String,
}

impl Tool for SchedulePause {
    const NAME: &'static str = "schedule_pause";
    const DESCRIPTION: &'static str = "Stops one of your schedules from firing until schedule_resume. What it misses meanwhile never fires. Answers the schedule.";
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
        let agent = &cx.caller.agent;
        let stored = own(cx.db, agent, &args.schedule_id).await?;
        writing::pause(cx.db, stored.id).await?;
        answer(cx.db, agent, stored.id).await
    }
}
