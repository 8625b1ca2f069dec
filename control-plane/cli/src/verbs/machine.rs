//! `guilds machine`: machines that agents live on, whether they answer and how long their certificates last.

use clap::Args;
use serde_json::Value;

use crate::Context;
use crate::error::{Exit, Failure};
use crate::kind::{Column, Kind, Usual, text, words};
use crate::moment;
use crate::screen::{Screen, Tone};
use crate::table::{Cell, Role};

/// A certificate that ends sooner needs a new one now.
const SHORT_DAYS: i64 = 7;

pub(super) const KIND: Kind = Kind {
    plural: "machines",
    noun: "machine",
    columns: &[
        Column::new("ID", Role::Id, |object, _| text(object, "id")),
        Column::new("STATE", Role::Word, |object, _| state(object)),
        Column::new("VERSION", Role::Word, |object, _| text(object, "version")),
        Column::new("CERTIFICATE", Role::Word, certificate),
        Column::new("AGENTS", Role::Number, |object, _| text(object, "agents")),
        Column::new("OPEN RUNS", Role::Number, |object, _| {
            text(object, "open_runs")
        }),
        Column::new("REASON", Role::Text, |object, _| text(object, "reason")),
        Column::new("ADDRESS", Role::Text, |object, _| text(object, "address")),
    ],
};

/// What to do with them.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Usual,
}

pub(super) async fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    arguments.what.run(&KIND, context).await
}

fn state(machine: &Value) -> Cell {
    let state = words(machine, "state");
    let tone = match state.as_str() {
        "up" => Tone::Good,
        "down" => Tone::Bad,
        _ => Tone::Plain,
    };
    Cell::toned(&state, tone)
}

/// What is left of a certificate.
pub(super) fn certificate(holder: &Value, screen: &Screen) -> Cell {
    let end = words(holder, "certificate_expires_at");
    let tone = if ends_soon(&end, screen) {
        Tone::Bad
    } else {
        Tone::Plain
    };
    Cell::toned(&moment::remaining(&end, screen.now), tone)
}

/// Whether a certificate's end is near or past.
pub(super) fn ends_soon(end: &str, screen: &Screen) -> bool {
    end.parse::<jiff::Timestamp>()
        .is_ok_and(|end| end.duration_since(screen.now).as_hours() < SHORT_DAYS * 24)
}
