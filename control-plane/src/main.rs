//! `guilds-control-plane`: serve | migrate | check-config | token | secrets | ca | key.

mod verbs;

use std::process::ExitCode;

use clap::Parser as _;
use control_plane::{memory, telemetry};

/// It gives freed pages back to the system; the C library's keeps most of what a few large
/// requests at once have needed, for each of its arenas.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = verbs::Arguments::parse();
    telemetry::start();
    // Every verb may hold a key, a token or a database's password.
    if let Err(error) = memory::protect() {
        eprintln!("guilds-control-plane: this process could not be made not dumpable: {error}");
        return ExitCode::FAILURE;
    }
    match verbs::run(arguments) {
        Ok(code) => code,
        Err(error) => {
            // `{:#}` writes the causes after the error, on one line.
            eprintln!("guilds-control-plane: {error:#}");
            ExitCode::FAILURE
        }
    }
}
