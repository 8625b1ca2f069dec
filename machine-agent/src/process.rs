//! Children by pidfd: each is waited for by whoever started it, and adopted orphans are reaped beside them.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use tokio::io::unix::AsyncFd;

use crate::sys::{self, ChildSpec};

pub mod tree;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(Signal),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "killed by {signal}"),
        }
    }
}

/// The pids this process started and has yet to wait for.
///
/// As a subreaper it also becomes the parent of strangers; a wait for "any
/// child" would steal the exit of its own, so strangers are waited for one by one.
#[derive(Debug, Clone, Default)]
pub struct Children(Arc<Mutex<BTreeSet<i32>>>);

impl Children {
    fn own(&self) -> std::sync::MutexGuard<'_, BTreeSet<i32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a child of ours.
    ///
    /// # Errors
    /// As [`sys::start`].
    pub fn start(&self, spec: &ChildSpec<'_>) -> io::Result<Child> {
        // Held over the start, so that a quick exit isn't taken for a stranger's.
        let mut own = self.own();
        let started = sys::start(spec)?;
        let pidfd = match sys::watch(started.pidfd) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                // Nobody could see its end; it is reaped as a stranger.
                if let Ok(process) = sys::pidfd_open(started.pid) {
                    let _ = sys::pidfd_signal(&process, Signal::SIGKILL);
                }
                return Err(error);
            }
        };
        own.insert(started.pid);
        drop(own);
        Ok(Child {
            pid: started.pid,
            pidfd,
            collected: AtomicBool::new(false),
            children: self.clone(),
        })
    }

    /// Pids of living or dead children that we did not start.
    #[must_use]
    pub fn strangers(&self) -> Vec<i32> {
        let own = self.own();
        tree::children_of("self")
            .into_iter()
            .filter(|pid| !own.contains(pid))
            .collect()
    }

    /// Waits for strangers that have ended.
    pub fn reap_strangers(&self) {
        let own = self.own();
        for pid in tree::children_of("self") {
            if !own.contains(&pid) {
                let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
            }
        }
    }
}

/// A child of ours.
#[derive(Debug)]
pub struct Child {
    /// Its pid, for messages and for `/proc`.
    pub pid: i32,
    pidfd: AsyncFd<OwnedFd>,
    /// Once true, the pid may be another process's.
    collected: AtomicBool,
    children: Children,
}

impl Drop for Child {
    /// One that nobody waited for is left to [`Children::reap_strangers`].
    fn drop(&mut self) {
        if !self.collected.load(Ordering::Acquire) {
            self.children.own().remove(&self.pid);
        }
    }
}

impl Child {
    /// Waits for the end. Safe to cancel and to ask again.
    ///
    /// # Errors
    /// When the system refuses the wait.
    pub async fn exited(&self) -> io::Result<Exit> {
        loop {
            let mut ready = self.pidfd.readable().await?;
            if let Some(exit) = self.try_exited()? {
                return Ok(exit);
            }
            ready.clear_ready();
        }
    }

    fn try_exited(&self) -> io::Result<Option<Exit>> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
        // Held over the wait: once it is collected, a start may be given the same pid.
        let mut own = self.children.own();
        let status = waitid(Id::PIDFd(self.pidfd.get_ref().as_fd()), flags)?;
        let exit = match status {
            WaitStatus::Exited(_, code) => Exit::Code(code),
            WaitStatus::Signaled(_, signal, _) => Exit::Signal(signal),
            _ => return Ok(None),
        };
        own.remove(&self.pid);
        self.collected.store(true, Ordering::Release);
        Ok(Some(exit))
    }

    /// Signals this process alone.
    ///
    /// # Errors
    /// When it has been waited for.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        sys::pidfd_signal(self.pidfd.get_ref(), signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spawn::{self, AgentStart};
    use std::path::Path;

    #[tokio::test]
    async fn a_child_that_nobody_waited_for_counts_as_a_stranger() {
        let children = Children::default();
        let start = AgentStart {
            program: Path::new("/bin/sleep"),
            arguments: vec!["60".to_owned()],
            environment: Vec::new(),
            stdio: [None; 3],
            cgroup: None,
            directory: Path::new("/"),
            ends_with_runner: false,
        };
        let child = spawn::for_agent(&children, &start).unwrap();
        let pid = child.pid;
        assert!(!children.strangers().contains(&pid));
        child.signal(Signal::SIGKILL).unwrap();
        drop(child);
        assert!(children.strangers().contains(&pid));
        // Not by `reap_strangers`, which would take other tests' children along.
        waitpid(Pid::from_raw(pid), None).unwrap();
    }
}
