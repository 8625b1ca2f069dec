//! The only place of this program that starts a process: a fresh bash per command.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use helper_protocol::child;

/// A command that runs.
pub(crate) struct Bash {
    pub(crate) pid: u32,
    pub(crate) stdin: Option<PipeWriter>,
    pub(crate) output: PipeReader,
}

/// What is started, where, with what.
pub(crate) struct Start<'a> {
    pub(crate) home: &'a Path,
    pub(crate) cwd: &'a Path,
    pub(crate) command: &'a str,
    pub(crate) env: &'a BTreeMap<String, String>,
    /// The command reads from a pipe, not from `/dev/null`.
    pub(crate) has_stdin: bool,
}

/// Starts bash on the command's text, in a process group of its own, with an
/// environment built from nothing, and both streams in one pipe.
///
/// The text is handed over in sealed memory: an argument may have 128 KiB at
/// most (execve(2)), and every user of a machine can read arguments.
///
/// # Errors
/// When bash can't be started.
#[expect(
    clippy::disallowed_methods,
    reason = "the only place of this program that starts a process"
)]
pub(crate) fn bash(start: &Start<'_>) -> io::Result<Bash> {
    let (output, stdout) = io::pipe()?;
    let stderr = stdout.try_clone()?;
    let (stdin_reader, stdin) = if start.has_stdin {
        let (reader, writer) = io::pipe()?;
        (Stdio::from(reader), Some(writer))
    } else {
        (Stdio::null(), None)
    };
    let (memory, descriptor) = child::sealed("command", start.command.as_bytes())?;
    let launch = format!(
        "IFS= read -r -d '' __ <&{descriptor}; exec {descriptor}<&-; eval \"unset __; $__\""
    );
    let home = start.home.display();
    let mut command = Command::new("/bin/bash");
    command
        .args(["--noprofile", "--norc", "-c", &launch, "bash"])
        .current_dir(start.cwd)
        .env_clear()
        .env("HOME", start.home)
        .env("PWD", start.cwd)
        .env("LANG", "C.UTF-8")
        .env(
            "PATH",
            format!(
                "{home}/.local/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
            ),
        )
        .env("SHELL", "/bin/bash")
        .envs(QUIET)
        .envs(user())
        .envs(start.env)
        .stdin(stdin_reader)
        .stdout(stdout)
        .stderr(stderr)
        // Its own group: `kill 0` in a command must not reach the helper.
        .process_group(0);
    let child = command.spawn()?;
    drop(memory);
    Ok(Bash {
        pid: child.id(),
        stdin,
        output,
    })
}

/// Nobody sits at a terminal: no colours, no pagers, no questions.
const QUIET: [(&str, &str); 7] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("CI", "1"),
];

/// The account's name, as whoever started this program gave it.
fn user() -> impl Iterator<Item = (&'static str, String)> {
    ["USER", "LOGNAME"]
        .into_iter()
        .filter_map(|name| Some((name, std::env::var(name).ok()?)))
}
