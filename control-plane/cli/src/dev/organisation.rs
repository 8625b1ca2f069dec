//! The organisation of a stack: the demonstration's at first, then whatever its operator makes of it.

use serde_json::{Value, json};

use super::say;
use super::state::State;
use crate::api::Client;
use crate::document::{self, Document};
use crate::error::Failure;

/// The organisation that is shown.
const DEMO: &str = include_str!("../../../../packaging/demo/demo.toml");
/// The machine's address in it, which is that of the default port.
const DEMO_ADDRESS: &str = "https://127.0.0.1:8443";
/// The machine's id in it.
const MACHINE: &str = "local";
/// Its file, for whoever wants to change it.
const FILE: &str = "demo.toml";

/// Makes the demonstration's organisation where there is none yet. One that is
/// there is its operator's: only the machine's address follows the port.
///
/// # Errors
/// When there is no organisation and the demonstration's is refused, or the
/// control plane doesn't answer.
pub(super) async fn prepare(state: &State, client: &Client, port: u16) -> Result<(), Failure> {
    let address = format!("https://127.0.0.1:{port}");
    let stored = client.get("/v1/operator/export").await?;
    let is_empty = list(&stored, "guilds").next().is_none();
    if is_empty || !state.path(FILE).exists() {
        let applied = demonstration(state, client, &address).await;
        return match applied {
            Err(failure) if !is_empty => {
                say(&told("the demonstration's organisation", &failure));
                Ok(())
            }
            Err(failure) => Err(Failure::local(told(
                "the demonstration's organisation",
                &failure,
            ))),
            Ok(()) => Ok(()),
        };
    }
    let machine = list(&stored, "machines").find(|machine| machine["id"] == MACHINE);
    if machine.is_some_and(|machine| machine["address"] != address.as_str()) {
        let body = json!({"machines": [{"id": MACHINE, "address": address}]});
        if let Err(failure) = document::send(client, &body, false).await {
            say(&told("the machine's new address", &failure));
        }
    }
    Ok(())
}

/// Applies the demonstration's document with this stack's address in it, and keeps it.
async fn demonstration(state: &State, client: &Client, address: &str) -> Result<(), Failure> {
    let text = DEMO.replace(DEMO_ADDRESS, address);
    state.write_private(FILE, &text)?;
    let document = Document::of_text(FILE, &text)?;
    document.send(client, false).await.map(|_| ())
}

fn list<'a>(document: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    document
        .get(kind)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// A refusal in one line, with every problem.
fn told(what: &str, failure: &Failure) -> String {
    let problems: Vec<_> = failure
        .problems()
        .into_iter()
        .map(|problem| format!("{}: {}", problem.path, problem.message))
        .collect();
    let said = format!("{what} was refused: {}", failure.message());
    if problems.is_empty() {
        said
    } else {
        format!("{said} {}", problems.join("; "))
    }
}
