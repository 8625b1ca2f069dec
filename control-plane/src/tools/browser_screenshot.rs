//! `browser_screenshot`: take a picture of the page.

use std::collections::BTreeMap;

use machine_agent_api::{CallRequest, Kind};
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

use super::{
    Answer, Cx, Filter, Flag, MachineCall, MachineCallNames, Offered, Place, Tool, ToolError,
    machine_reply,
};

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
        call(&args).map(Answer::OnMachine)
    }
}

fn call(args: &Args) -> Result<MachineCall, ToolError> {
    Ok(MachineCall {
        kind: Kind::Browser,
        verb: "screenshot",
        request: CallRequest {
            arguments: to_raw_value(args)?,
            env: BTreeMap::new(),
            limit_ms: super::BROWSER_LIMIT_S * 1_000,
            max_output_bytes: 0,
            script: None,
        },
        read: machine_reply::page,
        names: MachineCallNames {
            script: String::new(),
            limit_s: super::BROWSER_LIMIT_S,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_helper_is_asked_with_the_arguments_as_they_are() {
        super::super::tests::check_machine_call(
            call,
            BrowserScreenshot::EXAMPLE,
            (Kind::Browser, "screenshot", 60_000),
            r#"{}"#,
        );
    }
}
