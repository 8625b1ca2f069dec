//! One table of measurements, all taken in one run on one machine: medians, ratios and counts.

use anyhow::Result;
use tests::{Shared, Stack};

#[path = "table/browser.rs"]
mod browser;
#[path = "table/memory.rs"]
mod memory;
#[path = "table/scripts.rs"]
mod scripts;
#[path = "table/storage.rs"]
mod storage;
#[path = "table/timing.rs"]
mod timing;

use timing::Row;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let measured = runtime.block_on(measure());
    if let Ok(shared) = runtime.block_on(Shared::get()) {
        shared.cluster.stop()?;
    }
    print(&measured?);
    Ok(())
}

async fn measure() -> Result<Vec<Row>> {
    let stack = Stack::whole().await?;
    let mut rows = memory::of_daemons(&stack).await?;
    rows.extend(storage::note_get(&stack).await?);
    rows.extend(scripts::script_run(&stack).await?);
    rows.extend(browser::calls(&stack).await?);
    tests::spawn::be_quiet();
    Ok(rows)
}

fn print(rows: &[Row]) {
    let columns = ["what", "ours", "other", "ratio", "n", "measured against"];
    let cells: Vec<[String; 6]> = std::iter::once(columns.map(str::to_owned))
        .chain(rows.iter().map(Row::cells))
        .collect();
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| {
            cells
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or_default()
        })
        .collect();
    for (index, row) in cells.iter().enumerate() {
        let line: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        println!("| {} |", line.join(" | "));
        if index == 0 {
            let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            println!("| {} |", rule.join(" | "));
        }
    }
}
