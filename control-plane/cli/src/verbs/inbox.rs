//! `guilds inbox`: what waits for an operator: open issues and requests for secrets.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::secret;
use crate::api::{Client, Role as Token};
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Limit, ago, print_one, text, words};
use crate::screen::{Screen, Tone};
use crate::table::{Cell, Role};
use crate::{Context, Format, output, text as shown};

pub(super) const KIND: Kind = Kind {
    plural: "inbox",
    noun: "item",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "id")),
        Column::new("WHAT", Role::Word, |object, _| what(object)),
        Column::new("SUMMARY", Role::Text, |object, _| summary(object)),
        Column::new("WHEN", Role::Word, when),
        Column::new("FROM", Role::Word, |object, _| from(object)),
    ],
};

const ISSUES: Kind = Kind {
    plural: "issues",
    noun: "issue",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "id")),
        Column::new("STATUS", Role::Word, |object, _| text(object, "status")),
        Column::new("SEVERITY", Role::Word, |object, _| text(object, "severity")),
        Column::new("SUMMARY", Role::Text, |object, _| summary(object)),
        Column::new("LAST", Role::Word, when),
        Column::new("GUILD", Role::Word, |object, _| text(object, "guild")),
        Column::new("TOOL", Role::Word, |object, _| text(object, "tool_name")),
    ],
};

/// What to do with the inbox; without anything it is listed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List what waits, the newest first.
    List(Limit),
    /// List issues, the resolved ones too.
    Issues {
        /// Of this guild only.
        #[arg(long)]
        guild: Option<String>,
        /// With this status only.
        #[arg(long, value_parser = ["open", "resolved"])]
        status: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show an issue with its reports, or a request.
    Show {
        /// Its id in the list.
        item: String,
    },
    /// Close an issue; a new report of it opens it again.
    Resolve {
        /// The issue's number.
        issue: String,
    },
    /// Open an issue again.
    Reopen {
        /// The issue's number.
        issue: String,
    },
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Token::Operator)?;
    match &arguments.what {
        None => KIND.list(&client, &[], &Limit::default(), context).await,
        Some(What::List(limit)) => KIND.list(&client, &[], limit, context).await,
        Some(What::Issues {
            guild,
            status,
            limit,
        }) => {
            let query = [("guild", guild.as_deref()), ("status", status.as_deref())];
            ISSUES.list(&client, &query, limit, context).await
        }
        Some(What::Show { item }) => show(&client, item, context).await,
        Some(What::Resolve { issue }) => set(&client, issue, "resolved", context).await,
        Some(What::Reopen { issue }) => set(&client, issue, "open", context).await,
    }
}

async fn show(client: &Client, item: &str, context: &Context) -> Result<Exit, Failure> {
    let object = match client.get(&ISSUES.path_of(item)).await {
        Err(failure) if failure.exit == Exit::NotFound => client
            .get(&secret::REQUESTS.path_of(item))
            .await
            .map_err(|_| Failure::not_found(format!("no issue or secret request {item}")))?,
        other => other?,
    };
    print_one(&object, context)?;
    Ok(Exit::Done)
}

async fn set(
    client: &Client,
    issue: &str,
    status: &str,
    context: &Context,
) -> Result<Exit, Failure> {
    let answer = client
        .patch(&ISSUES.path_of(issue), &json!({"status": status}))
        .await?;
    match context.format {
        Format::Json => output::json(&answer)?,
        Format::Table => output::payload(&format!(
            "{} issue {}: {}\n",
            words(&answer, "status"),
            shown::line(&words(&answer, "id")),
            shown::line(&words(&answer, "summary")),
        ))?,
    }
    Ok(Exit::Done)
}

/// An issue by its severity, or a request.
fn what(item: &Value) -> Cell {
    if words(item, "type") == "secret_request" {
        return Cell::new("secret");
    }
    let severity = words(item, "severity");
    let tone = if severity == "high" {
        Tone::Bad
    } else {
        Tone::Plain
    };
    Cell::toned(&format!("issue, {severity}"), tone)
}

fn when(item: &Value, screen: &Screen) -> Cell {
    let key = if item.get("last_at").is_some() {
        "last_at"
    } else {
        "created_at"
    };
    ago(item, key, screen)
}

/// The agent that asks, or the guild whose agents report.
fn from(item: &Value) -> Cell {
    let agent = words(item, "agent");
    if agent.is_empty() {
        text(item, "guild")
    } else {
        Cell::new(&agent)
    }
}

fn summary(item: &Value) -> Cell {
    if words(item, "type") == "secret_request" {
        return Cell::new(&format!(
            "{}: {}",
            words(item, "name"),
            words(item, "reason")
        ));
    }
    let reports = words(item, "reports");
    let summary = words(item, "summary");
    Cell::new(&match reports.as_str() {
        "" | "1" => summary,
        count => format!("{summary} ({count} reports)"),
    })
}
