//! `guilds run follow`: the calls of a run as they are answered.

use std::time::Duration;

use serde_json::Value;

use super::path;
use super::timeline::{Entry, head};
use crate::api::Client;
use crate::error::{Exit, Failure};
use crate::kind::words;
use crate::{Context, Format, output};

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Looks in a row that may find the control plane away, as while it is restarted.
const MAX_MISSES: u32 = 30;
/// Messages of one look.
const PAGE: usize = 1_000;

/// Prints the calls until the run ends or the reader interrupts.
///
/// # Errors
/// As the API answers, or when the control plane stays away.
pub(super) async fn run(client: &Client, run: &str, context: &Context) -> Result<Exit, Failure> {
    tokio::select! {
        done = follow(client, run, context) => done,
        _ = tokio::signal::ctrl_c() => Ok(Exit::Done),
    }
}

async fn follow(client: &Client, run: &str, context: &Context) -> Result<Exit, Failure> {
    let path = path(run);
    let first = client.get(&path).await?;
    let created = words(&first, "created_at");
    if context.format == Format::Table {
        output::payload(&head(&first, &context.screen))?;
    }
    let mut after: Option<String> = None;
    let mut misses = 0;
    loop {
        match look(client, &path, after.as_deref()).await {
            Ok((messages, has_ended)) => {
                if misses > 0 {
                    output::note("the control plane answers again");
                    misses = 0;
                }
                for message in &messages {
                    match context.format {
                        Format::Json => output::json(message)?,
                        Format::Table => {
                            let entry = Entry::read(message, &created);
                            output::payload(&entry.line(&context.screen))?;
                        }
                    }
                }
                if let Some(last) = messages.last() {
                    after = Some(words(last, "id"));
                }
                if has_ended && messages.len() < PAGE {
                    return Ok(Exit::Done);
                }
                if messages.len() == PAGE {
                    continue;
                }
            }
            Err(failure) if failure.exit == Exit::Unreachable && misses < MAX_MISSES => {
                if misses == 0 {
                    output::note(&format!("guilds: {}; trying again", failure.message()));
                }
                misses += 1;
            }
            Err(failure) => return Err(failure),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What came since, and whether the run had ended before that was read: then
/// nothing comes after it.
async fn look(
    client: &Client,
    path: &str,
    after: Option<&str>,
) -> Result<(Vec<Value>, bool), Failure> {
    let run = client.get(path).await?;
    let has_ended = words(&run, "state") == "ended";
    let query = [("after", after)];
    let list = client
        .list(&format!("{path}/messages"), "messages", &query, PAGE)
        .await?;
    Ok((list.items, has_ended))
}
