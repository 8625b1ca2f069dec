//! `secret_request`: ask the operator for a secret.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::validation::storable;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::events::{Event, What};
use crate::store::secret_requests::{self, NewRequest};
use crate::store::secrets::{self, names};

/// Most characters of a reason.
const MAX_REASON: usize = 2_000;
/// Most requests of one agent that wait for an answer.
const MOST_PENDING: i64 = 20;

pub(super) struct SecretRequest;

#[derive(Deserialize)]
pub(super) struct Args {
    name: String,
    reason: String,
}

#[derive(Serialize)]
struct Requested {
    request: Uuid,
    status: &'static str,
}

impl Requested {
    fn text(request: Uuid) -> Result<String, ToolError> {
        Ok(serde_json::to_string(&Self {
            request,
            status: "pending",
        })?)
    }
}

impl Tool for SecretRequest {
    const NAME: &'static str = "secret_request";
    const DESCRIPTION: &'static str = "Asks the operator for a secret that your work needs, such as a key or a password. The operator reads your reason, and gives the value or refuses; you never see it. It may take a while: go on with what doesn't need it. Once it is granted, your commands and scripts find it in the environment variable of that name. Asking again for what waits for an answer gives the same request. Never ask anybody to write a secret into the chat.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "name": {
      "type": "string",
      "description": "Name of the secret and of its environment variable: a capital letter, then capital letters, digits and underscores, at most 64 characters."
    },
    "reason": {
      "type": "string",
      "description": "What you need it for and what it has to allow, at most 2000 characters."
    }
  },
  "required": ["name", "reason"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"name": "SHOP_API_KEY", "reason": "To read the orders of the shop's test account every morning; reading is enough."}"#;
    const OFFERED: Offered = Offered::Binding(Family::Secret);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        check(&args)?;
        let caller = cx.caller;
        let agent = &caller.agent;
        let waiting = secret_requests::hold_pending_of(cx.db, &agent.id).await?;
        if let Some((id, _)) = waiting.iter().find(|(_, name)| *name == args.name) {
            return Requested::text(*id).map(Answer::Text);
        }
        if secrets::granted(cx.db, &agent.id).await?.contains(&args.name) {
            return Err(ToolError::invalid(format!(
                "you have the secret {0} already: commands and scripts find it in the environment variable {0}; should its value be wrong, tell with report_issue",
                args.name
            )));
        }
        if i64::try_from(waiting.len()).unwrap_or(i64::MAX) >= MOST_PENDING {
            return Err(ToolError::invalid(format!(
                "{} of your requests wait for an answer, and no more than {MOST_PENDING} may",
                waiting.len()
            )));
        }
        // Operators read it, so it is redacted before it is stored.
        let reason = cx.words.redact(&storable(args.reason.trim().to_owned()));
        let request = secret_requests::insert(
            cx.db,
            &NewRequest {
                agent,
                run: caller.run,
                call_id: &caller.call_id,
                name: &args.name,
                reason: &reason,
            },
        )
        .await?;
        let event = Event {
            organisation: agent.organisation.clone(),
            guild: Some(agent.guild.clone()),
            agent: Some(agent.id.clone()),
            what: What::SecretRequest {
                request,
                name: args.name,
                reason,
                run: caller.run,
                call_id: caller.call_id.clone(),
            },
        };
        Ok(Answer::TextAndEvent(
            Requested::text(request)?,
            Box::new(event),
        ))
    }
}

/// Refuses what the schema can't say, all of it at once.
fn check(args: &Args) -> Result<(), ToolError> {
    let mut problems = Vec::new();
    if let Err(what) = names::check(&args.name) {
        // What is no name is not repeated: it may be a value in the wrong place.
        problems.push(format!("name {what}"));
    }
    if args.reason.trim().is_empty() {
        problems.push("reason is empty".to_owned());
    }
    let characters = args.reason.chars().count();
    if characters > MAX_REASON {
        problems.push(format!(
            "reason has {characters} characters, at most {MAX_REASON} are allowed"
        ));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(ToolError::invalid(problems.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_args(name: &str, reason: &str, expected: Option<&str>) {
        let args = Args {
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        let found = check(&args).err().map(|error| error.to_string());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn a_name_and_a_reason_are_needed() {
        check_args("PAY_KEY", &"é".repeat(2_000), None);
        check_args(
            "PAY_KEY",
            &"a".repeat(2_001),
            Some("422 reason has 2001 characters, at most 2000 are allowed"),
        );
        check_args(
            "pay",
            " ",
            Some(
                "422 name is no name of a secret; allowed is ^[A-Z][A-Z0-9_]{0,63}$, such as STRIPE_KEY; reason is empty",
            ),
        );
    }
}
