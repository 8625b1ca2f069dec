//! `schedule_list`: the agent's schedules and when each fires next.

use serde::Deserialize;

use super::listing::{cut, whole};
use super::schedule_entry::MOST;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::schedules::{self, Filter as Wanted, Schedule};

pub(super) struct ScheduleList;

#[derive(Deserialize)]
pub(super) struct Args {}

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
        let schedules: Vec<Schedule> = owned
            .into_iter()
            .map(|owned| with_description(&owned.schedule, |text| cx.words.redact(text)))
            .collect();
        let text = whole("schedules", &schedules, cx.cap_bytes, |schedule, room| {
            with_description(schedule, |text| cut(text, room))
        })?;
        Ok(Answer::Text(text))
    }
}

fn with_description(schedule: &Schedule, change: impl Fn(&str) -> String) -> Schedule {
    let mut changed = schedule.clone();
    changed.description = change(&schedule.description);
    changed
}
