//! `guilds secret`: secrets by name, who has them, and the requests for them. Values go in and never come out.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::apply;
use crate::api::{Client, PATIENCE, Role as Token, segment};
use crate::document;
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Limit, Usual, ago, text, words};
use crate::table::Role;
use crate::{Context, Format, output, prompt, text as shown};

pub(super) const KIND: Kind = Kind {
    plural: "secrets",
    noun: "secret",
    columns: &[
        Column::new("NAME", Role::Id, |object, _| text(object, "name")),
        Column::new("GRANTS", Role::Text, |object, _| text(object, "grants")),
        Column::new("UPDATED", Role::Word, |object, screen| {
            ago(object, "updated_at", screen)
        }),
        Column::new("USED", Role::Word, |object, screen| {
            ago(object, "last_used_at", screen)
        }),
        Column::new("STORED BY", Role::Word, |object, _| {
            text(object, "stored_by")
        }),
        Column::new("DESCRIPTION", Role::Text, |object, _| {
            text(object, "description")
        }),
    ],
};

pub(super) const REQUESTS: Kind = Kind {
    plural: "secret-requests",
    noun: "secret request",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "id")),
        Column::new("NAME", Role::Word, |object, _| text(object, "name")),
        Column::new("AGENT", Role::Word, |object, _| text(object, "agent")),
        Column::new("STATUS", Role::Word, |object, _| text(object, "status")),
        Column::new("ASKED", Role::Word, |object, screen| {
            ago(object, "created_at", screen)
        }),
        Column::new("REASON", Role::Text, |object, _| text(object, "reason")),
    ],
};

/// What to do with secrets.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    #[command(flatten)]
    Usual(Usual),
    /// Store a value, from stdin, a file, or typed unseen; never from the command line.
    Set {
        /// The secret's name.
        name: String,
        /// Give it to this agent; can stand several times, and replaces who had it before.
        #[arg(long, value_name = "AGENT")]
        grant: Vec<String>,
        /// What it is for.
        #[arg(long)]
        description: Option<String>,
        /// A file with the value; `-` is stdin.
        #[arg(long)]
        file: Option<PathBuf>,
    },
    /// Give a secret to an agent.
    Grant {
        /// The secret's name.
        name: String,
        /// Who gets it.
        agent: String,
    },
    /// Take a secret from an agent.
    Revoke {
        /// The secret's name.
        name: String,
        /// Who has it.
        agent: String,
    },
    /// List the agents' requests for secrets.
    Requests {
        /// With this status only.
        #[arg(long, value_parser = ["pending", "fulfilled", "denied"])]
        status: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Answer a request with a value, from stdin, a file, or typed unseen.
    Fulfil {
        /// The request's id.
        request: String,
        /// A file with the value; `-` is stdin.
        #[arg(long)]
        file: Option<PathBuf>,
        /// Give the secret of that name which is stored already.
        #[arg(long, conflicts_with = "file")]
        grant_existing: bool,
    },
    /// Refuse a request.
    Deny {
        /// The request's id.
        request: String,
        /// What the agent is told.
        #[arg(long)]
        reason: String,
    },
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = || Client::from_environment(Token::Operator);
    match &arguments.what {
        What::Usual(usual) => usual.run(&KIND, context).await,
        What::Set {
            name,
            grant,
            description,
            file,
        } => {
            let client = client()?;
            let value = prompt::value(file.as_deref(), &format!("the value of {name}"))?;
            let mut secret = Map::new();
            secret.insert("name".to_owned(), json!(name));
            secret.insert("value".to_owned(), json!(value));
            if let Some(description) = description {
                secret.insert("description".to_owned(), json!(description));
            }
            if !grant.is_empty() {
                secret.insert("grants".to_owned(), json!(grant));
            }
            store(&client, secret, context).await
        }
        What::Grant { name, agent } => {
            let answer = client()?.put(&grant_path(name, agent)).await?;
            apply::print(&answer, false, context)?;
            Ok(Exit::Done)
        }
        What::Revoke { name, agent } => {
            let answer = client()?.delete(&grant_path(name, agent)).await?;
            if !apply::pending(&apply::changes(&answer)?) {
                return Err(Failure::not_found(format!(
                    "the agent {agent} doesn't have the secret {name}"
                )));
            }
            apply::print(&answer, false, context)?;
            Ok(Exit::Done)
        }
        What::Requests { status, limit } => {
            let query = [("status", status.as_deref())];
            REQUESTS.list(&client()?, &query, limit, context).await
        }
        What::Fulfil {
            request,
            file,
            grant_existing,
        } => {
            let client = client()?;
            let body = if *grant_existing {
                json!({"grant_existing": true})
            } else {
                json!({"value": prompt::value(file.as_deref(), "the value")?})
            };
            answer(&client, request, "fulfil", &body, context).await
        }
        What::Deny { request, reason } => {
            answer(
                &client()?,
                request,
                "deny",
                &json!({"reason": reason}),
                context,
            )
            .await
        }
    }
}

/// Applies a document with one secret.
async fn store(
    client: &Client,
    secret: Map<String, Value>,
    context: &Context,
) -> Result<Exit, Failure> {
    let body = json!({"secrets": [Value::Object(secret)]});
    let answer = document::send(client, &body, false)
        .await
        .map_err(Failure::told_by_field)?;
    apply::print(&answer, false, context)?;
    Ok(Exit::Done)
}

/// One grant of a secret.
fn grant_path(name: &str, agent: &str) -> String {
    format!("{}/grants/{}", KIND.path_of(name), segment(agent))
}

async fn answer(
    client: &Client,
    request: &str,
    verb: &str,
    body: &Value,
    context: &Context,
) -> Result<Exit, Failure> {
    let path = format!("{}/{}/{verb}", REQUESTS.path(), segment(request));
    let answered = client.post(&path, body, PATIENCE).await?;
    match context.format {
        Format::Json => output::json(&answered)?,
        Format::Table => output::payload(&format!(
            "{} request {} of {} for {}\n",
            words(&answered, "status"),
            shown::line(&words(&answered, "id")),
            shown::line(&words(&answered, "agent")),
            shown::line(&words(&answered, "name")),
        ))?,
    }
    Ok(Exit::Done)
}
