//! The program `guilds-machine-agent`: `serve` the front, `runner` for one agent, `check-config`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use machine_agent::runner::RunnerArguments;
use machine_agent::{config, front, memory, runner, telemetry};

/// sysexits(3) `EX_CONFIG`.
const BAD_CONFIG: u8 = 78;

#[derive(Parser)]
#[command(
    name = "guilds-machine-agent",
    version,
    about = "Runs agents' tools on this machine"
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serve the control plane over mutual TLS
    Serve(ConfigArgument),
    /// Serve one agent; started by `serve` only
    #[command(hide = true)]
    Runner(RunnerArguments),
    /// Check the settings and name every problem
    CheckConfig(ConfigArgument),
}

#[derive(Args)]
struct ConfigArgument {
    /// Settings file
    #[arg(long, default_value = config::DEFAULT_PATH)]
    config: PathBuf,
}

fn main() -> ExitCode {
    match Cli::parse().verb {
        Verb::CheckConfig(argument) => match front::check(&argument.config) {
            Ok(_) => {
                println!("{}: fine", argument.config.display());
                ExitCode::SUCCESS
            }
            Err(problems) => refuse_config(&problems),
        },
        Verb::Serve(argument) => match front::check(&argument.config) {
            Ok(checked) => {
                telemetry::start();
                // Calls pass through the front with what they carry.
                finish(
                    memory::protect()
                        .map_err(anyhow::Error::from)
                        .and_then(|()| front::run(checked)),
                )
            }
            Err(problems) => refuse_config(&problems),
        },
        Verb::Runner(arguments) => {
            telemetry::start();
            finish(runner::run(arguments).map_err(anyhow::Error::from))
        }
    }
}

fn refuse_config(problems: &str) -> ExitCode {
    eprintln!("{problems}");
    ExitCode::from(BAD_CONFIG)
}

fn finish(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
