//! The tree below a process, for machines where there are no cgroups to end one by.

use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::{Instant, sleep};

use super::Children;
use crate::cgroup::EMPTY_WITHIN;
use crate::sys;

/// Children of every thread of `process`, proc(5) `/proc/pid/task/tid/children`.
pub(super) fn children_of(process: &str) -> Vec<i32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let mut pids = Vec::new();
    for task in tasks.flatten() {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        pids.extend(
            text.split_ascii_whitespace()
                .filter_map(|pid| pid.parse::<i32>().ok()),
        );
    }
    pids
}

/// Every process below `pid`.
#[must_use]
pub fn descendants(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut next = vec![pid];
    while let Some(parent) = next.pop() {
        let children = children_of(&parent.to_string());
        found.extend(&children);
        next.extend(children);
    }
    found
}

/// Ends `leader` and what is below it, and then every orphan that this process,
/// a subreaper, was given: they can't be told apart by where they came from.
///
/// # Errors
/// When an orphan is still alive [`EMPTY_WITHIN`] later.
pub async fn end(children: &Children, leader: Option<i32>) -> io::Result<()> {
    if let Some(leader) = leader {
        let below = descendants(leader);
        kill(leader);
        below.into_iter().for_each(kill);
    }
    let started = Instant::now();
    loop {
        children.reap_strangers();
        // While the leader still dies, what it started is not an orphan yet.
        let dying = leader.is_some_and(lives);
        let orphans = children.strangers();
        if orphans.is_empty() && !dying {
            return Ok(());
        }
        if started.elapsed() > EMPTY_WITHIN {
            return Err(io::Error::other(format!(
                "{} processes outlive being ended",
                orphans.len()
            )));
        }
        for orphan in orphans {
            descendants(orphan).into_iter().for_each(kill);
            kill(orphan);
        }
        sleep(Duration::from_millis(2)).await;
    }
}

/// Whether `pid`, which nobody waits for meanwhile, has not ended yet.
fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before the state may hold anything, proc(5).
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

fn kill(pid: i32) {
    if let Ok(process) = sys::pidfd_open(pid) {
        let _ = sys::pidfd_signal(&process, Signal::SIGKILL);
    }
}
