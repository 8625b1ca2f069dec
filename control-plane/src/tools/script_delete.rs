//! `script_delete`: remove a script from storage, from this run and from the machine.

use serde::{Deserialize, Serialize};

use super::{
    AfterCommit, Answer, Cx, Family, Filter, Flag, Offered, Place, Tool, ToolError, script_name,
};
use crate::store::scripts;

pub(super) struct ScriptDelete;

#[derive(Deserialize)]
pub(super) struct Args {
    name: String,
}

#[derive(Serialize)]
struct Deleted<'a> {
    name: &'a str,
    deleted: bool,
}

impl Tool for ScriptDelete {
    const NAME: &'static str = "script_delete";
    const DESCRIPTION: &'static str = "Deletes one of your scripts for good: what is stored, its file in your home, and its name in this run. It makes room when you hold as many scripts as you may.";
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
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        script_name::known_form(&args.name)?;
        let (agent, run) = (&cx.caller.agent, cx.caller.run);
        scripts::hold(cx.db, agent, &args.name).await?;
        if !scripts::delete(cx.db, agent, run, &args.name).await? {
            return Err(script_name::unknown(&args.name));
        }
        let text = serde_json::to_string(&Deleted {
            name: &args.name,
            deleted: true,
        })?;
        Ok(Answer::TextThen(
            text,
            AfterCommit::DeleteScript { name: args.name },
        ))
    }
}
