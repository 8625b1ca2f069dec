//! `script_create`: store a Python script, new or in place of the one of its name.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::validation::storable;
use super::{
    Answer, Cx, Family, Filter, Flag, Offered, Place, Tool, ToolError, script_name,
    script_parameters,
};
use crate::store::logins;
use crate::store::scripts::{self, Script};

/// Most characters of a description.
const MAX_DESCRIPTION: usize = 400;
/// Most bytes of a source: 256 KiB.
const MAX_SOURCE: usize = 262_144;

pub(super) struct ScriptCreate;

#[derive(Deserialize)]
pub(super) struct Args {
    name: String,
    description: String,
    source: String,
    parameters: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Created {
    name: String,
    created: bool,
    runs_from: &'static str,
}

impl Tool for ScriptCreate {
    const NAME: &'static str = "script_create";
    const DESCRIPTION: &'static str = "Stores a Python 3 script of yours for script_run, new or in place of the one of that name. Write one for work that you will do again or that needs exact steps. It runs in your home on your own machine, reads its arguments as one JSON object from standard input and answers with what it prints, within 120 seconds. A new name can run at once; a replaced one runs as it was until the next run. With parameters it is also offered as a tool under its own name, from the next run.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "name": {
      "type": "string",
      "description": "Name without .py: a lower-case letter, then lower-case letters, digits, _ or -, at most 63 characters; no tool's name."
    },
    "description": {
      "type": "string",
      "description": "Why the script exists and what it answers, at most 400 characters; with parameters it is what the tool's reader sees."
    },
    "source": {
      "type": "string",
      "description": "The whole Python source, at most 256 KiB."
    },
    "parameters": {
      "type": "object",
      "description": "JSON Schema of the arguments, with \"type\": \"object\". Omit it when the script takes none or should not be a tool of its own."
    }
  },
  "required": ["name", "description", "source"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"name": "count-words", "description": "Counts the words of a text", "source": "import json, sys\nprint(len(json.load(sys.stdin)['text'].split()))", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}"#;
    const OFFERED: Offered = Offered::FlagAndBinding(Flag::Scripting, Family::Script);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let agent = &cx.caller.agent;
        let of_connectors = logins::tool_names(cx.db, agent).await?;
        let script = script(args, &of_connectors)?;
        let (others, replaces) = scripts::hold(cx.db, agent, &script.name).await?;
        let most = agent.config.max_scripts;
        if !replaces && others >= i64::from(most) {
            return Err(ToolError::invalid(format!(
                "you hold {others} scripts and may hold {most}; replace one under its name, or remove one with script_delete first"
            )));
        }
        scripts::put(cx.db, agent, &script).await?;
        // A run goes on with what it started with: only a name that is new to
        // the agent and to the run joins it.
        let joins = !replaces && scripts::join_run(cx.db, cx.caller.run, &script).await?;
        Ok(Answer::Text(serde_json::to_string(&Created {
            name: script.name,
            created: !replaces,
            runs_from: if joins { "now" } else { "next run" },
        })?))
    }
}

/// Checks all there is to check without what is stored, every problem at once.
fn script(args: Args, of_connectors: &[String]) -> Result<Script, ToolError> {
    let mut problems = Vec::new();
    let mut note = |checked: Result<(), ToolError>| {
        if let Err(error) = checked {
            problems.push(error.to_string().trim_start_matches("422 ").to_owned());
        }
    };
    note(script_name::check(&args.name));
    note(script_name::check_connectors(&args.name, of_connectors));
    note(check_description(&args.description));
    note(check_source(&args.source));
    if let Some(parameters) = &args.parameters {
        note(script_parameters::check(parameters));
    }
    if !problems.is_empty() {
        return Err(ToolError::invalid(problems.join("; ")));
    }
    let source = storable(args.source);
    Ok(Script {
        name: args.name,
        description: storable(args.description),
        sha256: hex(ring::digest::digest(&ring::digest::SHA256, source.as_bytes()).as_ref()),
        source,
        parameters: args.parameters,
    })
}

fn check_description(description: &str) -> Result<(), ToolError> {
    let characters = description.chars().count();
    if characters > MAX_DESCRIPTION {
        return Err(ToolError::invalid(format!(
            "description has {characters} characters, at most {MAX_DESCRIPTION} are allowed"
        )));
    }
    if description.trim().is_empty() {
        return Err(ToolError::invalid("description is empty"));
    }
    Ok(())
}

fn check_source(source: &str) -> Result<(), ToolError> {
    if source.len() > MAX_SOURCE {
        return Err(ToolError::invalid(format!(
            "source has {} bytes, at most 256 KiB are allowed",
            source.len()
        )));
    }
    if source.trim().is_empty() {
        return Err(ToolError::invalid("source is empty"));
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(name: &str, description: &str, source: &str, parameters: Option<&str>) -> Args {
        Args {
            name: name.to_owned(),
            description: description.to_owned(),
            source: source.to_owned(),
            parameters: parameters.map(|text| RawValue::from_string(text.to_owned()).unwrap()),
        }
    }

    #[track_caller]
    fn refused(args: Args, expected: &str) {
        assert_eq!(script(args, &[]).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_script_carries_the_hash_of_its_source() {
        let made = script(args("a", "d", "abc", None), &[]).unwrap();
        assert_eq!(
            made.sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn lengths_are_held() {
        assert!(script(args("a", &"é".repeat(400), "s", None), &[]).is_ok());
        refused(
            args("a", &"a".repeat(401), "s", None),
            "422 description has 401 characters, at most 400 are allowed",
        );
        assert!(script(args("a", "d", &"a".repeat(262_144), None), &[]).is_ok());
        refused(
            args("a", "d", &"a".repeat(262_145), None),
            "422 source has 262145 bytes, at most 256 KiB are allowed",
        );
    }

    #[test]
    fn every_problem_is_told_at_once() {
        refused(
            args("manifest", " ", "", Some(r#"{"type":"array"}"#)),
            "422 the name manifest is reserved; choose another; description is empty; source is empty; parameters must describe an object: give them \"type\": \"object\" and the keys in \"properties\"",
        );
    }
}
