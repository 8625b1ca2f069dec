//! `browser_click`: click one element of the page.

use serde::{Deserialize, Serialize};

use super::{Answer, Cx, Filter, Flag, Offered, Place, Tool, ToolError, browser};

pub(super) struct BrowserClick;

#[derive(Deserialize, Serialize)]
pub(super) struct Args {
    target: String,
}

impl Tool for BrowserClick {
    const NAME: &'static str = "browser_click";
    const DESCRIPTION: &'static str = "Clicks one element of the page in your browser. It waits until the element is visible, enabled, at rest and not covered, at most 10 seconds, and else names what stood in the way. A target must mean exactly one element: when several match, make it more precise with what the latest browser_snapshot shows. The answer tells what the click did, such as a navigation, a dialog, a new tab or a download.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "target": {
      "type": "string",
      "description": "The element, from the latest snapshot: role=button[name=\"Save\"], text=Read more, or CSS such as form.search input[type=submit]; chain with >>."
    }
  },
  "required": ["target"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"target": "role=button[name=\"Save\"]"}"#;
    const OFFERED: Offered = Offered::Flag(Flag::Browser);
    const FILTER: Filter = Filter::Page;
    const PLACE: Place = Place::Machine;
    type Args = Args;

    async fn run(_: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        browser::call("click", &args).map(Answer::OnMachine)
    }
}

#[cfg(test)]
mod tests {
    use machine_agent_api::Kind;

    use super::*;

    #[test]
    fn the_helper_is_asked_with_the_arguments_as_they_are() {
        super::super::tests::check_machine_call(
            |args: &Args| browser::call("click", args),
            BrowserClick::EXAMPLE,
            (Kind::Browser, "click", 60_000),
            r#"{"target":"role=button[name=\"Save\"]"}"#,
        );
    }
}
