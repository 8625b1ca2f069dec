//! `browser_screenshot`: take a picture of the page.

use serde::{Deserialize, Serialize};

use super::{Answer, Cx, Filter, Flag, Offered, Place, Tool, ToolError, browser};

pub(super) struct BrowserScreenshot;

#[derive(Deserialize, Serialize)]
pub(super) struct Args {}

impl Tool for BrowserScreenshot {
    const NAME: &'static str = "browser_screenshot";
    const DESCRIPTION: &'static str = "Takes a picture of the visible part of the page in your browser and writes it to screenshots/latest.jpg in your home, in place of the one before. The answer's first line is that path. It shows layout, images and charts; for text and for what can be clicked browser_snapshot is better and cheaper.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {},
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{}"#;
    const OFFERED: Offered = Offered::Flag(Flag::Browser);
    const FILTER: Filter = Filter::Page;
    const PLACE: Place = Place::Machine;
    type Args = Args;

    async fn run(_: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        browser::call("screenshot", &args).map(Answer::OnMachine)
    }
}

#[cfg(test)]
mod tests {
    use machine_agent_api::Kind;

    use super::*;

    #[test]
    fn the_helper_is_asked_with_the_arguments_as_they_are() {
        super::super::tests::check_machine_call(
            |args: &Args| browser::call("screenshot", args),
            BrowserScreenshot::EXAMPLE,
            (Kind::Browser, "screenshot", 60_000),
            r#"{}"#,
        );
    }
}
