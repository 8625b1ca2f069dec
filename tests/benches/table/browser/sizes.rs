//! What a call takes beside time: memory, the program's size, and the bytes of a tree that a model reads.

use std::path::Path;

use anyhow::{Context, Result};
use tests::{Stack, spawn};

use super::agent_browser::AgentBrowser;
use super::mcp::Mcp;
use super::verbs::{Subject, Verb};
use super::{Field, fresh};
use crate::timing::Row;

/// Peaks are medians of this many calls.
const PEAKS: usize = 5;

/// The bytes of the page's tree that a model reads, beside those of another's.
pub async fn tree(stack: &Stack, subject: &Subject, mcp: &mut Mcp) -> Result<Row> {
    let (_, ours) = fresh::by_helper(stack, Verb::Snapshot, subject)?;
    let (_, other) = mcp.call(Verb::Snapshot, subject).await?;
    Ok(Row {
        what: "bytes of this page's snapshot".to_owned(),
        ours: Some(shorter(u64::try_from(ours.len())?)?),
        other: Some(shorter(u64::try_from(other.len())?)?),
        unit: "KiB",
        count: 1,
        against: "@playwright/mcp".to_owned(),
    })
}

/// The most memory of the call that needs most, beside another's peak in KiB.
pub fn memory(stack: &Stack, subject: &Subject, other_kib: u64, against: &str) -> Result<Row> {
    let peak = median(|| fresh::helper_peak_kib(stack, Verb::Snapshot, subject))?;
    Ok(Row {
        what: "browser_snapshot, helper, peak RSS".to_owned(),
        ours: Some(shorter(peak)?),
        other: Some(shorter(other_kib)?),
        unit: "MiB",
        count: PEAKS,
        against: against.to_owned(),
    })
}

impl Field<'_> {
    /// Rows beside the times that need nobody kept alive.
    pub fn sizes(&self) -> Result<Vec<Row>> {
        let port = super::port(self.stack);
        let node =
            median(|| fresh::node_peak_kib(&self.node, port, Verb::Snapshot, &self.subject))?;
        let mut rows = vec![memory(
            self.stack,
            &self.subject,
            node,
            "playwright-core, fresh Node",
        )?];
        rows.extend(self.programs()?);
        Ok(rows)
    }

    /// Programs as a package ships them, without their debug information.
    fn programs(&self) -> Result<Vec<Row>> {
        let folder = self.stack.directory.path();
        let ours = stripped(Path::new(fresh::HELPER), folder)?;
        let theirs = AgentBrowser::program(&super::peers(self.stack));
        let node = std::fs::canonicalize(&self.node)?;
        let mut rows = Vec::new();
        for (program, against) in [
            (theirs, "agent-browser, stripped"),
            (node, "Node alone, stripped"),
        ] {
            if program.exists() {
                rows.push(Row {
                    what: "guilds-browser, the program, stripped".to_owned(),
                    ours: Some(shorter(ours)?),
                    other: Some(shorter(stripped(&program, folder)?)?),
                    unit: "MiB",
                    count: 1,
                    against: against.to_owned(),
                });
            }
        }
        Ok(rows)
    }
}

fn median(mut measure: impl FnMut() -> Result<u64>) -> Result<u64> {
    let mut all = (0..PEAKS).map(|_| measure()).collect::<Result<Vec<_>>>()?;
    all.sort_unstable();
    all.get(PEAKS / 2).copied().context("nothing was measured")
}

/// A number in the next larger unit.
fn shorter(number: u64) -> Result<f64> {
    Ok(f64::from(u32::try_from(number)?) / 1024.0)
}

/// KiB of a program without symbols and debug information.
fn stripped(program: &Path, folder: &Path) -> Result<u64> {
    let bare = folder.join("stripped");
    spawn::run(
        spawn::command("/usr/bin/strip")
            .arg("-o")
            .arg(&bare)
            .arg(program),
    )?;
    Ok(std::fs::metadata(&bare)?.len() / 1024)
}
