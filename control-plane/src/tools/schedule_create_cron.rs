//! `schedule_create_cron`: wake up again and again by a clock in UTC.

use serde::Deserialize;

use super::schedule_entry::{check_texts, create};
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::schedule::cron::Cron;
use crate::store::schedules::writing::When;

pub(super) struct ScheduleCreateCron;

#[derive(Deserialize)]
pub(super) struct Args {
    cron: String,
    description: String,
    instruction: String,
}

impl Tool for ScheduleCreateCron {
    const NAME: &'static str = "schedule_create_cron";
    const DESCRIPTION: &'static str = "Makes a schedule of yours that wakes you by the clock, in UTC, again and again until you pause or delete it. Each wake-up starts a run of its own that is given the instruction and nothing of this conversation. Convert local times to UTC first; to follow a local clock through its changes, or to wake at random times, use schedule_create_window. Wake-ups have to be at least 5 minutes apart. Answers the schedule with its next fire.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "cron": {
      "type": "string",
      "description": "Five fields in UTC: minute hour day month weekday. Each is *, a number, a range a-b, a step */n or a-b/n, or a list of these with commas; months and weekdays may be JAN to DEC and SUN to SAT, and both 0 and 7 are Sunday. If day or weekday begins with *, both have to match, otherwise one is enough: 0 9 13 * FRI fires on each 13th and on each Friday."
    },
    "description": {
      "type": "string",
      "description": "What the schedule is for, in one line of at most 400 characters."
    },
    "instruction": {
      "type": "string",
      "description": "What to do at each wake-up, in Markdown, at most 2,000 characters. Name what the run needs to know, such as the notes to read."
    }
  },
  "required": ["cron", "description", "instruction"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"cron": "30 6 * * MON-FRI", "description": "Morning mail", "instruction": "Read the new mail and note what needs an answer in agent/ada/mail.md."}"#;
    const OFFERED: Offered = Offered::Binding(Family::Schedule);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let mut problems = Cron::parse(&args.cron).err().unwrap_or_default();
        problems.extend(check_texts(&args.description, &args.instruction));
        if !problems.is_empty() {
            return Err(ToolError::invalid(problems.join("; ")));
        }
        let cron = args.cron.split_whitespace().collect::<Vec<_>>().join(" ");
        let texts = (args.description.as_str(), args.instruction.as_str());
        create(cx, texts, When::Cron(&cron)).await
    }
}
