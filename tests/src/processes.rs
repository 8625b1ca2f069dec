//! What the kernel says of processes: the tests look at `/proc`, not at what a daemon claims.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::stack::Agent;

/// One process as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its pid.
    pub pid: u32,
    /// Its real, effective, saved and file-system uids.
    pub uids: [u32; 4],
    /// Its command line, arguments joined by spaces.
    pub command: String,
}

/// All processes that are not zombies.
///
/// # Errors
/// When `/proc` can't be read.
pub fn all() -> Result<Vec<Process>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process may end between the listing and the reading.
        if let Ok(process) = one(pid) {
            found.extend(process);
        }
    }
    Ok(found)
}

fn one(pid: u32) -> Result<Option<Process>> {
    let status = status(pid)?;
    if status
        .get("State")
        .is_some_and(|state| state.starts_with('Z'))
    {
        return Ok(None);
    }
    let mut uids = [0; 4];
    let line = status.get("Uid").context("Uid")?;
    for (uid, text) in uids.iter_mut().zip(line.split_whitespace()) {
        *uid = text.parse()?;
    }
    let command = fs::read(format!("/proc/{pid}/cmdline"))?;
    let command = String::from_utf8_lossy(&command)
        .trim_end_matches('\0')
        .replace('\0', " ");
    Ok(Some(Process { pid, uids, command }))
}

/// The lines of `/proc/<pid>/status`.
///
/// # Errors
/// When there is no such process.
pub fn status(pid: u32) -> Result<BTreeMap<String, String>> {
    Ok(fields(&fs::read_to_string(format!("/proc/{pid}/status"))?))
}

/// The lines `Name: value` of a text.
#[must_use]
pub fn fields(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| {
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            (name.to_owned(), value)
        })
        .collect()
}

/// Processes of one uid.
///
/// # Errors
/// When `/proc` can't be read.
pub fn of_uid(uid: u32) -> Result<Vec<Process>> {
    Ok(all()?
        .into_iter()
        .filter(|process| process.uids[0] == uid)
        .collect())
}

/// Processes whose command line has `text` in it.
///
/// # Errors
/// When `/proc` can't be read.
pub fn with_command(text: &str) -> Result<Vec<Process>> {
    Ok(all()?
        .into_iter()
        .filter(|process| process.command.contains(text))
        .collect())
}

/// Proportional set size of a process in KiB: its share of shared pages counted.
///
/// # Errors
/// When it is gone.
pub fn pss_kib(pid: u32) -> Result<u64> {
    let rollup = fields(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?);
    let pss = rollup.get("Pss").context("Pss")?;
    Ok(pss.trim_end_matches(" kB").parse()?)
}

/// Resident set size of a process in KiB.
///
/// # Errors
/// When it is gone.
pub fn rss_kib(pid: u32) -> Result<u64> {
    let status = status(pid)?;
    let rss = status.get("VmRSS").context("VmRSS")?;
    Ok(rss.trim_end_matches(" kB").parse()?)
}

/// The most resident memory that a process ever had since its program began, in KiB.
///
/// # Errors
/// When it is gone.
pub fn peak_kib(pid: u32) -> Result<u64> {
    let status = status(pid)?;
    let peak = status.get("VmHWM").context("VmHWM")?;
    Ok(peak.trim_end_matches(" kB").parse()?)
}

/// Waits until an agent runs exactly `command`.
///
/// # Errors
/// When it doesn't within 30 s.
pub async fn until_running(agent: &Agent, command: &str) -> Result<Process> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        if let Ok(uid) = agent.uid()
            && let Some(process) = of_uid(uid)?
                .into_iter()
                .find(|process| process.command == command)
        {
            return Ok(process);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bail!("{} does not run {command:?}", agent.id)
}

/// Waits until something holds.
///
/// # Errors
/// When it doesn't within `limit`.
pub async fn until(limit: Duration, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + limit;
    while !holds()? {
        ensure!(
            Instant::now() < deadline,
            "it does not hold within {limit:?}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
