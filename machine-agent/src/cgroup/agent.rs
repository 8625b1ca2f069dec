//! One agent's directory of control groups as the front makes it: whose it is, what it may write, and its limits.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::{Group, Hierarchy};
use crate::sys::Identity;

/// Most that one agent may use, all its processes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u64,
}

/// `<mount>/<root>/<agent>` in every hierarchy that matters.
#[derive(Debug, Clone)]
pub struct AgentGroup {
    /// The version 2 directory; the agent makes its groups below it.
    pub group: Group,
    /// Version 1 directories, which stay root's.
    v1: Vec<PathBuf>,
}

impl AgentGroup {
    /// Names the directories, makes none.
    #[must_use]
    pub fn named(hierarchy: &Hierarchy, root: &str, agent: &str) -> Self {
        let below = |mount: &PathBuf| mount.join(root).join(agent);
        Self {
            group: Group::at(below(&hierarchy.v2)),
            v1: [&hierarchy.memory, &hierarchy.pids]
                .into_iter()
                .flatten()
                .map(below)
                .collect(),
        }
    }

    /// Makes the directories with their limits and gives the version 2 one to
    /// the agent: the directory, so that it may make groups, and the three
    /// files that moving its own processes needs (cgroup-v2, "Delegation").
    ///
    /// # Errors
    /// When a directory can't be made or given. A limit that the machine
    /// doesn't offer is logged and left out.
    pub fn make(&self, owner: Identity, limits: Limits) -> io::Result<()> {
        let directory = self.group.path();
        if let Some(root) = directory.parent() {
            if let Some(mount) = root.parent() {
                offer_controllers(mount);
            }
            Group::at(root.to_owned()).make()?;
            offer_controllers(root);
        }
        self.group.make()?;
        set_limit(directory, "memory.max", limits.memory_bytes, &self.v1);
        set_limit(directory, "pids.max", limits.processes, &self.v1);
        for directory in &self.v1 {
            fs::create_dir_all(directory)?;
            for (file, value) in [
                ("memory.limit_in_bytes", limits.memory_bytes),
                ("pids.max", limits.processes),
            ] {
                let path = directory.join(file);
                if path.exists() {
                    fs::write(path, value.to_string())?;
                }
            }
        }
        let runner = self.runner();
        runner.make()?;
        for file in [
            "",
            "cgroup.procs",
            "cgroup.threads",
            "cgroup.subtree_control",
        ] {
            let path = directory.join(file);
            std::os::unix::fs::chown(path, Some(owner.uid), Some(owner.gid))?;
        }
        Ok(())
    }

    /// The runner's own group. It stays root's, so that nothing of the agent
    /// can move into it.
    #[must_use]
    pub fn runner(&self) -> Group {
        Group::at(self.group.path().join("runner"))
    }

    /// Open `cgroup.procs` of the version 1 groups, for a child to join.
    ///
    /// # Errors
    /// When one can't be opened.
    pub fn joins(&self) -> io::Result<Vec<OwnedFd>> {
        self.v1
            .iter()
            .map(|directory| {
                fs::OpenOptions::new()
                    .write(true)
                    .open(directory.join("cgroup.procs"))
                    .map(OwnedFd::from)
            })
            .collect()
    }

    /// Ends all that the agent runs and removes the groups it had.
    ///
    /// # Errors
    /// When something outlives being ended.
    pub async fn end(&self) -> io::Result<()> {
        self.group.end().await?;
        for child in self.group.children() {
            child.remove();
        }
        Ok(())
    }

    /// Removes the empty directories themselves, and their root when no other
    /// agent is left below it.
    pub fn remove(&self) {
        self.group.remove();
        for directory in &self.v1 {
            let _ = fs::remove_dir(directory);
        }
        let all = self.v1.iter().map(PathBuf::as_path);
        for root in all.chain([self.group.path()]).filter_map(Path::parent) {
            let _ = fs::remove_dir(root);
        }
    }
}

/// Offers memory and pids to the groups below, where this hierarchy has them.
fn offer_controllers(directory: &Path) {
    let have = fs::read_to_string(directory.join("cgroup.controllers")).unwrap_or_default();
    let control = directory.join("cgroup.subtree_control");
    let offered = fs::read_to_string(&control).unwrap_or_default();
    for name in ["memory", "pids"] {
        let listed = |text: &str| text.split_ascii_whitespace().any(|word| word == name);
        if listed(&have)
            && !listed(&offered)
            && let Err(error) = fs::write(&control, format!("+{name}"))
        {
            tracing::warn!(controller = name, group = %directory.display(), %error, "the controller can't be offered below this group");
        }
    }
}

fn set_limit(directory: &Path, file: &str, value: u64, v1: &[PathBuf]) {
    let path = directory.join(file);
    if path.exists() {
        if let Err(error) = fs::write(&path, value.to_string()) {
            tracing::warn!(file = %path.display(), %error, "the limit can't be set");
        }
    } else if v1.is_empty() {
        tracing::warn!(file = %path.display(), "this machine has no such limit");
    }
}
