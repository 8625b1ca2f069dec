//! `guilds login`: who an organisation, a guild or an agent is at a connector.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::apply;
use crate::api::{Client, Role as Token};
use crate::document;
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Usual, ago, text, words};
use crate::screen::Tone;
use crate::table::{Cell, Role};
use crate::{Context, prompt};

pub(super) const KIND: Kind = Kind {
    plural: "logins",
    noun: "login",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "id")),
        Column::new("STATUS", Role::Word, |object, _| status(object)),
        Column::new("KEY", Role::Word, |object, _| text(object, "key")),
        Column::new("PLATFORM", Role::Word, |object, _| text(object, "platform")),
        Column::new("UPDATED", Role::Word, |object, screen| {
            ago(object, "updated_at", screen)
        }),
    ],
};

/// What to do with logins.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    #[command(flatten)]
    Usual(Usual),
    /// Make a login, or change one. A key comes from a file or stdin, never from the command line.
    Set(Set),
}

#[derive(Debug, Args)]
struct Set {
    /// The connector's id.
    connector: String,
    #[command(flatten)]
    level: Level,
    /// A file with the key; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Its state.
    #[arg(long, value_name = "STATUS", value_parser = ["pending", "connected", "disconnected"])]
    status: Option<String>,
    /// Served by a platform key.
    #[arg(long, value_name = "true|false")]
    platform: Option<bool>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Level {
    /// For the whole organisation.
    #[arg(long)]
    organisation: bool,
    /// For one guild.
    #[arg(long, value_name = "GUILD")]
    guild: Option<String>,
    /// For one agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let set = match &arguments.what {
        What::Usual(usual) => return usual.run(&KIND, context).await,
        What::Set(set) => set,
    };
    let client = Client::from_environment(Token::Operator)?;
    let mut login = Map::new();
    login.insert("connector".to_owned(), json!(set.connector));
    let Level {
        organisation,
        guild,
        agent,
    } = &set.level;
    if *organisation {
        login.insert("organisation".to_owned(), json!(true));
    }
    for (level, owner) in [("guild", guild), ("agent", agent)] {
        if let Some(owner) = owner {
            login.insert(level.to_owned(), json!(owner));
        }
    }
    if let Some(file) = &set.key_file {
        let key = prompt::value(Some(file), "the key")?;
        login.insert("key".to_owned(), json!(key));
    }
    if let Some(status) = &set.status {
        login.insert("status".to_owned(), json!(status));
    }
    if let Some(platform) = set.platform {
        login.insert("platform".to_owned(), json!(platform));
    }
    let body = json!({"logins": [Value::Object(login)]});
    let answer = document::send(&client, &body, false)
        .await
        .map_err(Failure::told_by_field)?;
    apply::print(&answer, false, context)?;
    Ok(Exit::Done)
}

fn status(login: &Value) -> Cell {
    let status = words(login, "status");
    let tone = match status.as_str() {
        "connected" => Tone::Good,
        "disconnected" => Tone::Bad,
        _ => Tone::Plain,
    };
    Cell::toned(&status, tone)
}
