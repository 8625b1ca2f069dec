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
    let Some(whole) = document
        .as_object()
        .filter(|document| document.get("organisation").is_some_and(Value::is_string))
    else {
        return Err(Failure::stranger(
            "its answer is no organisation's document",
        ));
    };
    match context.format {
        Format::Json => output::json(&document)?,
        Format::Table => output::payload(&document::to_toml(whole))?,
    }
    Ok(Exit::Done)
}
