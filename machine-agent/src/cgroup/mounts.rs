//! Which control group hierarchies a machine has mounted: one of version 2, or a hybrid with version 1 controllers.

use std::path::PathBuf;

/// Mount points of the hierarchies that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// cgroup2, where processes are grouped and ended.
    pub v2: PathBuf,
    /// Version 1 `memory`, when version 2 doesn't have that controller.
    pub memory: Option<PathBuf>,
    /// Version 1 `pids`, likewise.
    pub pids: Option<PathBuf>,
}

impl Hierarchy {
    /// Reads `/proc/self/mounts`.
    ///
    /// # Errors
    /// A sentence when there is no cgroup2 mount.
    pub fn detect() -> Result<Self, String> {
        let mounts = std::fs::read_to_string("/proc/self/mounts")
            .map_err(|error| format!("/proc/self/mounts: {error}"))?;
        Self::parse(&mounts).ok_or_else(|| {
            "no cgroup2 file system is mounted; mount one, usually at /sys/fs/cgroup".to_owned()
        })
    }

    /// The hierarchies in a table of mounts, proc(5).
    fn parse(mounts: &str) -> Option<Self> {
        let mut v2 = None;
        let mut memory = None;
        let mut pids = None;
        for line in mounts.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let [_, at, kind, options, ..] = fields.as_slice() else {
                continue;
            };
            let has = |name: &str| options.split(',').any(|option| option == name);
            match *kind {
                "cgroup2" => {
                    v2.get_or_insert_with(|| unescape(at));
                }
                "cgroup" if has("memory") => {
                    memory.get_or_insert_with(|| unescape(at));
                }
                "cgroup" if has("pids") => {
                    pids.get_or_insert_with(|| unescape(at));
                }
                _ => {}
            }
        }
        Some(Self {
            v2: v2?,
            memory,
            pids,
        })
    }
}

/// Blanks of a mount point are written as octal escapes.
fn unescape(text: &str) -> PathBuf {
    let mut out = text.to_owned();
    for (escape, plain) in [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ] {
        out = out.replace(escape, plain);
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pure_machine_has_one_hierarchy() {
        let mounts = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n";
        assert_eq!(
            Hierarchy::parse(mounts),
            Some(Hierarchy {
                v2: "/sys/fs/cgroup".into(),
                memory: None,
                pids: None,
            })
        );
    }

    #[test]
    fn a_hybrid_machine_keeps_its_controllers_apart() {
        let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\n\
                      cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n\
                      cgroup /sys/fs/cgroup/pids cgroup rw,relatime,pids 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";
        assert_eq!(
            Hierarchy::parse(mounts),
            Some(Hierarchy {
                v2: "/sys/fs/cgroup/unified".into(),
                memory: Some("/sys/fs/cgroup/memory".into()),
                pids: Some("/sys/fs/cgroup/pids".into()),
            })
        );
    }

    #[test]
    fn without_version_2_there_is_none() {
        assert_eq!(
            Hierarchy::parse("cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\n"),
            None
        );
    }

    #[test]
    fn a_blank_in_a_mount_point_is_read() {
        assert_eq!(unescape("/a\\040b"), PathBuf::from("/a b"));
    }
}
