//! One daemon of the stack: started, started again when it dies, stopped.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Gid, Pid, Uid};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::leftover::Identity;
use super::say;
use super::state::State;
use crate::error::Failure;
use crate::spawn::{self, Program};

/// First and longest wait before a daemon that died is started again.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// A daemon that lived this long may die once more without a longer wait.
const SETTLED: Duration = Duration::from_secs(30);
/// A start is given up once the daemon died this often.
const DEATHS: u32 = 3;
/// Lines of its log that a failed start shows.
const SHOWN_LINES: usize = 12;

/// What a daemon is.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Name of its log and of the file with its process id.
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) words: Vec<String>,
    pub(crate) account: Option<(Uid, Gid)>,
    /// The signal that stops it in order, and how long that may take.
    pub(crate) stop: (Signal, Duration),
}

/// A daemon that runs, or will again.
#[derive(Debug)]
pub(crate) struct Daemon {
    name: &'static str,
    log: PathBuf,
    stop: watch::Sender<bool>,
    deaths: watch::Receiver<u32>,
    task: JoinHandle<()>,
}

impl Daemon {
    /// Starts it.
    ///
    /// # Errors
    /// When its log can't be opened.
    pub(crate) fn start(plan: Plan, state: &State) -> Result<Self, Failure> {
        let (file, log) = state.log(plan.name)?;
        let (stop, stopped) = watch::channel(false);
        let (told, deaths) = watch::channel(0);
        let keeper = Keeper {
            record: state.path("pids").join(plan.name),
            log: log.clone(),
            file,
            plan,
            deaths: told,
            stopped,
        };
        Ok(Self {
            name: keeper.plan.name,
            log,
            stop,
            deaths,
            task: tokio::spawn(keeper.keep()),
        })
    }

    /// Stops it, and waits until it has ended.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }

    fn failure(&self, why: &str) -> Failure {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().map(ToOwned::to_owned).collect();
        let from = lines.len().saturating_sub(SHOWN_LINES);
        let message = format!(
            "the {} {why}; the end of {}:",
            self.name,
            self.log.display()
        );
        Failure::local(message).with_details(lines[from..].to_vec())
    }
}

/// Asks `probe` until it succeeds.
///
/// # Errors
/// When that takes longer than `at_most` or the daemon dies meanwhile: with the end of its log.
pub(crate) async fn wait_until<F: Future<Output = Result<(), String>>>(
    daemon: Option<&Daemon>,
    at_most: Duration,
    probe: impl Fn() -> F,
) -> Result<(), Failure> {
    let Some(daemon) = daemon else {
        return Err(Failure::local("no daemon was started"));
    };
    let end = Instant::now() + at_most;
    loop {
        let problem = match probe().await {
            Ok(()) => return Ok(()),
            Err(problem) => problem,
        };
        if *daemon.deaths.borrow() >= DEATHS {
            return Err(daemon.failure("ends as soon as it is started"));
        }
        if Instant::now() >= end {
            let why = format!("doesn't answer after {} s ({problem})", at_most.as_secs());
            return Err(daemon.failure(&why));
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// The owner of the daemon's process.
struct Keeper {
    plan: Plan,
    record: PathBuf,
    log: PathBuf,
    file: fs::File,
    deaths: watch::Sender<u32>,
    stopped: watch::Receiver<bool>,
}

impl Keeper {
    async fn keep(mut self) {
        let mut wait = FIRST_WAIT;
        loop {
            let started = Instant::now();
            let ended = match self.start() {
                Ok(mut child) => match self.watch(&mut child).await {
                    Some(ended) => ended,
                    None => return,
                },
                Err(error) => format!("can't be started: {error}"),
            };
            self.deaths.send_modify(|deaths| *deaths += 1);
            if started.elapsed() >= SETTLED {
                wait = FIRST_WAIT;
            }
            say(&format!(
                "the {} {ended}; starting it again in {:.1} s (log: {})",
                self.plan.name,
                wait.as_secs_f64(),
                self.log.display()
            ));
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = self.stopped.wait_for(|stopped| *stopped) => {
                    forget(&self.record);
                    return;
                }
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    fn start(&self) -> std::io::Result<Child> {
        let program = Program {
            file: &self.plan.program,
            words: self.plan.words.clone(),
            account: self.plan.account,
        };
        let child = program.start(&self.file)?;
        let identity = child.id().and_then(Identity::of);
        if let Some(identity) = identity {
            fs::write(&self.record, identity.text())?;
        }
        Ok(child)
    }

    /// Waits for its end: how it died, or `None` when it was stopped.
    async fn watch(&mut self, child: &mut Child) -> Option<String> {
        let status = tokio::select! {
            status = child.wait() => Some(status),
            _ = self.stopped.wait_for(|stopped| *stopped) => None,
        };
        match status {
            Some(Ok(status)) => Some(format!("ended with {}", spawn::describe(status))),
            Some(Err(error)) => Some(format!("can't be waited for: {error}")),
            None => {
                self.stop(child).await;
                forget(&self.record);
                None
            }
        }
    }

    async fn stop(&self, child: &mut Child) {
        let (signal, patience) = self.plan.stop;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid {
            let _ = kill(Pid::from_raw(pid), signal);
        }
        if tokio::time::timeout(patience, child.wait()).await.is_err() {
            say(&format!(
                "the {} did not end within {} s and is killed",
                self.plan.name,
                patience.as_secs()
            ));
            let _ = child.kill().await;
        }
    }
}

fn forget(record: &Path) {
    let _ = fs::remove_file(record);
}
