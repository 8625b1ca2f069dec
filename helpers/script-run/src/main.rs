//! `guilds-script-run --name NAME --home DIR`: runs one of an agent's Python scripts, exactly the bytes it was asked for.

mod arguments;
mod capture;
mod script;
mod spawn;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use helper_protocol::child::{self, End, Input, Output};
use helper_protocol::{Reply, Request};

use crate::arguments::Place;
use crate::capture::Capture;

/// `EX_USAGE` of sysexits.h.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let started = Instant::now();
    match arguments::read(std::env::args().skip(1)) {
        Ok(place) => helper_protocol::serve(|request| answer(&place, &request, started)),
        Err(problems) => {
            for problem in problems {
                eprintln!("guilds-script-run: {problem}");
            }
            eprintln!("usage: guilds-script-run --name NAME --home DIR");
            ExitCode::from(USAGE)
        }
    }
}

fn answer(place: &Place, request: &Request, started: Instant) -> Reply {
    let source = match script::source(place, request) {
        Ok(source) => source,
        Err(refusal) => return Reply::refused(refusal.to_string()),
    };
    match run(place, request, &source, started) {
        Ok(reply) => reply,
        Err(error) => Reply::refused(format!("script {} could not be run: {error}", place.name)),
    }
}

fn run(
    place: &Place,
    request: &Request,
    source: &[u8],
    started: Instant,
) -> std::io::Result<Reply> {
    child::adopt_orphans()?;
    let python = spawn::python(place, &request.env, source)?;
    let mut out = Capture::new(request.max_output_bytes);
    let mut err = Capture::new(request.max_output_bytes);
    let input = Input::new(python.stdin, request.arguments.get().as_bytes().to_vec())?;
    let mut outputs = [
        Output::new(python.stdout, &mut out)?,
        Output::new(python.stderr, &mut err)?,
    ];
    let end = child::watch(
        python.pid,
        Some(input),
        &mut outputs,
        request.deadline(started),
    )?;
    child::end_descendants();
    Ok(reply(&place.name, request.limit_ms, end, &out, &err))
}

/// The result: stdout; a line `[stderr]` and stderr when there is any; `[exit n]`
/// last when not 0. An end by signal n is told on a line of its own, and its
/// exit code is 128 + n, as a shell would say.
fn reply(name: &str, limit_ms: u64, end: End, out: &Capture, err: &Capture) -> Reply {
    let mut text = out.text();
    let mut cut = out.bytes_left_out();
    if err.total() > 0 {
        open_line(&mut text);
        text.push_str("[stderr]\n");
        text.push_str(&err.text());
        cut += err.bytes_left_out();
    }
    let (exit_code, error) = match end {
        End::Exited(code) => (Some(code), None),
        End::Signalled(signal) => {
            open_line(&mut text);
            text.push_str(&format!("[killed by {}]", child::signal_name(signal)));
            (Some(128 + signal), None)
        }
        End::Limit => {
            let limit = Duration::from_millis(limit_ms).as_secs_f64();
            let error = format!("script {name} reached its limit of {limit} s");
            (None, Some(error))
        }
    };
    if let Some(code) = exit_code.filter(|code| *code != 0) {
        open_line(&mut text);
        text.push_str(&format!("[exit {code}]"));
    }
    Reply {
        original_bytes: Some(text.len() as u64 + cut),
        output: Some(text),
        error,
        exit_code,
    }
}

fn open_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use helper_protocol::child::Sink;

    use super::*;

    fn captured(bytes: &[u8]) -> Capture {
        let mut capture = Capture::new(100);
        capture.take(bytes);
        capture
    }

    fn check(end: End, out: &[u8], err: &[u8], output: &str, exit_code: Option<i32>) {
        let reply = reply("daily", 120_000, end, &captured(out), &captured(err));
        assert_eq!(reply.output.as_deref(), Some(output));
        assert_eq!(reply.exit_code, exit_code);
        assert_eq!(reply.original_bytes, Some(output.len() as u64));
    }

    #[test]
    fn the_result_is_stdout_then_stderr_then_the_exit() {
        check(End::Exited(0), b"hi\n", b"", "hi\n", Some(0));
        check(End::Exited(0), b"", b"", "", Some(0));
        check(
            End::Exited(0),
            b"hi",
            b"warn\n",
            "hi\n[stderr]\nwarn\n",
            Some(0),
        );
        check(End::Exited(3), b"hi\n", b"", "hi\n[exit 3]", Some(3));
        check(
            End::Exited(1),
            b"",
            b"bad",
            "[stderr]\nbad\n[exit 1]",
            Some(1),
        );
    }

    #[test]
    fn a_signal_is_named() {
        let output = "hi\n[killed by SIGSEGV]\n[exit 139]";
        check(End::Signalled(11), b"hi", b"", output, Some(139));
    }

    #[test]
    fn the_limit_is_an_error_beside_what_was_printed() {
        let reply = reply(
            "daily",
            120_000,
            End::Limit,
            &captured(b"part"),
            &captured(b""),
        );
        assert_eq!(
            reply.error.as_deref(),
            Some("script daily reached its limit of 120 s")
        );
        assert_eq!(reply.output.as_deref(), Some("part"));
        assert_eq!(reply.exit_code, None);
    }

    #[test]
    fn bytes_beyond_the_bound_are_counted() {
        let mut out = Capture::new(4);
        out.take(b"123456");
        let reply = reply("daily", 1_000, End::Exited(0), &out, &Capture::new(4));
        assert_eq!(reply.output.as_deref(), Some("1234"));
        assert_eq!(reply.original_bytes, Some(6));
    }
}
