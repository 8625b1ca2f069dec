//! `guilds export`: the organisation as a document that `guilds apply` reads back.

use clap::Args;
use serde_json::Value;

use crate::api::{Client, Role};
use crate::document;
use crate::error::{Exit, Failure};
use crate::{Context, Format, output, progress};

/// Nothing to choose: the whole organisation.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

/// Prints the document: TOML, or with `-o json` the API's.
pub(super) async fn run(_: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let client = Client::from_environment(Role::Operator)?;
    let export = client.get("/v1/operator/export");
    let document = progress::watch("reading the organisation", export).await?;
    match (context.format, &document) {
        (Format::Json, _) => output::json(&document)?,
        (Format::Table, Value::Object(document)) => {
            output::payload(&document::to_toml(document))?;
        }
        (Format::Table, _) => return Err(Failure::local("the answer is no document")),
    }
    Ok(Exit::Done)
}
