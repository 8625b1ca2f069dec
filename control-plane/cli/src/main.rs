//! `guilds`: the command line for people, and the development stack.

mod api;
mod completion;
mod dev;
mod document;
mod error;
mod kind;
mod launch;
mod moment;
mod nearest;
mod output;
mod progress;
mod prompt;
mod screen;
mod signals;
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
        Failure::usage(one_line(&text)).print(Format::Json);
    } else {
        output::note(text.trim_end());
    }
    Exit::Usage.into()
}

/// What is wrong in one line, with its tip, and without what only people need: how
/// it is used, where to read on.
fn one_line(text: &str) -> String {
    let mut told = String::new();
    for line in text.lines() {
        let (line, is_first) = match line.strip_prefix("error: ") {
            Some(line) => (line, true),
            None => (line.trim(), false),
        };
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        if line.is_empty() {
            continue;
        }
        if !told.is_empty() && !is_first {
            told.push_str(if told.ends_with(':') { " " } else { "; " });
        }
        told.push_str(line.strip_prefix("tip: ").unwrap_or(line));
    }
    told
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

    #[test]
    fn every_argument_says_what_it_is() {
        fn silent(command: &clap::Command, path: &str, found: &mut Vec<String>) {
            for argument in command.get_arguments() {
                if argument.get_help().is_none() {
                    found.push(format!("{path} {}", argument.get_id()));
                }
            }
            for verb in command.get_subcommands() {
                silent(verb, &format!("{path} {}", verb.get_name()), found);
            }
        }
        let mut found = Vec::new();
        silent(&Line::command(), "guilds", &mut found);
        found.retain(|place| !place.contains(completion::VERB));
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn a_wrong_command_line_is_told_in_a_line() {
        let told = |words: &[&str]| match Line::try_parse_from(words) {
            Ok(_) => String::new(),
            Err(problem) => one_line(&problem.render().to_string()),
        };
        assert_eq!(
            told(&["guilds", "agnet", "-o", "json"]),
            "unrecognized subcommand 'agnet'; a similar subcommand exists: 'agent'"
        );
        assert_eq!(
            told(&["guilds", "apply"]),
            "the following required arguments were not provided: --file <FILE>"
        );
        assert_eq!(
            told(&["guilds", "status", "-o", "xml"]),
            "invalid value 'xml' for '--output <OUTPUT>'; [possible values: table, json]"
        );
    }
}
