//! `browser_snapshot`: read the page as an accessibility tree.

use serde::{Deserialize, Serialize};

use super::{Answer, Cx, Filter, Flag, Offered, Place, Tool, ToolError, browser};

pub(super) struct BrowserSnapshot;

#[derive(Deserialize, Serialize)]
pub(super) struct Args {}

impl Tool for BrowserSnapshot {
    const NAME: &'static str = "browser_snapshot";
    const DESCRIPTION: &'static str = "Reads the page in your browser: its URL, its title and its accessibility tree, one node a line with role, name, states and value; frames are part of it and passwords are hidden. Take one after a page opened or changed, and build the targets of the other browser tools from the latest one. A tree too large for an answer is cut, with the path of the whole in your home.";
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
        browser::call("snapshot", &args).map(Answer::OnMachine)
    }
}

#[cfg(test)]
mod tests {
    use machine_agent_api::Kind;

    use super::*;

    #[test]
    fn the_helper_is_asked_with_the_arguments_as_they_are() {
        super::super::tests::check_machine_call(
            |args: &Args| browser::call("snapshot", args),
            BrowserSnapshot::EXAMPLE,
            (Kind::Browser, "snapshot", 60_000),
            r#"{}"#,
        );
    }
}
