//! The memory of this process: no core file, and no look into it by other processes.

use nix::sys::prctl::set_dumpable;
use nix::sys::resource::{Resource, setrlimit};

/// Makes this process not dumpable: it leaves no core file, whatever the limits and the
/// kernel's pattern say, and only a privileged process may attach to it or read its memory
/// and environment (prctl(2), PR_SET_DUMPABLE; core(5)). A program it executes is dumpable
/// again, but writes no core file either.
///
/// # Errors
/// When the kernel refuses.
pub fn protect() -> nix::Result<()> {
    set_dumpable(false)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)
}
