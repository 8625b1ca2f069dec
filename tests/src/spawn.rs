//! The only place of the tests that starts a process.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long a daemon may take to stop before it is killed and the test told.
const STOP_LIMIT: Duration = Duration::from_secs(15);

static QUIET: AtomicBool = AtomicBool::new(false);

/// Daemons that end from now on keep their logs to themselves: what wanted them went well.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// A command that the test process may start.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the tests' only place that starts a process"
)]
pub fn command(program: impl AsRef<Path>) -> Command {
    Command::new(program.as_ref())
}

/// Runs a program to its end and gives its stdout.
///
/// # Errors
/// When it can't be started or doesn't exit 0; the error has its stderr.
pub fn run(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs a program to its end, whatever its exit.
///
/// # Errors
/// When it can't be started.
pub fn output(command: &mut Command) -> Result<Output> {
    command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{command:?}"))
}

/// Runs a program to its end with `input` on its stdin.
///
/// # Errors
/// When it can't be started or its stdin can't be written.
pub fn output_with_input(command: &mut Command, input: &[u8]) -> Result<Output> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{command:?}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    Ok(child.wait_with_output()?)
}

/// A process that runs until the test ends it; its output goes to a file that a failing test prints.
#[derive(Debug)]
pub struct Daemon {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Starts `command`; `log` gets its stdout and stderr, after what is there.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Result<Self> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("{}", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("{command:?}"))?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
        })
    }

    /// Its pid in the tests' pid namespace.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read(&self.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Its end, when it has ended.
    ///
    /// # Errors
    /// When the kernel doesn't know it.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill(self.nix_pid()?, signal)?)
    }

    /// `SIGKILL`, and waits for the end.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// `SIGTERM`, and waits for the end.
    ///
    /// # Errors
    /// When it doesn't exit 0 within 15 s.
    pub fn stop(&mut self) -> Result<()> {
        if self.ended()?.is_some() {
            return Ok(());
        }
        self.signal(Signal::SIGTERM)?;
        let deadline = Instant::now() + STOP_LIMIT;
        while Instant::now() < deadline {
            if let Some(status) = self.ended()? {
                ensure!(
                    status.success() || status.signal() == Some(Signal::SIGTERM as i32),
                    "{} ended with {status} on SIGTERM",
                    self.name
                );
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill()?;
        bail!("{} did not stop within {STOP_LIMIT:?}", self.name)
    }

    fn nix_pid(&self) -> Result<Pid> {
        Ok(Pid::from_raw(i32::try_from(self.child.id())?))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("{error:#}");
        }
        // A test that passes keeps what it printed to itself.
        if !QUIET.load(Ordering::Relaxed) {
            eprintln!("--- log of {} ---\n{}--- end ---", self.name, self.log());
        }
    }
}
