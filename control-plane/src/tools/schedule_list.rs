//! `schedule_list`: the agent's schedules and when each fires next.

use serde::{Deserialize, Serialize};

use super::schedule_entry::MOST;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::schedules::{self, Filter as Wanted, Schedule};

pub(super) struct ScheduleList;

#[derive(Deserialize)]
pub(super) struct Args {}

#[derive(Serialize)]
struct Listed {
    schedules: Vec<Schedule>,
}

impl Tool for ScheduleList {
    const NAME: &'static str = "schedule_list";
    const DESCRIPTION: &'static str = "Lists your schedules, the oldest first, with the id that the other schedule tools take and the time of each one's next fire in UTC; a paused one has none.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {},
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = "{}";
    const OFFERED: Offered = Offered::Binding(Family::Schedule);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, _: Args) -> Result<Answer, ToolError> {
        let agent = &cx.caller.agent;
        let wanted = Wanted {
            agent: Some(&agent.id),
            ..Wanted::default()
        };
        let owned = schedules::page(cx.db, &agent.organisation, wanted, MOST).await?;
        let schedules = owned.into_iter().map(|owned| owned.schedule).collect();
        Ok(Answer::Text(serde_json::to_string(&Listed { schedules })?))
    }
}
