//! The only file with unsafe: starting a child by `clone3`, dropping root in it, pidfds and inherited descriptors.

use std::ffi::{CString, c_char};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::libc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

mod spec;
mod step;

pub use spec::{ChildSpec, Identity, Program, Started};
use step::Step;

type Failure = (Step, i32);

/// linux/sched.h; it needs more than the 32 bits of libc's constant.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Starts a child; returns once the program is executed.
///
/// # Errors
/// The step that failed and the system's reason. Nothing is left running.
pub fn start(spec: &ChildSpec<'_>) -> io::Result<Started> {
    let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let arguments = pointers(spec.arguments);
    let environment = pointers(spec.environment);
    let base = first_free(spec, write.as_raw_fd());
    let parent = std::process::id();
    let mut pidfd: RawFd = -1;
    let mut flags = libc::CLONE_PIDFD as u64;
    let mut cgroup = 0;
    if let Some(directory) = spec.cgroup {
        flags |= CLONE_INTO_CGROUP;
        cgroup = directory.as_raw_fd() as u64;
    }
    // SAFETY: `clone_args` is a plain C structure for which zero is valid.
    let mut clone: libc::clone_args = unsafe { std::mem::zeroed() };
    clone.flags = flags;
    clone.pidfd = std::ptr::from_mut(&mut pidfd) as u64;
    clone.exit_signal = libc::SIGCHLD as u64;
    clone.cgroup = cgroup;

    // No handler of ours may run in the child before its signals are reset.
    let blocked = nix::sys::signal::SigSet::all();
    let before = blocked.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_SETMASK)?;
    // SAFETY: without CLONE_VM the child has its own copy of this memory, and
    // it only makes system calls until it executes or exits.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            std::ptr::from_ref(&clone),
            size_of::<libc::clone_args>(),
        )
    };
    if pid == 0 {
        // The pipe moves first: wherever a later step fails, it can be told.
        if let Err(failure) = copy(write.as_raw_fd(), base) {
            report_and_exit(write.as_raw_fd(), failure);
        }
        let failure = become_program(spec, &arguments, &environment, base, parent);
        report_and_exit(base, failure);
    }
    let failed = io::Error::last_os_error();
    before.thread_set_mask()?;
    if pid < 0 {
        return Err(failed);
    }
    drop(write);
    // SAFETY: the kernel stored a new descriptor in `pidfd` for CLONE_PIDFD,
    // and nobody else owns it.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let started = Started {
        pid: i32::try_from(pid).map_err(io::Error::other)?,
        pidfd,
    };
    let error = match read_failure(&read) {
        Said::Executed => return Ok(started),
        Said::Failed(step, errno) => {
            let cause = io::Error::from_raw_os_error(errno);
            io::Error::new(cause.kind(), format!("{}: {cause}", Step::name(step)))
        }
        Said::Nothing => {
            let _ = pidfd_signal(&started.pidfd, nix::sys::signal::Signal::SIGKILL);
            io::Error::new(
                io::ErrorKind::TimedOut,
                format!("it was not executed within {} s", STARTS_WITHIN / 1000),
            )
        }
    };
    let _ = nix::sys::wait::waitpid(nix::unistd::Pid::from_raw(started.pid), None);
    Err(error)
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings
        .iter()
        .map(|text| text.as_ptr())
        .chain([std::ptr::null()])
        .collect()
}

/// What the child told before it executed.
enum Said {
    Executed,
    Failed(u8, i32),
    /// Neither an end nor a failure in time: it can't run.
    Nothing,
}

/// Most milliseconds between a child's birth and its program. A group that
/// its agent froze holds a child back for ever, and its starter with it.
const STARTS_WITHIN: u16 = 5_000;

fn read_failure(read: &OwnedFd) -> Said {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let end = std::time::Instant::now() + std::time::Duration::from_millis(STARTS_WITHIN.into());
    let mut report = [0_u8; 5];
    loop {
        let left = end.saturating_duration_since(std::time::Instant::now());
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        match poll(&mut [PollFd::new(read.as_fd(), PollFlags::POLLIN)], left) {
            Err(nix::errno::Errno::EINTR) => continue,
            Ok(0) => return Said::Nothing,
            _ => {}
        }
        match nix::unistd::read(read, &mut report) {
            Err(nix::errno::Errno::EINTR) => {}
            Ok(5) => {
                let errno = i32::from_ne_bytes([report[1], report[2], report[3], report[4]]);
                return Said::Failed(report[0], errno);
            }
            // End of file: close-on-exec closed the child's end.
            _ => return Said::Executed,
        }
    }
}

