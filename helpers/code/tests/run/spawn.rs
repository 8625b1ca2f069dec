//! Starts the helper as the runner does.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// One call: the request on stdin, then its end.
pub fn launch(home: &Path, words: &[&str], request: &str) -> Output {
    start(home, words, request).wait_with_output().unwrap()
}

/// A helper that was asked and may still run.
#[expect(
    clippy::disallowed_methods,
    reason = "the only place of these tests that starts a process"
)]
pub fn start(home: &Path, words: &[&str], request: &str) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_guilds-code"))
        .args(words)
        .current_dir(home)
        .env_clear()
        .env("USER", "ada")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The helper may refuse its command line before it reads.
    let _ = child.stdin.take().unwrap().write_all(request.as_bytes());
    child
}
