//! `browser_navigate`: open a URL in the agent's browser.

use serde::{Deserialize, Serialize};

use super::{Answer, Cx, Filter, Flag, Offered, Place, Tool, ToolError, browser};

pub(super) struct BrowserNavigate;

#[derive(Deserialize, Serialize)]
pub(super) struct Args {
    url: String,
}

impl Tool for BrowserNavigate {
    const NAME: &'static str = "browser_navigate";
    const DESCRIPTION: &'static str = "Opens a URL in your own browser, which keeps its logins, cookies and tabs between calls and runs. It waits for the page to be there, and tells the address it ended at, the title, the HTTP status when it is not a success, and what else happened, such as a dialog or a download. Then take a browser_snapshot to read the page and to find what to click. At most 60 seconds.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "url": {
      "type": "string",
      "description": "Address to open, for example https://example.com/prices."
    }
  },
  "required": ["url"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"url": "https://example.com/prices"}"#;
    const OFFERED: Offered = Offered::Flag(Flag::Browser);
    const FILTER: Filter = Filter::Page;
    const PLACE: Place = Place::Machine;
    type Args = Args;

    async fn run(_: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        browser::call("navigate", &args).map(Answer::OnMachine)
    }
}

#[cfg(test)]
mod tests {
    use machine_agent_api::Kind;

    use super::*;

    #[test]
    fn the_helper_is_asked_with_the_arguments_as_they_are() {
        super::super::tests::check_machine_call(
            |args: &Args| browser::call("navigate", args),
            BrowserNavigate::EXAMPLE,
            (Kind::Browser, "navigate", 60_000),
            r#"{"url":"https://example.com/prices"}"#,
        );
    }
}
