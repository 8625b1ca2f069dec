//! `script_run`: run a script of the run's snapshot on the agent's machine.

use std::collections::BTreeMap;

use machine_agent_api::{CallRequest, Kind};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::validation::validate;
use super::{
    Answer, Cx, Family, Filter, Flag, MachineCall, MachineCallNames, Offered, Place, Tool,
    ToolError, machine_reply, script_name,
};
use crate::store::scripts::{self, Script};

/// Seconds a script runs.
const LIMIT_S: u64 = 120;

pub(super) struct ScriptRun;

#[derive(Deserialize)]
pub(super) struct Args {
    name: String,
    arguments: Option<Box<RawValue>>,
}

impl Tool for ScriptRun {
    const NAME: &'static str = "script_run";
    const DESCRIPTION: &'static str = "Runs one of your Python scripts in your home on your own machine and answers with what it printed; error output follows under a line [stderr], and an exit code other than 0 ends the answer as [exit n]. The script reads its arguments as JSON from standard input. It is ended after 120 seconds, and then you get what it had printed. What you replaced with script_create in this run runs as it was until the next one.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "name": {
      "type": "string",
      "description": "Name of the script, as script_list gives it."
    },
    "arguments": {
      "type": "object",
      "description": "What the script reads from standard input; it fits the script's parameters where it has them. Omit it for {}."
    }
  },
  "required": ["name"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str =
        r#"{"name": "count-words", "arguments": {"text": "one two three"}}"#;
    const OFFERED: Offered = Offered::FlagAndBinding(Flag::Scripting, Family::Script);
    const FILTER: Filter = Filter::Terminal;
    const PLACE: Place = Place::Machine;
    const EXIT_CODE: bool = true;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        script_name::known_form(&args.name)?;
        let held = scripts::find_in_run(cx.db, cx.caller.run, &args.name)
            .await?
            .ok_or_else(|| script_name::unknown(&args.name))?;
        let arguments = match args.arguments {
            Some(arguments) => arguments,
            None => RawValue::from_string("{}".to_owned())?,
        };
        if let Some(parameters) = &held.script.parameters {
            validate(parameters.get(), &arguments).map_err(|problems| {
                ToolError::invalid(format!("script {}: {problems}", held.script.name))
            })?;
        }
        Ok(Answer::OnMachine(script_call(&held.script, &arguments)))
    }
}

/// The call that runs a script, under `script_run` and under its own name.
#[must_use]
pub fn script_call(script: &Script, arguments: &RawValue) -> MachineCall {
    MachineCall {
        kind: Kind::ScriptRun,
        verb: "run",
        request: CallRequest {
            arguments: arguments.to_owned(),
            env: BTreeMap::new(),
            limit_ms: LIMIT_S * 1_000,
            max_output_bytes: 0,
            script: Some(machine_agent_api::Script {
                name: script.name.clone(),
                sha256: script.sha256.clone(),
                source: script.source.clone(),
            }),
        },
        with_secrets: true,
        read: machine_reply::command,
        names: MachineCallNames {
            script: script.name.clone(),
            limit_s: LIMIT_S,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_carries_source_hash_and_arguments() {
        let script = Script {
            name: "count".to_owned(),
            description: "Counts".to_owned(),
            source: "print(1)".to_owned(),
            sha256: "00ff".to_owned(),
            parameters: None,
        };
        let arguments = RawValue::from_string(r#"{"b":1.50,"a":2}"#.to_owned()).unwrap();
        let call = script_call(&script, &arguments);
        assert_eq!((call.kind, call.verb), (Kind::ScriptRun, "run"));
        assert_eq!(call.names.script, "count");
        assert_eq!(
            serde_json::to_string(&call.request).unwrap(),
            r#"{"arguments":{"b":1.50,"a":2},"env":{},"limit_ms":120000,"max_output_bytes":0,"script":{"name":"count","sha256":"00ff","source":"print(1)"}}"#
        );
    }
}
