//! The only place of this program that starts a process: `/usr/bin/python3` on bytes in sealed memory.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::process::CommandExt;
use std::process::Command;

use helper_protocol::child;

use crate::arguments::Place;

/// Reads the source from a descriptor, closes it, and runs it as the main
/// module under the file's own path, so that tracebacks, `__file__` and imports
/// of neighbours are those of the file.
const LAUNCH: &str = include_str!("launch.py");

/// A script that runs.
pub(crate) struct Python {
    pub(crate) pid: u32,
    pub(crate) stdin: PipeWriter,
    pub(crate) stdout: PipeReader,
    pub(crate) stderr: PipeReader,
}

/// Starts the script in its agent's home, in a process group of its own, with
/// an environment built from nothing.
///
/// # Errors
/// When the interpreter can't be started.
#[expect(
    clippy::disallowed_methods,
    reason = "the only place of this program that starts a process"
)]
pub(crate) fn python(
    place: &Place,
    env: &BTreeMap<String, String>,
    source: &[u8],
) -> io::Result<Python> {
    let (stdin_reader, stdin) = io::pipe()?;
    let (stdout, stdout_writer) = io::pipe()?;
    let (stderr, stderr_writer) = io::pipe()?;
    // Sealed, so that another process of the agent can't reach in and change it.
    let (memory, descriptor) = child::sealed("script", source)?;
    let mut command = Command::new("/usr/bin/python3");
    command
        .arg("-c")
        .arg(LAUNCH)
        .arg(place.home.join(format!("scripts/{}.py", place.name)))
        .arg(descriptor.to_string())
        .current_dir(&place.home)
        .env_clear()
        .env("HOME", &place.home)
        .env("LANG", "C.UTF-8")
        .env("PATH", search_path(place))
        // What was printed before the limit must be there at the limit.
        .env("PYTHONUNBUFFERED", "1")
        .envs(user())
        .envs(env)
        .stdin(stdin_reader)
        .stdout(stdout_writer)
        .stderr(stderr_writer)
        // Its own group: `kill 0` in a script must not reach the launcher.
        .process_group(0);
    let child = command.spawn()?;
    drop(memory);
    Ok(Python {
        pid: child.id(),
        stdin,
        stdout,
        stderr,
    })
}

/// What an agent installs for itself comes before what the machine has.
fn search_path(place: &Place) -> String {
    format!(
        "{}/.local/bin:/usr/local/bin:/usr/bin:/bin",
        place.home.display()
    )
}

/// The account's name, as whoever started this program gave it.
fn user() -> impl Iterator<Item = (&'static str, String)> {
    ["USER", "LOGNAME"]
        .into_iter()
        .filter_map(|name| Some((name, std::env::var(name).ok()?)))
}
