//! `schedule_create_window`: wake up at random times inside a daily window of local time.

use serde::Deserialize;

use super::schedule_entry::{check_texts, create};
use super::validation::{nearest, whole_number};
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::schedule::window::Window;
use crate::store::schedules::writing::When;

pub(super) struct ScheduleCreateWindow;

#[derive(Deserialize)]
pub(super) struct Args {
    timezone: String,
    start: String,
    end: String,
    #[serde(deserialize_with = "whole_number")]
    max_wakes: i64,
    description: String,
    instruction: String,
}

impl Tool for ScheduleCreateWindow {
    const NAME: &'static str = "schedule_create_window";
    const DESCRIPTION: &'static str = "Makes a schedule of yours that wakes you at random times inside a daily window of local time, until you pause or delete it. The times are drawn anew for each day, max_wakes of them, at least 5 minutes apart, and follow the local clock through its changes. Each wake-up starts a run of its own that is given the instruction and nothing of this conversation. For exact times use schedule_create_cron. Answers the schedule with its next fire, in UTC.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "timezone": {
      "type": "string",
      "description": "Name of a time zone of the IANA database, such as Europe/Paris."
    },
    "start": {
      "type": "string",
      "description": "Local time HH:MM at which the window opens, from 00:00 to 23:59."
    },
    "end": {
      "type": "string",
      "description": "Local time HH:MM at which the window closes. Before start, it closes on the next day."
    },
    "max_wakes": {
      "type": "integer",
      "minimum": 1,
      "description": "Wake-ups in each window: at most one for every 5 minutes of it. Only a day that a clock change shortens may have fewer."
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
  "required": ["timezone", "start", "end", "max_wakes", "description", "instruction"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"timezone": "Europe/Paris", "start": "09:00", "end": "17:30", "max_wakes": 3, "description": "Look around", "instruction": "Look at the news of our branch and post what matters to the guild."}"#;
    const OFFERED: Offered = Offered::Binding(Family::Schedule);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let times = (args.start.as_str(), args.end.as_str());
        let near = |name: &str, names: &[&str]| {
            nearest(name, names.iter().copied()).map(str::to_owned)
        };
        let window = Window::parse(&args.timezone, times, args.max_wakes, near);
        let mut problems = window.err().unwrap_or_default();
        problems.extend(check_texts(&args.description, &args.instruction));
        let max_wakes = i32::try_from(args.max_wakes);
        let (true, Ok(max_wakes)) = (problems.is_empty(), max_wakes) else {
            return Err(ToolError::invalid(problems.join("; ")));
        };
        let texts = (args.description.as_str(), args.instruction.as_str());
        let when = When::Window {
            timezone: &args.timezone,
            start: &args.start,
            end: &args.end,
            max_wakes,
        };
        create(cx, texts, when).await
    }
}
