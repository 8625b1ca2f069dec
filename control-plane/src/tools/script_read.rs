//! `script_read`: one stored script with its source.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, Cx, Family, Filter, Flag, Offered, Place, Tool, ToolError, script_name};
use crate::store::scripts;

pub(super) struct ScriptRead;

#[derive(Deserialize)]
pub(super) struct Args {
    name: String,
}

#[derive(Serialize)]
struct Read {
    name: String,
    description: String,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Box<RawValue>>,
}

impl Tool for ScriptRead {
    const NAME: &'static str = "script_read";
    const DESCRIPTION: &'static str = "Reads one of your scripts as it is stored: description, whole Python source, and the JSON Schema of its arguments where it has one. Read it before you change it with script_create.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "name": {
      "type": "string",
      "description": "Name of the script, as script_list gives it."
    }
  },
  "required": ["name"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"name": "count-words"}"#;
    const OFFERED: Offered = Offered::FlagAndBinding(Flag::Scripting, Family::Script);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Reading;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        script_name::known_form(&args.name)?;
        let script = scripts::find(cx.db, &cx.caller.agent, &args.name)
            .await?
            .ok_or_else(|| script_name::unknown(&args.name))?;
        Ok(Answer::Text(serde_json::to_string(&Read {
            name: script.name,
            description: script.description,
            source: script.source,
            parameters: script.parameters,
        })?))
    }
}
