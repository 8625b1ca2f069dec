//! `guilds-control-plane`: serve | migrate | check-config | token | ca | key.

mod verbs;

use std::process::ExitCode;

use clap::Parser as _;
use control_plane::telemetry;

fn main() -> ExitCode {
    let arguments = verbs::Arguments::parse();
    telemetry::start();
    match verbs::run(arguments) {
        Ok(code) => code,
        Err(error) => {
            // `{:#}` writes the causes after the error, on one line.
            eprintln!("guilds-control-plane: {error:#}");
            ExitCode::FAILURE
        }
    }
}
