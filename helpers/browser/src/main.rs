//! `guilds-browser VERB --port PORT --home DIR`: one browser tool call, asked on stdin and answered on stdout.

use std::process::{ExitCode, exit};
use std::time::Instant;

use guilds_browser::{CommandLine, answer};

/// Exit code for a command line that makes no sense, from sysexits.h.
const EX_USAGE: u8 = 64;

fn main() -> ExitCode {
    let started = Instant::now();
    let command_line = match CommandLine::parse(std::env::args().skip(1)) {
        Ok(command_line) => command_line,
        Err(problem) => {
            eprintln!("guilds-browser: {problem}");
            return ExitCode::from(EX_USAGE);
        }
    };
    helper_protocol::serve(|request| match answer(&command_line, &request, started) {
        Ok(reply) => reply,
        Err(failure) => {
            // A failure is the operator's: no object on stdout, the cause on stderr.
            eprintln!("guilds-browser: {failure}");
            exit(1);
        }
    })
}
