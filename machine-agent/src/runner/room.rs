//! Where one call's processes live, so that all of them can be found and ended: a cgroup, or without root the tree below the runner.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::World;
use crate::cgroup::{EMPTY_WITHIN, Group};
use crate::process::{Children, tree};

/// Name of the group that Chrome and what moves there lives in.
pub const CHROME: &str = "chrome";
/// Name of the runner's own group, which is root's.
const RUNNER: &str = "runner";

/// A place for the processes of one call, or of Chrome.
#[derive(Debug, Clone)]
pub enum Room {
    /// A cgroup of its own.
    Group(Group),
    /// No cgroup: descendants of the leader, and whatever was orphaned.
    Tree(Children),
}

impl Room {
    /// Makes the room `name`. The agent may have made a group of that name,
    /// and frozen or limited it: it is ended and made anew.
    ///
    /// # Errors
    /// When the group can't be made.
    pub async fn open(world: &World, name: &str) -> io::Result<Self> {
        let Some(agent) = &world.group else {
            return Ok(Self::Tree(world.children.clone()));
        };
        let group = Group::at(agent.path().join(name));
        if let Err(error) = std::fs::create_dir(group.path()) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            group.end().await?;
            group.remove();
            std::fs::create_dir(group.path())?;
        }
        Ok(Self::Group(group))
    }

    /// The group to be born in.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Group(group) => Some(group.path()),
            Self::Tree(_) => None,
        }
    }

    /// Whether `pid` lives here; `leader` is the process that was started here.
    #[must_use]
    pub fn holds(&self, pid: i32, leader: i32) -> bool {
        match self {
            Self::Group(group) => group.pids().contains(&pid),
            Self::Tree(_) => pid == leader || tree::descendants(leader).contains(&pid),
        }
    }

    /// Ends all that lives here, `leader` too when it is still alive, and proves it.
    ///
    /// Without cgroups, orphans can't be told apart by the call they came
    /// from: all of them are ended.
    ///
    /// # Errors
    /// When something is still alive [`EMPTY_WITHIN`] later.
    pub async fn end(&self, leader: Option<i32>) -> io::Result<()> {
        match self {
            Self::Group(group) => group.end().await,
            Self::Tree(children) => tree::end(children, leader).await,
        }
    }

    /// Removes the empty room.
    pub fn remove(&self) {
        if let Self::Group(group) = self {
            group.remove();
        }
    }
}

/// Ends what sits in no call's, Chrome's or the runner's group: processes that
/// moved themselves. `live` are the names of the groups of running calls.
///
/// # Errors
/// When something outlives being ended.
pub async fn end_strays(agent: &Group, live: &[String]) -> io::Result<()> {
    for child in agent.children() {
        let name = child.path().file_name().unwrap_or_default();
        let known =
            name == RUNNER || name == CHROME || live.iter().any(|live| name == live.as_str());
        if !known {
            child.end().await?;
            child.remove();
        }
    }
    let started = Instant::now();
    while !agent.pids().is_empty() {
        if started.elapsed() > EMPTY_WITHIN {
            return Err(io::Error::other("a process outlives being ended"));
        }
        agent.kill_members();
        sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}
