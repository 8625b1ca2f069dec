//! `guilds`: the command line for people, and the development stack.

mod api;
mod completion;
mod dev;
mod document;
mod error;
mod kind;
mod launch;
mod moment;
mod output;
mod progress;
mod prompt;
mod screen;
mod spawn;
mod table;
mod text;
mod verbs;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::error::{Exit, Failure};
use crate::screen::Screen;
use crate::verbs::Verb;

#[derive(Parser)]
#[command(
    name = "guilds",
    version,
    about = "Tools for teams of agents: the command line",
    after_help = "GUILDS_URL names the control plane. `call` and `run` use the token in GUILDS_BACKEND_TOKEN, all others \
                  the one in GUILDS_OPERATOR_TOKEN; either may be in a file that GUILDS_BACKEND_TOKEN_FILE or \
                  GUILDS_OPERATOR_TOKEN_FILE names.\n\
                  Exit codes: 0 done, 1 failed, 2 changes pending, 3 not found, 4 denied, 5 unreachable, 64 usage."
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

/// How this invocation writes, and on what.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) format: Format,
    pub(crate) screen: Screen,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Verb(Verb),
    /// Run the whole product on this machine, for development.
    Dev(dev::Arguments),
    /// Start a program of the stack in a session of its own.
    #[command(hide = true)]
    Launch(launch::Arguments),
    /// Name what could stand at the end of a command line.
    #[command(name = completion::VERB, hide = true)]
    Complete(completion::Arguments),
}

fn main() -> ExitCode {
    let line = match Line::try_parse() {
        Ok(line) => line,
        Err(problem) => return refuse(&problem),
    };
    let context = Context {
        format: line.output,
        screen: Screen::find(),
    };
    let result = match line.command {
        Command::Verb(verb) => block_on(verb.run(&context)),
        Command::Dev(arguments) => block_on(dev::run(&arguments)),
        Command::Launch(arguments) => Err(launch::run(&arguments)),
        Command::Complete(arguments) => block_on(completion::run(&arguments)),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print(context.format);
            failure.exit.into()
        }
    }
}

/// Help and version are payload; everything else is a wrong command line.
fn refuse(problem: &clap::Error) -> ExitCode {
    if !problem.use_stderr() {
        return match output::payload(&problem.render().to_string()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.exit.into(),
        };
    }
    let text = problem.render().to_string();
    if wants_json() {
        // What follows is for people: how it is used, where to read on.
        let message = text.split("\n\nUsage:").next().unwrap_or_default();
        let message = message.split("\n\nFor more").next().unwrap_or_default();
        Failure::usage(message.trim().trim_start_matches("error: ")).print(Format::Json);
    } else {
        output::note(text.trim_end());
    }
    Exit::Usage.into()
}

/// Whether a command line that could not be read asks for JSON.
fn wants_json() -> bool {
    let mut is_value = false;
    // Words that are no text are none of these.
    std::env::args_os().skip(1).any(|word| {
        let found = (is_value && word == "json")
            || word == "-ojson"
            || word == "-o=json"
            || word == "--output=json";
        is_value = word == "-o" || word == "--output";
        found
    })
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
