//! `browser_eval`: run JavaScript in the page.

use serde::{Deserialize, Serialize};

use super::{Answer, Cx, Filter, Flag, Offered, Place, Tool, ToolError, browser};

pub(super) struct BrowserEval;

#[derive(Deserialize, Serialize)]
pub(super) struct Args {
    expression: String,
}

impl Tool for BrowserEval {
    const NAME: &'static str = "browser_eval";
    const DESCRIPTION: &'static str = "Runs JavaScript in the page in your browser, as the body of an async function: use return for the value, await works. The answer is the value as JSON, undefined when nothing is returned; what JSON has not, such as DOM nodes, maps or circles, is refused by name. It has 30 seconds. console.log is not captured. To use a snippet again, write it to a note. For reading and acting on a page the other browser tools are safer.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "expression": {
      "type": "string",
      "description": "The body of an async function, such as: return document.querySelectorAll('article').length."
    }
  },
  "required": ["expression"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"expression": "return [...document.links].map(link => link.href)"}"#;
    const OFFERED: Offered = Offered::Flag(Flag::Browser);
    const FILTER: Filter = Filter::Page;
    const PLACE: Place = Place::Machine;
    type Args = Args;

    async fn run(_: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        browser::call("eval", &args).map(Answer::OnMachine)
    }
}

#[cfg(test)]
mod tests {
    use machine_agent_api::Kind;

    use super::*;

    #[test]
    fn the_helper_is_asked_with_the_arguments_as_they_are() {
        super::super::tests::check_machine_call(
            |args: &Args| browser::call("eval", args),
            BrowserEval::EXAMPLE,
            (Kind::Browser, "eval", 60_000),
            r#"{"expression":"return [...document.links].map(link => link.href)"}"#,
        );
    }
}
