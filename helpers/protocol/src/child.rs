//! A helper's child: watched by descriptor, its output read as it comes, ended with all its descendants.
//!
//! The answer comes with the child's exit. A descendant that keeps the output
//! pipe open doesn't delay it: what is there is read, and that is all.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_getfl, fcntl_setfl, memfd_create};
use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper,
    wait, waitpid,
};

/// After the child's exit its output counts as complete when nothing came for this long.
const QUIET: Duration = Duration::from_millis(50);
/// Longest reading after the child's exit, however chatty what it left behind is.
const DRAIN: Duration = Duration::from_millis(250);
/// Longest time spent on ending descendants; the runner ends the rest with the cgroup.
const ENDING: Duration = Duration::from_secs(1);
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// Where output goes as it comes.
pub trait Sink {
    /// Takes the next bytes. Must not block for long.
    fn take(&mut self, bytes: &[u8]);
}

/// One stream of the child.
pub struct Output<'a> {
    pipe: PipeReader,
    sink: &'a mut dyn Sink,
    open: bool,
}

impl<'a> Output<'a> {
    /// A stream whose bytes go to `sink`.
    ///
    /// # Errors
    /// When the pipe can't be made non-blocking.
    pub fn new(pipe: PipeReader, sink: &'a mut dyn Sink) -> io::Result<Self> {
        make_nonblocking(&pipe)?;
        Ok(Self {
            pipe,
            sink,
            open: true,
        })
    }

    /// Reads once; says whether anything came.
    fn read(&mut self, buffer: &mut [u8]) -> bool {
        match self.pipe.read(buffer) {
            Ok(0) => self.open = false,
            Ok(count) => {
                self.sink.take(&buffer[..count]);
                return true;
            }
            Err(error) if again(&error) => {}
            Err(_) => self.open = false,
        }
        false
    }
}

/// What the child reads on stdin, then its end.
pub struct Input {
    pipe: Option<PipeWriter>,
    bytes: Vec<u8>,
    written: usize,
}

impl Input {
    /// `bytes`, written as the child takes them.
    ///
    /// # Errors
    /// When the pipe can't be made non-blocking.
    pub fn new(pipe: PipeWriter, bytes: Vec<u8>) -> io::Result<Self> {
        make_nonblocking(&pipe)?;
        Ok(Self {
            pipe: Some(pipe),
            bytes,
            written: 0,
        })
    }

    fn write(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        while self.written < self.bytes.len() {
            match pipe.write(&self.bytes[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if again(&error) => return,
                // The child doesn't want the rest.
                Err(_) => break,
            }
        }
        self.pipe = None;
    }
}

/// How the child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// At the limit: it and its descendants were killed.
    Limit,
}

/// Makes this process the parent of every orphan among its descendants, so
/// that a child which leaves its session is found all the same.
///
/// # Errors
/// When the kernel refuses.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Passes input and output until the child ends or `deadline` passes, then
/// reads what is there. At the deadline the child and every descendant are
/// killed, and likewise once nobody is left to read this process's answer.
///
/// # Errors
/// When the child can't be watched; it may then still run.
pub fn watch(
    pid: u32,
    mut input: Option<Input>,
    outputs: &mut [Output<'_>],
    deadline: Instant,
) -> io::Result<End> {
    let pid = to_pid(pid)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let mut buffer = vec![0; CHUNK];
    let limit = loop {
        if let Some(input) = &mut input {
            input.write();
        }
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            break true;
        };
        let input_pipe = input.as_ref().and_then(|input| input.pipe.as_ref());
        if wait_ready(Some(&pidfd), outputs, input_pipe, left)? {
            break false;
        }
        if deserted() {
            break true;
        }
        for output in outputs.iter_mut().filter(|output| output.open) {
            output.read(&mut buffer);
        }
    };
    if limit {
        kill_tree(pid);
    }
    drain(outputs, &mut buffer);
    let end = match waitpid(Some(pid), WaitOptions::empty())? {
        _ if limit => End::Limit,
        Some((_, status)) => match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => End::Exited(code),
            (None, Some(signal)) => End::Signalled(signal),
            (None, None) => return Err(io::Error::other("a wait status that is no end")),
        },
        None => return Err(io::Error::other("the child had no wait status")),
    };
    Ok(end)
}

