//! What a child is to be, all made before it exists.

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::libc;

/// Who a child becomes when root starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Real, effective and saved user id.
    pub uid: u32,
    /// Real, effective and saved group id; there are no others.
    pub gid: u32,
}

/// What a child executes.
#[derive(Debug, Clone, Copy)]
pub enum Program<'a> {
    /// An open file.
    Open(&'a OwnedFd),
    /// A path, looked up as the new identity. A script is executed this way:
    /// its interpreter would need a descriptor that stays open.
    Path(&'a CString),
}

impl Program<'_> {
    pub(super) fn descriptor(self) -> RawFd {
        match self {
            Self::Open(file) => file.as_raw_fd(),
            Self::Path(_) => libc::AT_FDCWD,
        }
    }
}

/// Everything a child needs, made before it exists: between `clone3` and
/// `execveat` nothing may allocate, since another thread may hold the lock.
#[derive(Debug)]
pub struct ChildSpec<'a> {
    /// The program.
    pub program: Program<'a>,
    /// Arguments, the program's name first.
    pub arguments: &'a [CString],
    /// The whole environment, `NAME=value`.
    pub environment: &'a [CString],
    /// Descriptors 0, 1, 2 … of the child, in this order. Nothing else stays open.
    pub descriptors: &'a [RawFd],
    /// Directory of the cgroup v2 to be born in.
    pub cgroup: Option<&'a OwnedFd>,
    /// Open `cgroup.procs` of version 1 groups to join.
    pub join: &'a [OwnedFd],
    /// Set when root is to be dropped.
    pub identity: Option<Identity>,
    /// Killed when the thread that started it ends.
    pub ends_with_parent: bool,
    /// Working directory, entered as the new identity.
    pub directory: &'a CString,
}

/// A process that was started.
#[derive(Debug)]
pub struct Started {
    /// Its pid, valid until it is waited for.
    pub pid: i32,
    /// A descriptor that names exactly this process.
    pub pidfd: OwnedFd,
}
