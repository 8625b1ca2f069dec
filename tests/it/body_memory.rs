//! Large bodies don't add up in the control plane's memory: what the first leave, later ones use again.

use std::time::Duration;

use anyhow::{Result, ensure};
use hyper::Method;
use hyper::body::Bytes;
use serde_json::json;
use tests::{Run, Stack, processes};

/// Just under the limit of 8 MiB.
const BYTES: usize = 8 * 1024 * 1024 - 1_024;
/// What later rounds may add to the first: which thread's pages a body meets differs.
const MAY_ADD_KIB: u64 = 24 * 1024;
/// Rounds after the first.
const ROUNDS: usize = 3;

/// A batch with one large call, in a shape of its own: what becomes of it differs.
fn body(number: usize) -> Bytes {
    let id = format!("large_{number}");
    let call = match number % 4 {
        // Refused by validation.
        0 => {
            json!({ "id": id, "name": "note_find", "arguments": { "query": "x", "no": "y".repeat(BYTES) } })
        }
        // Over the limit of a note.
        1 => json!({ "id": id, "name": "note_write",
            "arguments": { "level": "agent", "key": "a.md", "content": "é".repeat(BYTES / 2) } }),
        // JSON in a text, as models send it: escaped once more.
        2 => json!({ "id": id, "name": "note_get",
            "arguments": json!({ "path": "\"".repeat(BYTES / 6) }).to_string() }),
        // Many values.
        _ => json!({ "id": id, "name": "unknown",
            "arguments": { "list": vec!["z".repeat(97); BYTES / 100] } }),
    };
    json!({ "calls": [call] }).to_string().into()
}

async fn send(run: &Run, number: usize) -> Result<()> {
    let path = run.path("/calls");
    let answer = run.api().send(Method::POST, &path, body(number)).await?;
    ensure!(answer.status == 200, "{number}: {}", answer.text);
    Ok(())
}

/// One body of each shape at once, then one after the other.
async fn round(run: &Run, first: usize) -> Result<()> {
    tokio::try_join!(
        send(run, first),
        send(run, first + 1),
        send(run, first + 2),
        send(run, first + 3)
    )?;
    for number in first + 4..first + 8 {
        send(run, number).await?;
    }
    Ok(())
}

#[tokio::test]
async fn large_bodies_do_not_add_up() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(200).await?;
    round(&run, 0).await?;
    // An allocator gives pages back a moment later, when its thread works again.
    for _ in 0..20 {
        run.call("note_find", json!({})).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = processes::rss_kib(stack.control_plane.pid())?;
    for number in 1..=ROUNDS {
        round(&run, number * 8).await?;
    }
    let mut after = 0;
    for _ in 0..50 {
        run.call("note_find", json!({})).await?;
        after = processes::rss_kib(stack.control_plane.pid())?;
        if after <= before + MAY_ADD_KIB {
            println!("{before} KiB after the first round, {after} KiB after the last");
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let peak = processes::peak_kib(stack.control_plane.pid())?;
    ensure!(
        after <= before + MAY_ADD_KIB,
        "{before} KiB after the first round, {peak} KiB at most, {after} KiB after the last"
    );
    Ok(())
}
