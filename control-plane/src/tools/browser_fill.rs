//! `browser_fill`: replace what one field of the page holds.

use serde::{Deserialize, Serialize};

use super::{Answer, Cx, Filter, Flag, Offered, Place, Tool, ToolError, browser};

pub(super) struct BrowserFill;

#[derive(Deserialize, Serialize)]
pub(super) struct Args {
    target: String,
    value: String,
}

impl Tool for BrowserFill {
    const NAME: &'static str = "browser_fill";
    const DESCRIPTION: &'static str = "Replaces what one field of the page in your browser holds: text fields and areas, editable regions, numbers, dates, times, colours, sliders, and selects, by an option's value or label. An empty value empties the field. It waits until the field is visible, enabled and not covered, at most 10 seconds. Checkboxes and radio buttons are switched with browser_click. The answer tells what the field holds afterwards; read it, a page may change what was put in.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "target": {
      "type": "string",
      "description": "The field, from the latest snapshot: role=textbox[name=\"Email\"], role=combobox[name=\"Country\"], or CSS such as #date; a label means its field."
    },
    "value": {
      "type": "string",
      "description": "What the field is to hold. Dates as 2026-03-01, times as 13:45, months as 2026-03, weeks as 2026-W09, colours as #1a2b3c; for a select one option, for a multiple select one option a line."
    }
  },
  "required": ["target", "value"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"target": "role=textbox[name=\"Email\"]", "value": "ada@example.org"}"#;
    const OFFERED: Offered = Offered::Flag(Flag::Browser);
    const FILTER: Filter = Filter::Page;
    const PLACE: Place = Place::Machine;
    type Args = Args;

    async fn run(_: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        browser::call("fill", &args).map(Answer::OnMachine)
    }
}

#[cfg(test)]
mod tests {
    use machine_agent_api::Kind;

    use super::*;

    #[test]
    fn the_helper_is_asked_with_the_arguments_as_they_are() {
        super::super::tests::check_machine_call(
            |args: &Args| browser::call("fill", args),
            BrowserFill::EXAMPLE,
            (Kind::Browser, "fill", 60_000),
            r#"{"target":"role=textbox[name=\"Email\"]","value":"ada@example.org"}"#,
        );
    }
}
