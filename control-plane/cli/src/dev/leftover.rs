//! Ends what a killed stack left, known by process id and start time, never by name.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::account::Account;
use super::say;
use super::state::State;

/// Longest wait for a process to end in order.
const PATIENCE: Duration = Duration::from_secs(15);
/// The control groups of the stack's agents lie below this one. It is not the
/// one of an installed machine agent, because a start ends what it finds here.
pub(crate) const CGROUP_ROOT: &str = "guilds-dev";

/// A process that can't be mistaken for a later one of the same id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pid: i32,
    /// Clock ticks since boot, field 22 of `/proc/<pid>/stat`.
    start: u64,
    boot: String,
}

impl Identity {
    /// The living process of that id.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        Some(Self {
            pid,
            start: start_of(pid)?,
            boot: boot()?,
        })
    }

    /// For a file.
    pub(crate) fn text(&self) -> String {
        format!("{} {} {}\n", self.pid, self.start, self.boot)
    }

    fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        Some(Self {
            pid: words.next()?.parse().ok()?,
            start: words.next()?.parse().ok()?,
            boot: words.next()?.to_owned(),
        })
    }

    fn lives(&self) -> bool {
        boot().as_ref() == Some(&self.boot) && start_of(self.pid) == Some(self.start)
    }
}

/// Ends the daemons whose ids a killed stack left, the machine agent first, and
/// then its agents' processes.
pub(crate) async fn end(state: &State, account: &Account) {
    let mut any = false;
    for (name, signal) in [
        ("machine-agent", Signal::SIGTERM),
        ("control-plane", Signal::SIGTERM),
        // Fast shutdown: sessions are cut, data is written.
        ("database", Signal::SIGINT),
    ] {
        let path = state.path("pids").join(name);
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        any = true;
        if let Some(identity) = Identity::read(&text)
            && identity.lives()
        {
            say(&format!(
                "ending the {name} (pid {}) of a stack that was killed",
                identity.pid
            ));
            end_one(&identity, signal).await;
        }
        let _ = fs::remove_file(path);
    }
    if any && account.is_root() {
        end_agents().await;
    }
}

async fn end_one(identity: &Identity, signal: Signal) {
    let pid = Pid::from_raw(identity.pid);
    let _ = kill(pid, signal);
    let end = Instant::now() + PATIENCE;
    while identity.lives() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    if identity.lives() {
        let _ = kill(pid, Signal::SIGKILL);
        while identity.lives() && Instant::now() < end + PATIENCE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Ends every process in the control groups of the stack's agents: a machine
/// agent that was killed leaves its runners and their Chromes there.
async fn end_agents() {
    let groups = agent_groups(Path::new("/proc/mounts"));
    for group in &groups {
        let _ = fs::write(group.join("cgroup.kill"), "1");
    }
    let end = Instant::now() + PATIENCE;
    while groups.iter().any(|group| populated(group)) && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn agent_groups(mounts: &Path) -> Vec<PathBuf> {
    let mounts = fs::read_to_string(mounts).unwrap_or_default();
    let points = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let point = fields.next()?;
        (fields.next()? == "cgroup2").then(|| Path::new(point).join(CGROUP_ROOT))
    });
    points
        .flat_map(|root| fs::read_dir(root).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

fn populated(group: &Path) -> bool {
    fs::read_to_string(group.join("cgroup.events"))
        .is_ok_and(|events| events.lines().any(|line| line == "populated 1"))
}

fn start_of(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    start_in(&stat)
}

/// A process that only waits to be reaped counts as gone.
fn start_in(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    // Field 3 was the state; the start is field 22.
    fields.nth(18)?.parse().ok()
}

fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_field_22_whatever_the_name() {
        let stat = "42 (a) b) S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1 1";
        assert_eq!(start_in(stat), Some(987_654));
        assert_eq!(start_in(&stat.replace(") S ", ") Z ")), None);
        assert_eq!(start_in(""), None);
    }

    #[test]
    fn this_process_lives_and_an_older_one_of_its_id_does_not() {
        let own = Identity::of(std::process::id()).unwrap();
        let read = Identity::read(&own.text()).unwrap();
        assert_eq!(read, own);
        assert!(read.lives());
        let older = Identity {
            start: own.start - 1,
            ..own
        };
        assert!(!older.lives());
    }
}
