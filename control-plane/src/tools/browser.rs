//! What the browser tools share: one call of `guilds-browser`, whose verbs are their names without `browser_`.

use std::collections::BTreeMap;

use machine_agent_api::{CallRequest, Kind};
use serde::Serialize;
use serde_json::value::to_raw_value;

use super::{MachineCall, MachineCallNames, ToolError, machine_reply};

/// Seconds a browser call may take, from the helper's start (the specification's Browser page).
const LIMIT_S: u64 = 60;

/// A call of that verb, with the arguments as they are.
///
/// # Errors
/// When the arguments can't be written as JSON.
pub(super) fn call(verb: &'static str, args: &impl Serialize) -> Result<MachineCall, ToolError> {
    Ok(MachineCall {
        kind: Kind::Browser,
        verb,
        request: CallRequest {
            arguments: to_raw_value(args)?,
            env: BTreeMap::new(),
            limit_ms: LIMIT_S * 1_000,
            max_output_bytes: 0,
            script: None,
        },
        with_secrets: false,
        read: machine_reply::page,
        names: MachineCallNames {
            script: String::new(),
            limit_s: LIMIT_S,
        },
    })
}
