//! One table of measurements, all taken in one run on one machine: medians, ratios and counts.

use anyhow::{Result, ensure};
use tests::{Shared, Stack};

#[path = "table/browser.rs"]
mod browser;
#[path = "table/load.rs"]
mod load;
#[path = "table/memory.rs"]
mod memory;
#[path = "table/offers.rs"]
mod offers;
#[path = "table/redaction.rs"]
mod redaction;
#[path = "table/scripts.rs"]
mod scripts;
#[path = "table/storage.rs"]
mod storage;
#[path = "table/timing.rs"]
mod timing;

use timing::Row;

/// Parts of the table, by the word that asks for one.
const PARTS: [&str; 7] = [
    "offers",
    "memory",
    "redaction",
    "storage",
    "load",
    "scripts",
    "browser",
];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [browser::bare::WORD, ..] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return browser::bare::main(&words[1..]);
    }
    for word in &words {
        // Cargo puts a word of its own in front.
        ensure!(
            word == "--bench" || PARTS.contains(&word.as_str()),
            "unknown part {word}; allowed are {}",
            PARTS.join(", ")
        );
    }
    let parts: Vec<&str> = PARTS
        .into_iter()
        .filter(|part| words.iter().any(|word| word == part))
        .collect();
    let parts = if parts.is_empty() {
        PARTS.to_vec()
    } else {
        parts
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let measured = runtime.block_on(measure(&parts));
    if parts != ["offers"]
        && let Ok(shared) = runtime.block_on(Shared::get())
    {
        shared.cluster.stop()?;
    }
    print(&measured?);
    Ok(())
}

async fn measure(parts: &[&str]) -> Result<Vec<Row>> {
    if parts == ["offers"] {
        // Pure functions: no daemon is needed.
        return offers::rows();
    }
    let stack = Stack::whole().await?;
    let mut rows = Vec::new();
    for part in parts {
        rows.extend(match *part {
            "offers" => offers::rows()?,
            "memory" => memory::of_daemons(&stack).await?,
            "redaction" => redaction::rows()?,
            "storage" => storage::note_get(&stack).await?,
            "load" => load::many_runs(&stack).await?,
            "scripts" => scripts::script_run(&stack).await?,
            _ => browser::calls(&stack).await?,
        });
    }
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
