//! `schedule_resume`: let a paused schedule fire again, from now on.

use serde::Deserialize;

use super::schedule_entry::{activate, answer, own};
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};

pub(super) struct ScheduleResume;

#[derive(Deserialize)]
pub(super) struct Args {
    schedule_id: String,
}

impl Tool for ScheduleResume {
    const NAME: &'static str = "schedule_resume";
    const DESCRIPTION: &'static str = "Lets one of your paused schedules fire again. Its next fire is computed from now, at least 5 minutes after its last one; what it missed while it was paused never fires. Answers the schedule.";
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
        // One that was not paused may be due at this moment, and that fire stays.
        if stored.paused {
            activate(cx.db, &stored).await?;
        }
        answer(cx.db, agent, stored.id).await
    }
}
