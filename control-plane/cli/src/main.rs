//! `guilds`: the command line for people, and the development stack.

mod api;
mod apply;
mod call;
mod dev;
mod document;
mod error;
mod launch;
mod spawn;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::error::{Exit, Failure};

#[derive(Parser)]
#[command(
    name = "guilds",
    version,
    about = "Tools for teams of agents: the command line"
)]
struct Line {
    /// How the payload on stdout is written.
    #[arg(short, long, value_enum, default_value = "table", global = true)]
    output: Format,
    #[command(subcommand)]
    command: Command,
}

/// How the payload is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// For programs: the API's objects, errors too.
    Json,
}

#[derive(Subcommand)]
enum Command {
    /// Make an organisation as a document says.
    Apply {
        /// The document, TOML.
        #[arg(short, long)]
        file: PathBuf,
        /// Tell what would change, and change nothing; exit 2 when something would.
        #[arg(long)]
        dry_run: bool,
    },
    /// Call one tool for an agent, in a run of its own.
    Call(call::Arguments),
    /// Run the whole product on this machine, for development.
    Dev(dev::Arguments),
    /// Start a program of the stack in a session of its own.
    #[command(hide = true)]
    Launch(launch::Arguments),
}

fn main() -> ExitCode {
    let line = match Line::try_parse() {
        Ok(line) => line,
        Err(problem) => {
            // Help and version are payload; clap knows which stream is meant.
            let _ = problem.print();
            return if problem.use_stderr() {
                Exit::Usage.into()
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let format = line.output;
    let result = match line.command {
        Command::Apply { file, dry_run } => block_on(apply::run(&file, dry_run, format)),
        Command::Call(arguments) => block_on(call::run(&arguments, format)),
        Command::Dev(arguments) => block_on(dev::run(&arguments)),
        Command::Launch(arguments) => Err(launch::run(&arguments)),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print(format);
            failure.exit.into()
        }
    }
}

fn block_on(work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    tokio::runtime::Runtime::new()
        .map_err(|error| Failure::local(format!("no runtime could be made: {error}")))?
        .block_on(work)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Line::command().debug_assert();
    }
}
