//! The control group of this call: who is left in it, and whether the kernel killed there for memory.

use std::fs;
use std::path::PathBuf;

/// Where this process is, as `/proc/self/cgroup` and the mounts tell.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Cgroup {
    /// Directory of this call alone, on the unified hierarchy.
    own: Option<PathBuf>,
    /// Files that count the kernel's kills for want of memory.
    kills: Vec<PathBuf>,
}

impl Cgroup {
    /// The control groups of this process. Without any, nothing is found in them.
    pub(crate) fn of_this_process() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::from_tables(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
    }

    /// The tables are those of cgroups(7) and proc(5).
    fn from_tables(groups: &str, mounts: &str) -> Self {
        let mut found = Self::default();
        for line in groups.lines() {
            let mut fields = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let unified = controllers.is_empty();
            if !unified && !controllers.split(',').any(|name| name == "memory") {
                continue;
            }
            let Some(directory) = directory_of(mounts, unified, path) else {
                continue;
            };
            if unified {
                found.kills.push(directory.join("memory.events"));
                if is_own(path) {
                    found.own = Some(directory);
                }
            } else {
                found.kills.push(directory.join("memory.oom_control"));
            }
        }
        found
    }

    /// Ids of the processes in this call's own group; none when it has no own.
    pub(crate) fn members(&self) -> Vec<i32> {
        let text = self
            .own
            .as_ref()
            .and_then(|own| fs::read_to_string(own.join("cgroup.procs")).ok());
        let lines = text.iter().flat_map(|text| text.lines());
        lines.filter_map(|line| line.parse().ok()).collect()
    }

    /// How often the kernel killed for want of memory so far.
    pub(crate) fn memory_kills(&self) -> u64 {
        let texts = self
            .kills
            .iter()
            .filter_map(|path| fs::read_to_string(path).ok());
        texts.map(|text| count_of(&text, "oom_kill")).sum()
    }
}

/// The group was made for one call (or one job) and holds nothing else.
fn is_own(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.starts_with("call-") || last.starts_with("job-")
}

fn count_of(text: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(key, _)| *key == name)
        .and_then(|(_, count)| count.trim().parse().ok())
        .unwrap_or(0)
}

/// The directory of a group's path in the mount of its hierarchy.
fn directory_of(mounts: &str, unified: bool, path: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let fits = match kind.next()? {
            "cgroup2" => unified,
            "cgroup" => !unified && kind.nth(1)?.split(',').any(|option| option == "memory"),
            _ => false,
        };
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = path.strip_prefix(root.trim_end_matches('/'))?;
        fits.then(|| PathBuf::from(point).join(below.trim_start_matches('/')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unified_group_of_a_call_is_found() {
        let found = Cgroup::from_tables(
            "0::/guilds/ada/call-7\n",
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
        );
        assert_eq!(
            found.own,
            Some(PathBuf::from("/sys/fs/cgroup/guilds/ada/call-7"))
        );
        assert_eq!(
            found.kills,
            [PathBuf::from(
                "/sys/fs/cgroup/guilds/ada/call-7/memory.events"
            )]
        );
    }

    #[test]
    fn a_hybrid_counts_memory_in_its_old_hierarchy() {
        let found = Cgroup::from_tables(
            "9:memory:/guilds/ada\n3:cpu,cpuacct:/\n0::/guilds/ada/call-7\n",
            concat!(
                "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
                "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                "33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            ),
        );
        assert_eq!(
            found.kills,
            [
                PathBuf::from("/sys/fs/cgroup/memory/guilds/ada/memory.oom_control"),
                PathBuf::from("/sys/fs/cgroup/unified/guilds/ada/call-7/memory.events"),
            ]
        );
    }

    #[test]
    fn a_group_shared_with_others_is_not_the_calls_own() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(Cgroup::from_tables("0::/user.slice\n", mounts).own, None);
        assert_eq!(Cgroup::from_tables("", mounts), Cgroup::default());
    }

    #[test]
    fn kills_are_counted_by_name() {
        assert_eq!(
            count_of("oom 3\noom_kill 2\noom_group_kill 0\n", "oom_kill"),
            2
        );
        assert_eq!(count_of("", "oom_kill"), 0);
    }
}