/// Waits until something is ready; true when the child has ended.
fn wait_ready(
    pidfd: Option<&OwnedFd>,
    outputs: &[Output<'_>],
    input: Option<&PipeWriter>,
    at_most: Duration,
) -> io::Result<bool> {
    let mut fds = Vec::with_capacity(4);
    fds.extend(pidfd.map(|pidfd| PollFd::new(pidfd, PollFlags::IN)));
    for output in outputs.iter().filter(|output| output.open) {
        fds.push(PollFd::new(&output.pipe, PollFlags::IN));
    }
    fds.extend(input.map(|input| PollFd::new(input, PollFlags::OUT)));
    let answer = io::stdout();
    // No event is asked for: that its reader is gone is told all the same.
    fds.extend(pidfd.map(|_| PollFd::new(&answer, PollFlags::empty())));
    let timeout = Timespec::try_from(at_most).map_err(io::Error::other)?;
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) => Ok(pidfd.is_some() && !fds[0].revents().is_empty()),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether the reader of this process's answer is gone: whoever started it has
/// died. Where there are no control groups nobody else ends what it started.
fn deserted() -> bool {
    let answer = io::stdout();
    let mut fds = [PollFd::new(&answer, PollFlags::empty())];
    poll(&mut fds, Some(&Timespec::default())).is_ok() && fds[0].revents().contains(PollFlags::ERR)
}

/// Reads what is there: until the end of every pipe, or a short silence, or a bound.
fn drain(outputs: &mut [Output<'_>], buffer: &mut [u8]) {
    let end = Instant::now() + DRAIN;
    while outputs.iter().any(|output| output.open) {
        let mut any = false;
        for output in outputs.iter_mut().filter(|output| output.open) {
            any |= output.read(buffer);
        }
        let now = Instant::now();
        if now >= end {
            return;
        }
        if any || outputs.iter().all(|output| !output.open) {
            continue;
        }
        let quiet_until = now + QUIET.min(end - now);
        if wait_ready(None, outputs, None, quiet_until - now).is_err()
            || Instant::now() >= quiet_until
        {
            return;
        }
    }
}

/// Characters of a command line that are shown.
const SHOWN: usize = 120;

/// A living process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its command line, or its name in brackets; one line of at most 120 characters, and `…`
    /// for what it has beyond them.
    pub command: String,
}

impl Process {
    /// The process of that id; `None` when it is gone or only waits to be reaped.
    #[must_use]
    pub fn find(pid: i32) -> Option<Self> {
        let (_, state) = parent_and_state(pid)?;
        if matches!(state, 'Z' | 'X') {
            return None;
        }
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words: Vec<_> = line
            .split(|byte| *byte == 0)
            .filter(|word| !word.is_empty())
            .map(String::from_utf8_lossy)
            .collect();
        let command = if words.is_empty() {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            format!("[{}]", name.trim_end())
        } else {
            words.join(" ")
        };
        Some(Self {
            pid,
            command: shown(&command),
        })
    }
}

/// A command line on one line. Whoever redacts it knows by the ellipsis that it was cut.
fn shown(command: &str) -> String {
    let mut line: String = command
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(SHOWN)
        .collect();
    if command.chars().nth(SHOWN).is_some() {
        line.push('…');
    }
    line
}

/// Living descendants of this process, by id. With [`adopt_orphans`] that is
/// everything its child started and left.
#[must_use]
pub fn descendants() -> Vec<Process> {
    if !has_children() {
        return Vec::new();
    }
    let mut found: Vec<_> = tree(getpid().as_raw_nonzero().get())
        .into_iter()
        .filter_map(Process::find)
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}

/// Kills what is left of this process's descendants and reaps it. Costs one
/// system call when there is nothing. Call it after [`watch`].
pub fn end_descendants() {
    let end = Instant::now() + ENDING;
    while has_children() && Instant::now() < end {
        for pid in tree(getpid().as_raw_nonzero().get()) {
            kill(pid);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Reaps ended children; false when none are left.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Kills the child and everything below this process until nothing but the
/// child, unreaped, is left.
fn kill_tree(child: Pid) {
    let end = Instant::now() + ENDING;
    let child = child.as_raw_nonzero().get();
    loop {
        let living: Vec<_> = tree(getpid().as_raw_nonzero().get())
            .into_iter()
            .filter(|pid| parent_and_state(*pid).is_some_and(|(_, state)| state != 'Z'))
            .collect();
        if living.is_empty() || Instant::now() >= end {
            break;
        }
        for pid in living {
            kill(pid);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    kill(child);
}

fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may be gone already.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Ids of everything below `root`.
fn tree(root: i32) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Some((parent, _)) = parent_and_state(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(child);
            next.push(child);
        }
    }
    found
}

/// Fields 3 and 4 of `/proc/<pid>/stat` (proc(5)). The name before them may
/// hold anything, so they are counted from its closing parenthesis.
fn parent_and_state(pid: i32) -> Option<(i32, char)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, state))
}

/// `bytes` in memory, sealed against every change, at a descriptor that the
/// next started process inherits under the same number.
///
/// # Errors
/// When the kernel gives no memory for it.
pub fn sealed(name: &str, bytes: &[u8]) -> io::Result<(OwnedFd, RawFd)> {
    let memory = memfd_create(name, MemfdFlags::ALLOW_SEALING)?;
    let mut file = fs::File::from(memory);
    file.write_all(bytes)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    seek(&file, SeekFrom::Start(0))?;
    let number = file.as_raw_fd();
    Ok((file.into(), number))
}

/// The name of a signal, such as `SIGKILL`.
#[must_use]
pub fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    usize::try_from(signal - 1)
        .ok()
        .and_then(|index| NAMES.get(index))
        .map_or_else(|| format!("signal {signal}"), |name| format!("SIG{name}"))
}

fn to_pid(pid: u32) -> io::Result<Pid> {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other(format!("{pid} is no process id")))
}

fn again(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn make_nonblocking(pipe: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&pipe)?;
    Ok(fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_command_line_ends_in_an_ellipsis() {
        assert_eq!(shown("sleep\n1"), "sleep 1");
        assert_eq!(shown(&"b".repeat(120)), "b".repeat(120));
        assert_eq!(shown(&"b".repeat(121)), format!("{}…", "b".repeat(120)));
    }

    #[test]
    fn signals_have_their_names() {
        assert_eq!(signal_name(9), "SIGKILL");
        assert_eq!(signal_name(11), "SIGSEGV");
        assert_eq!(signal_name(31), "SIGSYS");
        assert_eq!(signal_name(40), "signal 40");
    }

    #[test]
    fn sealed_memory_can_not_change() {
        let (memory, _) = sealed("test", b"as it was").unwrap();
        let mut file = fs::File::from(memory);
        let error = file.write(b"x").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(1), "EPERM");
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "as it was");
    }
}
