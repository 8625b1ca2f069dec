//! `shell`: run a command with bash on the agent's machine.

use std::collections::BTreeMap;

use machine_agent_api::{CallRequest, Kind};
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

use super::validation::whole_number;
use super::{
    Answer, Cx, Filter, Flag, MachineCall, MachineCallNames, Offered, Place, Tool, ToolError,
    machine_reply,
};

/// Seconds a command runs when nothing is said.
const DEFAULT_LIMIT_S: i64 = 50;

pub(super) struct Shell;

#[derive(Deserialize, Serialize)]
pub(super) struct Args {
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default = "default_limit_s", deserialize_with = "whole_number")]
    limit_s: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdin: Option<String>,
}

const fn default_limit_s() -> i64 {
    DEFAULT_LIMIT_S
}

impl Tool for Shell {
    const NAME: &'static str = "shell";
    const DESCRIPTION: &'static str = "Runs a command with bash on your own machine, as your own user, and answers with its output and errors in the order they came. The first line tells how it ended, how long it took and where it ran, for example [exited 0 · 3.2 s · ~/app]; an exit code other than 0 is a result and no error of the tool. Every call is a shell of its own: variables and the directory don't last, files do. Nobody can answer a prompt, so pass the flags that avoid one. The command ends at limit_s, at most 50 seconds, and what it left running in the background ends with the call and is named. Of long output the first third and the last two thirds are kept, with the path of a file that holds the rest.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "command": {
      "type": "string",
      "minLength": 1,
      "description": "What bash runs; several lines are fine."
    },
    "cwd": {
      "type": "string",
      "description": "Directory to run in, absolute or relative to your home. Omit it for your home."
    },
    "limit_s": {
      "type": "integer",
      "minimum": 1,
      "maximum": 50,
      "default": 50,
      "description": "Seconds after which the command is ended, 1 to 50; 50 when omitted."
    },
    "stdin": {
      "type": "string",
      "description": "Text for the command's standard input. Omit it for none."
    }
  },
  "required": ["command"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str =
        r#"{"command": "grep -rn timeout src | head", "cwd": "app", "limit_s": 20}"#;
    const OFFERED: Offered = Offered::Flag(Flag::Coding);
    const FILTER: Filter = Filter::TerminalFolded;
    const PLACE: Place = Place::Machine;
    const EXIT_CODE: bool = true;
    type Args = Args;

    async fn run(_: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        call(&args).map(Answer::OnMachine)
    }
}

fn call(args: &Args) -> Result<MachineCall, ToolError> {
    let limit_s = u64::try_from(args.limit_s).map_err(ToolError::failed)?;
    Ok(MachineCall {
        kind: Kind::Code,
        verb: "shell",
        request: CallRequest {
            arguments: to_raw_value(args)?,
            env: BTreeMap::new(),
            limit_ms: limit_s * 1_000,
            max_output_bytes: 0,
            script: None,
        },
        with_secrets: true,
        read: machine_reply::command,
        names: MachineCallNames {
            script: String::new(),
            limit_s,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_callers_or_50_s() {
        super::super::tests::check_machine_call(
            call,
            r#"{"command": "sleep 9", "limit_s": 2.0, "cwd": "app", "stdin": "x"}"#,
            (Kind::Code, "shell", 2_000),
            r#"{"command":"sleep 9","cwd":"app","limit_s":2,"stdin":"x"}"#,
        );
        super::super::tests::check_machine_call(
            call,
            r#"{"command": "ls"}"#,
            (Kind::Code, "shell", 50_000),
            r#"{"command":"ls","limit_s":50}"#,
        );
    }
}