fn report_and_exit(pipe: RawFd, (step, errno): Failure) -> ! {
    let number = errno.to_ne_bytes();
    let report = [step as u8, number[0], number[1], number[2], number[3]];
    // SAFETY: both calls are system calls on memory and descriptors of this
    // process; `_exit` runs no destructor of the parent's copy.
    unsafe {
        libc::write(pipe, report.as_ptr().cast(), report.len());
        libc::_exit(127)
    }
}

/// The child's descriptors from here on are free to be overwritten: all that
/// it needs lies below. The pipe goes to this one, the program to the next,
/// then come copies of its future descriptors.
fn first_free(spec: &ChildSpec<'_>, pipe: RawFd) -> RawFd {
    let joins = spec.join.iter().map(AsRawFd::as_raw_fd);
    let most = spec
        .descriptors
        .iter()
        .copied()
        .chain(joins)
        .fold(15, RawFd::max);
    most.max(pipe).max(spec.program.descriptor()) + 1
}

fn copy(from: RawFd, to: RawFd) -> Result<(), Failure> {
    let flags = libc::O_CLOEXEC as usize;
    let arguments = [from as usize, to as usize, flags, 0];
    call(Step::Descriptors, libc::SYS_dup3, arguments)
}

/// What the child does. Only system calls; never returns when it succeeds.
fn become_program(
    spec: &ChildSpec<'_>,
    arguments: &[*const c_char],
    environment: &[*const c_char],
    base: RawFd,
    parent: u32,
) -> Failure {
    let steps = || -> Result<(), Failure> {
        place(spec, base)?;
        reset_signals()?;
        call(Step::Session, libc::SYS_setsid, [0; 4])?;
        raw(libc::SYS_umask, [0o077, 0, 0, 0]);
        lower_limits()?;
        // KEYCTL_JOIN_SESSION_KEYRING (1) without a name: a new, empty one.
        // A kernel without keyrings has nothing to inherit, and a container that
        // forbids the call (EPERM, which the kernel itself never answers here)
        // forbids its child to read any.
        let joined = raw(libc::SYS_keyctl, [1, 0, 0, 0]);
        if joined < 0 && errno() != libc::ENOSYS && errno() != libc::EPERM {
            return Err((Step::Keyring, errno()));
        }
        if let Some(identity) = spec.identity {
            empty_capabilities(true)?;
            drop_root(identity)?;
        }
        empty_capabilities(false)?;
        call(
            Step::NoNewPrivileges,
            libc::SYS_prctl,
            [libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0, 0],
        )?;
        if spec.ends_with_parent {
            // After the change of user, which would undo it.
            let death = [
                libc::PR_SET_PDEATHSIG as usize,
                libc::SIGKILL as usize,
                0,
                0,
            ];
            call(Step::Session, libc::SYS_prctl, death)?;
            if raw(libc::SYS_getppid, [0; 4]) != i64::from(parent) {
                // It died before the wish was known.
                return Err((Step::Session, libc::ESRCH));
            }
        }
        call(
            Step::Directory,
            libc::SYS_chdir,
            [spec.directory.as_ptr() as usize, 0, 0, 0],
        )?;
        Ok(())
    };
    if let Err(failure) = steps() {
        return failure;
    }
    let (directory, path, flags) = match spec.program {
        Program::Open(_) => (base + 1, c"".as_ptr(), libc::AT_EMPTY_PATH),
        Program::Path(path) => (libc::AT_FDCWD, path.as_ptr(), 0),
    };
    // SAFETY: both arrays end in a null pointer and their strings live in the
    // parent's copy of memory, which nothing frees here.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            directory,
            path,
            arguments.as_ptr(),
            environment.as_ptr(),
            flags,
        );
    }
    (Step::Execute, errno())
}

