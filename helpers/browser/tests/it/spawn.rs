//! The only place of these tests where a process starts: Chrome, and the helper itself.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the file where processes start"
)]

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const CHROME: &str = "/usr/lib/chromium/chromium";
// Chrome lives as long as its keeper's stdin is open, which is as long as the
// tests run, however they end.
const KEEPER: &str = r#"profile=$1; shift; "$@" >/dev/null 2>&1 </dev/null & pid=$!; read -r _; kill "$pid"; wait "$pid"; rm -rf "$profile""#;

pub fn chrome(port: u16, profile: &Path) -> Child {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", KEEPER, "keeper"])
        .arg(profile)
        .arg(CHROME);
    command.args([
        "--headless",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-gpu",
        "--disable-extensions",
        "--no-proxy-server",
        "--disable-popup-blocking",
        "--site-per-process",
        "--window-size=1000,700",
    ]);
    let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if root {
        // Only pages of these tests are opened, in a profile of their own.
        command.arg("--no-sandbox");
    }
    command
        .arg(format!("--remote-debugging-port={port}"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("about:blank")
        .env_clear()
        .env("HOME", profile)
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub fn helper(arguments: &[&str], request: &str) -> Output {
    helper_begun(arguments, request).wait_with_output().unwrap()
}

/// A call that was asked and may still run.
pub fn helper_begun(arguments: &[&str], request: &str) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_guilds-browser"))
        .args(arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(request.as_bytes())
        .unwrap();
    child
}

/// Sends SIGTERM, as the runner does when a call is cancelled.
pub fn terminate(pid: u32) {
    let status = Command::new("/bin/kill")
        .args(["-TERM", &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Node with playwright-core, which answers about selectors.
pub fn oracle(port: u16) -> Child {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients");
    let node = clients.join("node_modules/.bin/node");
    assert!(
        node.exists(),
        "{} is missing; scripts/set-up.sh test installs it",
        node.display()
    );
    Command::new(node)
        .arg(clients.join("oracle.mjs"))
        .arg(port.to_string())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
