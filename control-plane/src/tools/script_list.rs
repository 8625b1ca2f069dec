//! `script_list`: the agent's stored scripts and why each exists.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, Cx, Family, Filter, Flag, Offered, Place, Tool, ToolError};
use crate::store::scripts;

pub(super) struct ScriptList;

#[derive(Deserialize)]
pub(super) struct Args {}

#[derive(Serialize)]
struct Scripts {
    scripts: Vec<Listed>,
}

#[derive(Serialize)]
struct Listed {
    name: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Box<RawValue>>,
}

impl Tool for ScriptList {
    const NAME: &'static str = "script_list";
    const DESCRIPTION: &'static str = "Lists your scripts with the description of each and the JSON Schema of its arguments where it has one. Look here before you write a new one.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {},
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = "{}";
    const OFFERED: Offered = Offered::FlagAndBinding(Flag::Scripting, Family::Script);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Reading;
    type Args = Args;

    async fn run(cx: Cx<'_>, _: Args) -> Result<Answer, ToolError> {
        let scripts = scripts::all(cx.db, &cx.caller.agent).await?;
        let scripts = scripts
            .into_iter()
            .map(|script| Listed {
                name: script.name,
                description: script.description,
                parameters: script.parameters,
            })
            .collect();
        Ok(Answer::Text(serde_json::to_string(&Scripts { scripts })?))
    }
}
