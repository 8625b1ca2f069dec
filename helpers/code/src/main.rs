//! `guilds-code VERB --home DIR`: the code tools of an agent. One verb is one file.

mod arguments;
mod cgroup;
mod command_line;
mod output;
mod shell;
mod spawn;
mod spool;

use std::process::ExitCode;
use std::time::Instant;

use crate::command_line::Verb;

/// `EX_USAGE` of sysexits.h.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let started = Instant::now();
    match command_line::read(std::env::args().skip(1)) {
        Ok((Verb::Shell, home)) => {
            helper_protocol::serve(|request| shell::answer(&home, &request, started))
        }
        Err(problems) => {
            for problem in problems {
                eprintln!("guilds-code: {problem}");
            }
            eprintln!("usage: guilds-code VERB --home DIR");
            ExitCode::from(USAGE)
        }
    }
}
