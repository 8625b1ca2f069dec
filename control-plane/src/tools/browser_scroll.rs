//! `browser_scroll`: scroll a panel of the page or its window.

use serde::{Deserialize, Serialize};

use super::{Answer, Cx, Filter, Flag, Offered, Place, Tool, ToolError, browser};

pub(super) struct BrowserScroll;

#[derive(Deserialize, Serialize)]
pub(super) struct Args {
    direction: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

impl Tool for BrowserScroll {
    const NAME: &'static str = "browser_scroll";
    const DESCRIPTION: &'static str = "Scrolls by one viewport. Without a target it takes the panel of the page with an overflow that shows most, and the window when there is none; with a target the panel around that element. The answer names the container, how far it moved, and how much remains in each direction. Clicks and fields scroll into view by themselves; scroll to read, or to make a list load more.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "direction": {
      "type": "string",
      "enum": ["up", "down", "left", "right"],
      "description": "Which way to go."
    },
    "target": {
      "type": "string",
      "description": "An element in the panel that is meant, or the panel itself, from the latest snapshot: role=list[name=\"Results\"], or CSS such as #log."
    }
  },
  "required": ["direction"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"direction": "down", "target": "role=list[name=\"Results\"]"}"#;
    const OFFERED: Offered = Offered::Flag(Flag::Browser);
    const FILTER: Filter = Filter::Page;
    const PLACE: Place = Place::Machine;
    type Args = Args;

    async fn run(_: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        browser::call("scroll", &args).map(Answer::OnMachine)
    }
}

#[cfg(test)]
mod tests {
    use machine_agent_api::Kind;

    use super::*;

    #[test]
    fn the_helper_is_asked_with_the_arguments_as_they_are() {
        super::super::tests::check_machine_call(
            |args: &Args| browser::call("scroll", args),
            BrowserScroll::EXAMPLE,
            (Kind::Browser, "scroll", 60_000),
            r#"{"direction":"down","target":"role=list[name=\"Results\"]"}"#,
        );
    }

    #[test]
    fn a_target_is_not_sent_when_there_is_none() {
        super::super::tests::check_machine_call(
            |args: &Args| browser::call("scroll", args),
            r#"{"direction": "up"}"#,
            (Kind::Browser, "scroll", 60_000),
            r#"{"direction":"up"}"#,
        );
    }
}