/// A system call by number: glibc's own wrappers of the set-id family would
/// signal the threads that only the parent has.
fn raw(number: libc::c_long, arguments: [usize; 4]) -> i64 {
    let [first, second, third, fourth] = arguments;
    // SAFETY: callers pass what the call's manual page asks for; pointers are
    // to memory that outlives the call. prctl(2) wants zero in arguments that
    // it doesn't use, so a fifth is always given.
    unsafe { libc::syscall(number, first, second, third, fourth, 0_usize) }
}

fn errno() -> i32 {
    // SAFETY: the pointer is to this thread's errno.
    unsafe { *libc::__errno_location() }
}

/// As [`raw`], for a call whose failure is the child's.
fn call(step: Step, number: libc::c_long, arguments: [usize; 4]) -> Result<(), Failure> {
    if raw(number, arguments) < 0 {
        Err((step, errno()))
    } else {
        Ok(())
    }
}

fn place(spec: &ChildSpec<'_>, base: RawFd) -> Result<(), Failure> {
    for procs in spec.join {
        let arguments = [procs.as_raw_fd() as usize, c"0".as_ptr() as usize, 1, 0];
        call(Step::Join, libc::SYS_write, arguments)?;
    }
    // Everything moves out of the way first, so that no target overwrites a source.
    if let Program::Open(file) = spec.program {
        copy(file.as_raw_fd(), base + 1)?;
    }
    for (moved, from) in (base + 2..).zip(spec.descriptors) {
        copy(*from, moved)?;
    }
    let count = spec.descriptors.len();
    for target in 0..count {
        let from = base as usize + 2 + target;
        call(Step::Descriptors, libc::SYS_dup3, [from, target, 0, 0])?;
    }
    // Close-on-exec instead of a close: the pipe and the program are still needed.
    call(
        Step::Descriptors,
        libc::SYS_close_range,
        [
            count,
            u32::MAX as usize,
            libc::CLOSE_RANGE_CLOEXEC as usize,
            0,
        ],
    )
}

fn reset_signals() -> Result<(), Failure> {
    // Straight to the kernel: glibc's wrapper refuses the two signals that it
    // keeps for itself, and whoever started us may have ignored those too.
    // The structure is handler, flags, restorer, mask; SIG_DFL is 0.
    let default = [0_usize; 4];
    for signal in 1..=64_usize {
        let new = default.as_ptr() as usize;
        raw(libc::SYS_rt_sigaction, [signal, new, 0, size_of::<u64>()]);
    }
    let none: u64 = 0;
    call(
        Step::Signals,
        libc::SYS_rt_sigprocmask,
        [
            libc::SIG_SETMASK as usize,
            std::ptr::from_ref(&none) as usize,
            0,
            size_of::<u64>(),
        ],
    )
}

/// Limits only go down: raising one may not be allowed, and isn't wanted.
fn lower_limits() -> Result<(), Failure> {
    for (resource, most) in [
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_NOFILE, 65_536),
        (libc::RLIMIT_MEMLOCK, 8 << 20),
    ] {
        let mut limit = [0_u64; 2];
        let old = std::ptr::from_mut(&mut limit) as usize;
        let number = resource as usize;
        call(Step::Limits, libc::SYS_prlimit64, [0, number, 0, old])?;
        let lower = [limit[0].min(most), limit[1].min(most)];
        let new = std::ptr::from_ref(&lower) as usize;
        call(Step::Limits, libc::SYS_prlimit64, [0, number, new, 0])?;
    }
    Ok(())
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// capabilities(7): ambient, bounding and inheritable go while root may still
/// say so; `keep` leaves permitted and effective for the change of user, which
/// empties them itself. Without `keep` every set is emptied and read back.
fn empty_capabilities(keep: bool) -> Result<(), Failure> {
    let step = Step::Capabilities;
    let header = CapabilityHeader {
        version: CAPABILITY_VERSION_3,
        pid: 0,
    };
    let header = std::ptr::from_ref(&header) as usize;
    // effective, permitted, inheritable; low words, then high words
    let mut sets = [0_u32; 6];
    if keep {
        let clear = libc::PR_CAP_AMBIENT_CLEAR_ALL as usize;
        let ambient = libc::PR_CAP_AMBIENT as usize;
        call(step, libc::SYS_prctl, [ambient, clear, 0, 0])?;
        for capability in 0..64 {
            let drop = libc::PR_CAPBSET_DROP as usize;
            if raw(libc::SYS_prctl, [drop, capability, 0, 0]) < 0 {
                if errno() == libc::EINVAL {
                    break;
                }
                return Err((step, errno()));
            }
        }
        let into = sets.as_mut_ptr() as usize;
        call(step, libc::SYS_capget, [header, into, 0, 0])?;
        let kept = [sets[0], sets[1], 0, sets[3], sets[4], 0];
        let from = kept.as_ptr() as usize;
        return call(step, libc::SYS_capset, [header, from, 0, 0]);
    }
    let from = sets.as_ptr() as usize;
    call(step, libc::SYS_capset, [header, from, 0, 0])?;
    let into = sets.as_mut_ptr() as usize;
    call(step, libc::SYS_capget, [header, into, 0, 0])?;
    if sets == [0; 6] {
        Ok(())
    } else {
        Err((step, libc::EPERM))
    }
}

