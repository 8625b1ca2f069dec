//! What large bodies leave behind in the control plane's memory: next to nothing.

use std::time::Duration;

use anyhow::{Result, ensure};
use hyper::Method;
use hyper::body::Bytes;
use serde_json::json;
use tests::{Run, Stack, processes};

/// Just under the limit of 8 MiB.
const BYTES: usize = 8 * 1024 * 1024 - 1_024;
/// What may stay: buffers of connections, caches, and pages that the allocator keeps.
const MAY_STAY_KIB: u64 = 24 * 1024;

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

#[tokio::test]
async fn large_bodies_leave_the_memory_where_it_was() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(100).await?;
    for _ in 0..20 {
        run.call("note_find", json!({})).await?;
    }
    let before = processes::rss_kib(stack.control_plane.pid())?;
    tokio::try_join!(send(&run, 0), send(&run, 1), send(&run, 2), send(&run, 3))?;
    for number in 4..8 {
        send(&run, number).await?;
    }
    let peak = processes::peak_kib(stack.control_plane.pid())?;
    let mut after = 0;
    // An allocator may give pages back a moment later.
    for _ in 0..50 {
        run.call("note_find", json!({})).await?;
        after = processes::rss_kib(stack.control_plane.pid())?;
        if after <= before + MAY_STAY_KIB {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    ensure!(
        after <= before + MAY_STAY_KIB,
        "{before} KiB before, {peak} KiB at most, {after} KiB after"
    );
    Ok(())
}
