//! Removing an object: who uses it first, then a yes, then the removal.

use clap::Args;
use serde_json::Value;

use super::Kind;
use super::read::words;
use crate::api::Client;
use crate::error::{Exit, Failure};
use crate::{Context, Format, output, prompt, text};

/// What to remove, and how sure that is.
#[derive(Debug, Args)]
pub(crate) struct Removal {
    /// Its id, as `list` names it.
    id: String,
    /// Don't ask.
    #[arg(short, long)]
    yes: bool,
    /// Only tell what would go; exit 2 when it can be removed, 1 when it can't.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

impl Removal {
    /// Removes it.
    ///
    /// # Errors
    /// When something in use blocks it, when nobody can be asked, or as the API answers.
    pub(crate) async fn run(
        &self,
        client: &Client,
        kind: &Kind,
        context: &Context,
    ) -> Result<Exit, Failure> {
        let path = kind.path_of(&self.id);
        if self.yes {
            return self.remove(client, kind, context).await;
        }
        if !self.dry_run {
            prompt::require_terminal()?;
        }
        let plan = match client.delete(&format!("{path}?dry_run=true")).await {
            Ok(plan) => plan,
            Err(failure) => return Err(kind.with_nearest(failure, &self.id, client).await),
        };
        if blocked(&plan) {
            let refusal = Failure::conflict(
                format!(
                    "{} {} can't be removed while it is in use",
                    kind.noun, self.id
                ),
                plan.get("uses"),
            );
            if self.dry_run {
                self.tell(&plan, context)?;
                return Err(refusal);
            }
            return Err(refusal.with_details(uses(&plan)));
        }
        if self.dry_run {
            self.tell(&plan, context)?;
            return Ok(Exit::Pending);
        }
        for line in uses(&plan) {
            output::note(&line);
        }
        if !prompt::confirm(&format!("remove {} {}?", kind.noun, text::line(&self.id)))? {
            return Err(Failure::conflict("nothing was removed", None));
        }
        self.remove(client, kind, context).await
    }

    async fn remove(
        &self,
        client: &Client,
        kind: &Kind,
        context: &Context,
    ) -> Result<Exit, Failure> {
        let removed = match client.delete(&kind.path_of(&self.id)).await {
            Ok(removed) => removed,
            Err(failure) => return Err(kind.with_nearest(failure, &self.id, client).await),
        };
        match context.format {
            Format::Json => output::json(&removed)?,
            Format::Table => output::payload(&format!(
                "removed {} {}\n",
                kind.noun,
                text::line(&words(&removed, "id"))
            ))?,
        }
        Ok(Exit::Done)
    }

    /// Prints what would go.
    fn tell(&self, plan: &Value, context: &Context) -> Result<(), Failure> {
        match context.format {
            Format::Json => output::json(plan),
            Format::Table => {
                let uses = uses(plan);
                if uses.is_empty() {
                    return output::payload("nothing uses it\n");
                }
                output::payload(&(uses.join("\n") + "\n"))
            }
        }
    }
}

fn blocked(plan: &Value) -> bool {
    plan.get("uses")
        .and_then(Value::as_array)
        .is_some_and(|uses| uses.iter().any(|using| using["effect"] == "blocks"))
}

/// A line for each use.
fn uses(plan: &Value) -> Vec<String> {
    plan.get("uses").map(list).unwrap_or_default()
}

fn list(uses: &Value) -> Vec<String> {
    uses.as_array()
        .into_iter()
        .flatten()
        .map(|using| {
            text::line(&format!(
                "{:<8} {} {}: {}",
                words(using, "effect"),
                words(using, "kind"),
                words(using, "id"),
                words(using, "message")
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_use_is_a_line() {
        let plan = json!({"kind": "guilds", "id": "core", "deleted": false, "uses": [
            {"kind": "agents", "id": "ada", "effect": "blocks", "message": "agent ada is in it"},
            {"kind": "bindings", "id": "guild:core:note", "effect": "removed", "message": "the binding of note goes with it"},
        ]});
        assert!(blocked(&plan));
        assert_eq!(
            uses(&plan),
            [
                "blocks   agents ada: agent ada is in it",
                "removed  bindings guild:core:note: the binding of note goes with it",
            ]
        );
    }
}
