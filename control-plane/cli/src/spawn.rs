//! The only place of this program that starts a process.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use nix::unistd::{Gid, Uid};
use tokio::process::{Child, Command};

/// Longest run of a program that is meant to end by itself.
const PATIENCE: Duration = Duration::from_secs(120);
/// Settings of the caller that reach the daemons; nothing else does.
const PASSED_ON: [&str; 4] = [
    "RUST_LOG",
    "RUST_BACKTRACE",
    "TOOL_RESULT_MAX_BYTES",
    "CONNECTOR_LIST_AGE_S",
];

/// A program, what it is told, and who it runs as.
#[derive(Debug, Clone)]
pub(crate) struct Program<'a> {
    pub(crate) file: &'a Path,
    pub(crate) words: Vec<String>,
    /// Another account than the caller's.
    pub(crate) account: Option<(Uid, Gid)>,
}

impl Program<'_> {
    /// The command that becomes the program, by way of [`crate::launch`].
    #[expect(
        clippy::disallowed_methods,
        reason = "the only place of this program that starts a process"
    )]
    fn command(&self) -> Command {
        let mut command = Command::new("/proc/self/exe");
        command.arg("launch").arg("--program").arg(self.file);
        if let Some((uid, gid)) = self.account {
            command.arg(format!("--account={uid}:{gid}"));
        }
        command
            .arg("--")
            .args(&self.words)
            .current_dir("/")
            .env_clear()
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .env("LANG", "C.UTF-8")
            .envs(
                PASSED_ON
                    .iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .stdin(Stdio::null());
        // The agents of a caller who isn't root run as the caller, as one they know.
        for name in ["HOME", "USER", "LOGNAME"] {
            if let Some(value) = std::env::var_os(name).filter(|_| self.account.is_none()) {
                command.env(name, value);
            }
        }
        command
    }

    /// Starts it, to go on until it is stopped; what it prints goes to `log`.
    ///
    /// # Errors
    /// When it can't be started.
    pub(crate) fn start(&self, log: &File) -> io::Result<Child> {
        self.command()
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            // Its keeper stops it in order; should the keeper fall, it must not stay behind.
            .kill_on_drop(true)
            .spawn()
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When it can't be started, takes too long, or ends badly: then with what it said.
    pub(crate) async fn run(&self) -> Result<String, String> {
        let name = self.file.display();
        let mut command = self.command();
        command.kill_on_drop(true);
        let output = match tokio::time::timeout(PATIENCE, command.output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(format!("{name} could not be started: {error}")),
            Err(_) => {
                return Err(format!(
                    "{name} did not end within {} s",
                    PATIENCE.as_secs()
                ));
            }
        };
        let Output {
            status,
            stdout,
            stderr,
        } = output;
        if status.success() {
            return Ok(String::from_utf8_lossy(&stdout).into_owned());
        }
        let first = self.words.first().map(String::as_str).unwrap_or_default();
        Err(format!(
            "{name} {first} ended with {}: {}",
            describe(status),
            String::from_utf8_lossy(&stderr).trim()
        ))
    }
}

/// How a process ended, in words.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown end".to_owned(),
    }
}

/// Whether an installed package owns a file.
pub(crate) async fn is_owned_by_a_package(path: &Path) -> bool {
    let dpkg = Program {
        file: Path::new("/usr/bin/dpkg-query"),
        words: vec!["--search".to_owned(), path.display().to_string()],
        account: None,
    };
    dpkg.run().await.is_ok()
}
