//! `browser_type`: press keys in one field of the page.

use serde::{Deserialize, Serialize};

use super::{Answer, Cx, Filter, Flag, Offered, Place, Tool, ToolError, browser};

pub(super) struct BrowserType;

#[derive(Deserialize, Serialize)]
pub(super) struct Args {
    target: String,
    text: String,
}

impl Tool for BrowserType {
    const NAME: &'static str = "browser_type";
    const DESCRIPTION: &'static str = "Types text into one field of the page in your browser, as a keyboard does. It waits until the field is visible, enabled, at rest and not covered, at most 10 seconds. The text goes in at the caret, which stands at the start of a field that was not in focus; to replace what a field holds use browser_fill. A line break presses Enter, which may send the form; a tab moves on. The answer tells what the field holds afterwards, and what the typing did to the page.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "target": {
      "type": "string",
      "description": "The field, from the latest snapshot: role=textbox[name=\"Comment\"], or CSS such as #search; a label means its field."
    },
    "text": {
      "type": "string",
      "description": "What to type. Any characters; a line break is the Enter key."
    }
  },
  "required": ["target", "text"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"target": "role=searchbox", "text": "desk lamp\n"}"#;
    const OFFERED: Offered = Offered::Flag(Flag::Browser);
    const FILTER: Filter = Filter::Page;
    const PLACE: Place = Place::Machine;
    type Args = Args;

    async fn run(_: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        browser::call("type", &args).map(Answer::OnMachine)
    }
}

#[cfg(test)]
mod tests {
    use machine_agent_api::Kind;

    use super::*;

    #[test]
    fn the_helper_is_asked_with_the_arguments_as_they_are() {
        super::super::tests::check_machine_call(
            |args: &Args| browser::call("type", args),
            BrowserType::EXAMPLE,
            (Kind::Browser, "type", 60_000),
            r#"{"target":"role=searchbox","text":"desk lamp\n"}"#,
        );
    }
}
