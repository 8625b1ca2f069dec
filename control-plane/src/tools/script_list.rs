//! `script_list`: the agent's stored scripts and why each exists.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::listing::{cut, whole};
use super::{Answer, Cx, Family, Filter, Flag, Offered, Place, Tool, ToolError};
use crate::store::scripts;

pub(super) struct ScriptList;

#[derive(Deserialize)]
pub(super) struct Args {}

/// Stands for a schema that has no room in the list.
const NO_ROOM: &str = r#"{"$comment":"left out of this list; script_read has it"}"#;

#[derive(Clone, Serialize)]
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
        let scripts: Vec<Listed> = scripts
            .into_iter()
            .map(|script| Listed {
                name: script.name,
                description: cx.words.redact(&script.description),
                parameters: script.parameters,
            })
            .collect();
        let text = whole("scripts", &scripts, cx.cap_bytes, Listed::shorter)?;
        Ok(Answer::Text(text))
    }
}

impl Listed {
    /// The same with so much room: bytes of its schema, characters of its description.
    fn shorter(&self, room: usize) -> Self {
        let parameters = self.parameters.clone().map(|schema| {
            if schema.get().len() <= room.max(NO_ROOM.len()) {
                return schema;
            }
            RawValue::from_string(NO_ROOM.to_owned()).unwrap_or_default()
        });
        Self {
            name: self.name.clone(),
            description: cut(&self.description, room),
            parameters,
        }
    }
}
