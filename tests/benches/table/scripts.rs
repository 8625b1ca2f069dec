//! `script_run` from the backend's request to its result, against Python alone.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;
use tests::{Stack, spawn};

use crate::timing::{KeptClient, Row, median_ms};

const SOURCE: &str = "import sys\nsys.stdin.read()\nprint('ran')\n";
const COUNT: usize = 60;

/// Both run the same source with the same input, in turns.
pub async fn script_run(stack: &Stack) -> Result<Vec<Row>> {
    let run = stack
        .backend
        .start(&json!({ "agent": stack.bob.id, "kind": "direct", "max_tool_calls": 1000 }))
        .await?;
    run.call(
        "script_create",
        json!({ "name": "bench", "description": "d", "source": SOURCE }),
    )
    .await?;
    let file = stack.directory.path().join("bench.py");
    std::fs::write(&file, SOURCE)?;
    let mut client = KeptClient::connect(stack).await?;
    let arguments = json!({ "name": "bench" });
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..COUNT + 3 {
        let took = client.call(&run, "script_run", &arguments).await?;
        let begun = Instant::now();
        let output =
            spawn::output_with_input(spawn::command("/usr/bin/python3").arg(&file), b"{}")?;
        let alone = begun.elapsed();
        ensure!(output.stdout == b"ran\n", "{output:?}");
        // The first rounds make account, runner and file, and fill caches.
        if round >= 3 {
            ours.push(took);
            bare.push(alone);
        }
    }
    Ok(vec![Row {
        what: "script_run, whole path".to_owned(),
        ours: Some(median_ms(&mut ours)),
        other: Some(median_ms(&mut bare)),
        unit: "ms",
        count: COUNT,
        against: "python3 alone".to_owned(),
    }])
}
