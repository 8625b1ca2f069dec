//! Starts the launcher as the runner does.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// One launch: the request on stdin, then its end.
#[expect(
    clippy::disallowed_methods,
    reason = "the only place of these tests that starts a process"
)]
pub fn launch(home: &Path, words: &[&str], request: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_guilds-script-run"))
        .args(words)
        .current_dir(home)
        .env_clear()
        .env("USER", "ada")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The launcher may refuse its command line before it reads.
    let _ = child.stdin.take().unwrap().write_all(request.as_bytes());
    child.wait_with_output().unwrap()
}
