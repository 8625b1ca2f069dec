//! Control groups: where they are on this machine, one agent's directory, and ending all that lives in one.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::{Instant, sleep};

use crate::sys;

mod agent;
mod mounts;

pub use agent::{AgentGroup, Limits};
pub use mounts::Hierarchy;

/// How long an ended group may take to become empty: a process in an
/// uninterruptible wait of the kernel dies only after it.
pub const EMPTY_WITHIN: Duration = Duration::from_secs(5);

/// One cgroup v2 directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group(PathBuf);

impl Group {
    /// The group at `directory`, whether it exists or not.
    #[must_use]
    pub fn at(directory: PathBuf) -> Self {
        Self(directory)
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the directory; an existing one is kept.
    ///
    /// # Errors
    /// When the directory can't be made.
    pub fn make(&self) -> io::Result<()> {
        match std::fs::create_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    /// Whether any process lives in it or below. A missing group is empty; one
    /// that can't be read is not known to be.
    #[must_use]
    pub fn populated(&self) -> bool {
        let read = || std::fs::read_to_string(self.0.join("cgroup.events"));
        let events = read().or_else(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                self.take_back();
                read()
            }
            _ => Err(error),
        });
        match events {
            Ok(events) => events.lines().any(|line| line == "populated 1"),
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
        }
    }

    /// An agent may have taken modes away from what is its runner's too, who
    /// may give them back.
    fn take_back(&self) {
        for (file, mode) in [
            ("", 0o700),
            ("cgroup.events", 0o400),
            ("cgroup.kill", 0o200),
            ("cgroup.procs", 0o600),
        ] {
            let mode = std::fs::Permissions::from_mode(mode);
            let _ = std::fs::set_permissions(self.0.join(file), mode);
        }
    }

    /// Pids directly in it.
    #[must_use]
    pub fn pids(&self) -> Vec<i32> {
        std::fs::read_to_string(self.0.join("cgroup.procs"))
            .unwrap_or_default()
            .lines()
            .filter_map(|line| line.parse().ok())
            .filter(|pid| *pid > 0)
            .collect()
    }

    /// Groups directly below it.
    #[must_use]
    pub fn children(&self) -> Vec<Self> {
        std::fs::read_dir(&self.0)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| Self(entry.path()))
            .collect()
    }

    /// Ends every process in it and below, proven by `populated 0`.
    ///
    /// # Errors
    /// When it is not empty [`EMPTY_WITHIN`] later.
    pub async fn end(&self) -> io::Result<()> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        while self.populated() {
            if started.elapsed() > EMPTY_WITHIN {
                return Err(io::Error::other(format!(
                    "{} still holds processes {} s after they were ended",
                    self.0.display(),
                    EMPTY_WITHIN.as_secs()
                )));
            }
            self.kill();
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Signals all: `cgroup.kill` reaches what forks at the same time; a group
    /// made threaded has none, so its members are also signalled one by one.
    pub fn kill(&self) {
        let kill = || std::fs::write(self.0.join("cgroup.kill"), "1");
        match kill() {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.take_back();
                if kill().is_ok() {
                    return;
                }
            }
            Err(_) => {}
        }
        for child in self.children() {
            child.kill();
        }
        self.kill_members();
    }

    /// Signals the processes directly in it, not those below.
    pub fn kill_members(&self) {
        for pid in self.pids() {
            // A number may be given to a new process between reading and
            // signalling: the descriptor names one process, checked again.
            if let Ok(process) = sys::pidfd_open(pid)
                && self.pids().contains(&pid)
            {
                let _ = sys::pidfd_signal(&process, Signal::SIGKILL);
            }
        }
    }

    /// Removes it and all below; what still holds a process stays.
    pub fn remove(&self) {
        if std::fs::remove_dir(&self.0).is_ok() {
            return;
        }
        if std::fs::read_dir(&self.0).is_err() {
            self.take_back();
        }
        for child in self.children() {
            child.remove();
        }
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_can_not_be_read_does_not_count_as_empty() {
        let folder = tempfile::tempdir().unwrap();
        let group = Group::at(folder.path().join("call-1"));
        assert!(!group.populated(), "a missing group is empty");
        group.make().unwrap();
        let events = group.path().join("cgroup.events");
        std::fs::write(&events, "populated 1\nfrozen 0\n").unwrap();
        for file in [&events, group.path()] {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o000)).unwrap();
        }
        assert!(group.populated());
    }
}
