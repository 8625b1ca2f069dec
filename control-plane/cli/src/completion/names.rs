//! Names that the control plane is asked for.

use std::fmt;

use serde_json::Value;

use crate::api::{Client, Role, segment};
use crate::error::Failure;
use crate::kind::words;
use crate::verbs::KINDS;

/// More names than these help nobody.
const MOST: usize = 1_000;

/// Whose names, and what stands before each.
#[derive(Debug)]
pub(super) struct Names {
    source: Source,
    prefix: String,
}

#[derive(Debug)]
enum Source {
    /// A field of a list of the operator's.
    Operator {
        plural: &'static str,
        field: &'static str,
    },
    Runs,
    /// What an agent may be offered.
    Tools {
        agent: String,
    },
    /// The names of an agent's scripts.
    Scripts {
        agent: String,
    },
    /// The agents that have a secret.
    Holders {
        secret: String,
    },
}

impl Names {
    /// The names for an argument of a verb.
    pub(super) fn of(
        argument: &str,
        path: &[&str],
        positionals: &[&str],
        options: &[(&str, &str)],
    ) -> Option<Self> {
        let operator = |plural, field| Source::Operator { plural, field };
        let source = match argument {
            "agent" if path == ["secret", "revoke"] => Source::Holders {
                secret: positionals.first()?.to_string(),
            },
            "agent" | "grant" => operator("agents", "id"),
            "guild" => operator("guilds", "id"),
            "connector" => operator("connectors", "id"),
            "collection" => operator("collections", "name"),
            "item" => operator("inbox", "id"),
            "issue" => operator("issues", "id"),
            "schedule" => operator("schedules", "schedule_id"),
            "request" => operator("secret-requests", "id"),
            "path" => operator("notes", "path"),
            "name" if path.first() == Some(&"secret") => operator("secrets", "name"),
            "run" => Source::Runs,
            "tool" | "script" => {
                let given = options.iter().find(|(name, _)| *name == "agent");
                let agent = given
                    .map(|(_, agent)| *agent)
                    .or(positionals.first().copied())?;
                let agent = agent.to_owned();
                if argument == "tool" {
                    Source::Tools { agent }
                } else {
                    Source::Scripts { agent }
                }
            }
            "id" => {
                let kind = KINDS.iter().find(|kind| path.first() == Some(&kind.noun))?;
                operator(kind.plural, kind.id_field())
            }
            _ => return None,
        };
        Some(Self {
            source,
            prefix: String::new(),
        })
    }

    /// The same, each after a prefix.
    pub(super) fn after(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// Asks for them; none when anything goes wrong.
    pub(super) async fn read(&self) -> Vec<String> {
        let names = self.ask().await.unwrap_or_default();
        names
            .into_iter()
            .filter(|name| !name.is_empty())
            .map(|name| format!("{}{name}", self.prefix))
            .collect()
    }

    async fn ask(&self) -> Result<Vec<String>, Failure> {
        match &self.source {
            Source::Operator { plural, field } => {
                let client = Client::from_environment(Role::Operator)?;
                let path = format!("/v1/operator/{plural}");
                let key = plural.replace('-', "_");
                let list = client.list(&path, &key, &[], MOST).await?;
                Ok(fields(&list.items, field))
            }
            Source::Runs => {
                let client = Client::from_environment(Role::Backend)?;
                let list = client.list("/v1/runs", "runs", &[], MOST).await?;
                Ok(fields(&list.items, "run"))
            }
            Source::Tools { agent } => {
                let client = Client::from_environment(Role::Backend)?;
                let path = format!("/v1/agents/{}/offer?kind=direct", segment(agent));
                let offer = client.get(&path).await?;
                let tools = offer.get("tools").and_then(Value::as_array);
                Ok(fields(tools.map_or(&[][..], Vec::as_slice), "name"))
            }
            Source::Holders { secret } => {
                let client = Client::from_environment(Role::Operator)?;
                let path = format!("/v1/operator/secrets/{}", segment(secret));
                let secret = client.get(&path).await?;
                let grants = secret.get("grants").and_then(Value::as_array);
                let grants = grants.into_iter().flatten();
                Ok(grants
                    .filter_map(|agent| Some(agent.as_str()?.to_owned()))
                    .collect())
            }
            Source::Scripts { agent } => {
                let client = Client::from_environment(Role::Operator)?;
                let query = [("agent", Some(agent.as_str()))];
                let list = client
                    .list("/v1/operator/scripts", "scripts", &query, MOST)
                    .await?;
                Ok(fields(&list.items, "name"))
            }
        }
    }
}

fn fields(items: &[Value], field: &str) -> Vec<String> {
    items.iter().map(|item| words(item, field)).collect()
}

impl fmt::Display for Names {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Operator { plural, field } => write!(out, "{plural}.{field}"),
            Source::Runs => out.write_str("runs.run"),
            Source::Tools { agent } => write!(out, "tools of {agent}"),
            Source::Scripts { agent } => write!(out, "scripts of {agent}"),
            Source::Holders { secret } => write!(out, "holders of {secret}"),
        }
    }
}
