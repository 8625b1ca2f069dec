//! `agent-browser` as its users run it: its program for each call, its daemon kept alive.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tests::{processes, spawn};

use super::timed;
use super::verbs::{EXPRESSION, Subject, TARGET, Verb};

const SESSION: &str = "bench";

/// A daemon that is connected to the browser; it ends with this value.
#[derive(Debug)]
pub struct AgentBrowser {
    program: PathBuf,
    home: PathBuf,
}

impl AgentBrowser {
    /// Where npm puts the native program for this machine.
    pub fn program(packages: &Path) -> PathBuf {
        packages.join("node_modules/agent-browser/bin/agent-browser-linux-x64")
    }

    /// Starts the daemon with `home` as its home.
    pub fn start(packages: &Path, port: u16, home: &Path) -> Result<Self> {
        let program = Self::program(packages);
        ensure!(program.exists(), "{} is missing", program.display());
        let peer = Self {
            program,
            home: home.to_owned(),
        };
        peer.run(&["connect", &port.to_string()])?;
        Ok(peer)
    }

    /// One call.
    pub fn call(&self, verb: Verb, subject: &Subject) -> Result<Duration> {
        match verb {
            Verb::Navigate => self.run(&["open", &subject.url]),
            Verb::Snapshot => self.run(&["snapshot"]),
            Verb::Click => self.run(&["click", TARGET]),
            Verb::Eval => self.run(&["eval", EXPRESSION]),
            Verb::Screenshot => {
                let path = self.home.join("picture.jpg");
                let path = path.to_string_lossy();
                self.run(&["screenshot", &path, "--screenshot-format", "jpeg"])
            }
        }
    }

    /// The most memory its daemon ever had, in KiB.
    pub fn peak_kib(&self) -> Result<u64> {
        processes::peak_kib(self.daemon()?)
    }

    fn run(&self, words: &[&str]) -> Result<Duration> {
        let mut command = spawn::command(&self.program);
        command
            .args(["--session", SESSION])
            .args(words)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", "/usr/bin:/bin");
        let (output, took) = timed(|| spawn::output(&mut command))?;
        ensure!(output.status.success(), "{words:?}: {output:?}");
        Ok(took)
    }

    fn daemon(&self) -> Result<u32> {
        let file = self.home.join(format!(".agent-browser/{SESSION}.pid"));
        let pid = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        Ok(pid.trim().parse()?)
    }
}

impl Drop for AgentBrowser {
    fn drop(&mut self) {
        // Its own `close` would end the browser as well.
        if let Some(pid) = self.daemon().ok().and_then(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}
