//! The memory of this process: no core file, and no look into it by other processes.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Makes this process not dumpable: it leaves no core file, whatever the limits and the
/// kernel's pattern say, and only a privileged process may attach to it or read its memory
/// and environment (prctl(2), PR_SET_DUMPABLE; core(5)).
///
/// # Errors
/// When the kernel refuses.
pub fn protect() -> std::io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    Ok(())
}