fn drop_root(identity: Identity) -> Result<(), Failure> {
    let (uid, gid) = (identity.uid as usize, identity.gid as usize);
    call(Step::Identity, libc::SYS_setgroups, [0, 0, 0, 0])?;
    call(Step::Identity, libc::SYS_setresgid, [gid, gid, gid, 0])?;
    call(Step::Identity, libc::SYS_setresuid, [uid, uid, uid, 0])?;
    let ids = |number| {
        let mut got = [0_u32; 3];
        let [first, second, third] = &mut got;
        raw(
            number,
            [
                std::ptr::from_mut(first) as usize,
                std::ptr::from_mut(second) as usize,
                std::ptr::from_mut(third) as usize,
                0,
            ],
        );
        got
    };
    let wrong = ids(libc::SYS_getresuid) != [identity.uid; 3]
        || ids(libc::SYS_getresgid) != [identity.gid; 3]
        || raw(libc::SYS_getgroups, [0, 0, 0, 0]) != 0
        || raw(libc::SYS_setresuid, [usize::MAX, 0, usize::MAX, 0]) == 0;
    if wrong {
        return Err((Step::Verify, libc::EPERM));
    }
    Ok(())
}

/// A descriptor for the process `pid`, pidfd_open(2).
///
/// # Errors
/// `ESRCH` when there is no such process.
pub fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    let result = raw(libc::SYS_pidfd_open, [pid as usize, 0, 0, 0]);
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let number = RawFd::try_from(result).map_err(io::Error::other)?;
    // SAFETY: the kernel just made this descriptor for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Sends a signal to exactly the process that `pidfd` names.
///
/// # Errors
/// `ESRCH` when it was waited for already.
pub fn pidfd_signal(pidfd: &OwnedFd, signal: nix::sys::signal::Signal) -> io::Result<()> {
    let arguments = [pidfd.as_raw_fd() as usize, signal as usize, 0, 0];
    if raw(libc::SYS_pidfd_send_signal, arguments) < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Takes the listening socket that a runner inherits, and sets close-on-exec on it.
///
/// # Errors
/// When descriptor `number` is below 3, closed or not a listening socket.
pub fn inherited_listener(number: RawFd) -> io::Result<std::os::unix::net::UnixListener> {
    if number < 3 {
        return Err(io::Error::other("the listener's descriptor is 3 or more"));
    }
    // SAFETY: the caller is the program's start, before anything else opens or
    // owns descriptors; a wrong number is found by the calls below.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    let listens = nix::sys::socket::getsockopt(&socket, nix::sys::socket::sockopt::AcceptConn);
    if !matches!(listens, Ok(true)) {
        // Not ours to close.
        std::mem::forget(socket);
        return Err(io::Error::other(format!(
            "descriptor {number} is not a listening socket"
        )));
    }
    nix::fcntl::fcntl(
        &socket,
        nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC),
    )?;
    Ok(socket.into())
}

/// A descriptor that we own, registered with the runtime for reading.
///
/// # Errors
/// When the kernel can't watch it.
pub fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` keeps its descriptor open and the same until it is
    // dropped, and the `AsyncFd` owns it; it is never replaced through `get_mut`.
    let watched = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    watched.map_err(|error| io::Error::other(error.to_string()))
}
