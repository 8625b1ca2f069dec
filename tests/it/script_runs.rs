//! Scripts that run: their output, their arguments, their bytes, their limit.

use anyhow::{Context, Result};
use hyper::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tests::{Run, Stack, processes};

async fn create(run: &Run, name: &str, source: &str) -> Result<()> {
    let result = run
        .call(
            "script_create",
            json!({ "name": name, "description": "d", "source": source }),
        )
        .await?;
    assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
    Ok(())
}

#[tokio::test]
async fn output_errors_and_exit_are_one_text() -> Result<()> {
    let stack = Stack::whole().await?;
    // Bob has no coding: this is the only tool that runs a command for him.
    let run = stack.run(&stack.bob).await?;
    for (name, source, text, exit_code) in [
        ("plain", "print('hello')", "hello", 0),
        (
            "both",
            "import sys\nprint('out')\nprint('err', file=sys.stderr)",
            "out\n[stderr]\nerr",
            0,
        ),
        (
            "fails",
            "print('out')\nraise SystemExit(3)",
            "out\n[exit 3]",
            3,
        ),
        ("quiet", "pass", "", 0),
    ] {
        create(&run, name, source).await?;
        let result = run.call("script_run", json!({ "name": name })).await?;
        assert_eq!(
            result.text().trim_end_matches('\n'),
            text,
            "{name}: {result:?}"
        );
        assert_eq!(result.metadata["exit_code"], exit_code, "{name}");
        assert_eq!(result.metadata["error"], Value::Null, "{name}");
        assert_eq!(result.metadata["output_filter"], "terminal", "{name}");
        assert_eq!(result.metadata["tool_name"], "script_run", "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn arguments_are_on_stdin_as_json_and_an_empty_object_without() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.bob).await?;
    create(
        &run,
        "echo",
        "import os, sys\nprint(sys.stdin.read(), os.getcwd())",
    )
    .await?;
    let home = stack.bob.home();
    let with = run
        .call(
            "script_run",
            json!({ "name": "echo", "arguments": { "b": 1.50, "a": "ä" } }),
        )
        .await?;
    assert_eq!(
        with.text().trim_end(),
        format!("{{\"b\":1.5,\"a\":\"ä\"}} {home}")
    );
    let without = run.call("script_run", json!({ "name": "echo" })).await?;
    assert_eq!(without.text().trim_end(), format!("{{}} {home}"));
    Ok(())
}

#[tokio::test]
async fn a_script_runs_under_its_own_name_and_as_the_run_found_it() -> Result<()> {
    let stack = Stack::whole().await?;
    let first = stack.run(&stack.bob).await?;
    let parameters = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let script = |source: &str| json!({ "name": "double", "description": "Doubles n.", "source": source, "parameters": parameters });
    let source = "import json, sys\nprint(json.load(sys.stdin)['n'] * 2)";
    first.call("script_create", script(source)).await?;
    let run = stack.run(&stack.bob).await?;
    let result = run.call("double", json!({ "n": 21 })).await?;
    assert_eq!(result.text().trim_end(), "42");
    assert_eq!(result.metadata["tool_name"], "double");
    assert_eq!(result.metadata["exit_code"], 0);
    // Replaced in the middle of a run, it stays what it was for this run.
    first.call("script_create", script("print('new')")).await?;
    let result = run.call("double", json!({ "n": 4 })).await?;
    assert_eq!(result.text().trim_end(), "8");
    let next = stack.run(&stack.bob).await?;
    let result = next.call("double", json!({ "n": 4 })).await?;
    assert_eq!(result.text().trim_end(), "new");
    Ok(())
}

#[tokio::test]
async fn the_file_holds_the_snapshots_bytes_whatever_the_agent_wrote_there() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    create(&run, "honest", "print('honest')").await?;
    run.call("script_run", json!({ "name": "honest" })).await?;
    let change = run
        .call(
            "shell",
            json!({ "command": "echo \"print('changed')\" > scripts/honest.py; ls scripts" }),
        )
        .await?;
    assert!(change.text().contains("honest.py"), "{change:?}");
    let result = run.call("script_run", json!({ "name": "honest" })).await?;
    assert_eq!(result.text().trim_end(), "honest");
    let file = std::fs::read_to_string(format!("{}/scripts/honest.py", stack.ada.home()))?;
    assert_eq!(file, "print('honest')");
    run.call("script_delete", json!({ "name": "honest" }))
        .await?;
    let path = format!("{}/scripts/honest.py", stack.ada.home());
    processes::until(std::time::Duration::from_secs(5), || {
        Ok(!std::fs::exists(&path)?)
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn a_script_is_on_the_machine_from_the_runs_start() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.bob).await?;
    create(&run, "early", "print(1)").await?;
    stack.run(&stack.bob).await?;
    let path = format!("{}/scripts/early.py", stack.bob.home());
    processes::until(std::time::Duration::from_secs(10), || {
        Ok(std::fs::exists(&path)?)
    })
    .await?;
    assert_eq!(std::fs::read_to_string(path)?, "print(1)");
    Ok(())
}

#[tokio::test]
async fn a_link_in_the_place_of_the_scripts_folder_is_not_followed_out_of_the_home() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    run.call("shell", json!({ "command": "mkdir /tmp/elsewhere-$(id -u); rm -rf scripts; ln -s /tmp/elsewhere-$(id -u) scripts" }))
        .await?;
    create(&run, "job", "print('ran')").await?;
    let result = run.call("script_run", json!({ "name": "job" })).await?;
    let outside = format!("/tmp/elsewhere-{}", stack.ada.uid()?);
    assert_eq!(std::fs::read_dir(&outside)?.count(), 0, "{result:?}");
    assert!(result.content.starts_with("ERROR: "), "{result:?}");
    std::fs::remove_dir(outside)?;
    Ok(())
}

/// The control plane's limit of a script is 120 s; the machine is asked with 2 s here, by the same operation.
#[tokio::test]
async fn a_script_that_leaves_a_session_holding_its_stdout_ends_at_its_limit() -> Result<()> {
    let stack = Stack::whole().await?;
    stack.run(&stack.bob).await?;
    let source = "import os, sys, time\n\
        print('begun', flush=True)\n\
        if os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '3605'])\n\
        time.sleep(3606)\n";
    let sha256: String = Sha256::digest(source)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let client = stack.machine_client()?;
    let slot = Some(stack.bob.slot());
    let base = format!("/v1/agents/{}", stack.bob.id);
    let ensured = client.send(Method::PUT, &base, slot, None).await?;
    assert_eq!(ensured.status, 200, "{}", ensured.text);
    let body = json!({
        "arguments": {}, "env": {}, "limit_ms": 2_000, "max_output_bytes": 131_072,
        "script": { "name": "stays", "sha256": sha256, "source": source },
    });
    let begun = std::time::Instant::now();
    let answer = client
        .send(
            Method::POST,
            &format!("{base}/script-run/run/calls/abcdefghijklmnopqrstuvwx23"),
            slot,
            Some(&body),
        )
        .await?;
    let took = begun.elapsed();
    assert_eq!(answer.status, 200, "{}", answer.text);
    let state = answer.json()?;
    assert_eq!(state["state"], "done", "{state}");
    assert_eq!(
        state["reply"]["error"],
        "script stays reached its limit of 2 s"
    );
    assert_eq!(state["reply"]["output"], "begun\n");
    assert!(
        took.as_millis() >= 2_000 && took.as_millis() < 8_000,
        "{took:?}"
    );
    for command in ["sleep 3605", "stays"] {
        let left: Vec<_> = processes::of_uid(stack.bob.uid()?)?
            .into_iter()
            .filter(|process| process.command.contains(command))
            .collect();
        assert_eq!(left, []);
    }
    // The same id answers what was kept and runs nothing again.
    let again = client
        .send(
            Method::POST,
            &format!("{base}/script-run/run/calls/abcdefghijklmnopqrstuvwx23"),
            slot,
            Some(&body),
        )
        .await?;
    assert_eq!(again.json()?, state);
    Ok(())
}

/// The answer comes with the script's end, never with the end of a pipe that its child holds.
#[tokio::test]
async fn a_script_that_ends_first_is_answered_at_once_and_its_child_ends() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.bob).await?;
    create(
        &run,
        "parent",
        "import os\nprint('done', flush=True)\nif os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '3607'])\n",
    )
    .await?;
    let result = run.call("script_run", json!({ "name": "parent" })).await?;
    assert_eq!(result.text().trim_end(), "done");
    let duration = result.metadata["duration_ms"]
        .as_u64()
        .context("duration_ms")?;
    assert!(duration < 10_000, "{duration} ms");
    assert_eq!(processes::with_command("sleep 3607")?, []);
    Ok(())
}

#[tokio::test]
async fn output_without_end_costs_bounded_memory_and_is_counted() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.bob).await?;
    create(
        &run,
        "flood",
        "import os\nchunk = b'x' * 1048576\nfor _ in range(256):\n    os.write(1, chunk)\n",
    )
    .await?;
    let result = run.call("script_run", json!({ "name": "flood" })).await?;
    assert!(result.text().ends_with("\n[truncated]"), "no cut");
    assert_eq!(result.text().len(), 65_536);
    assert_eq!(result.metadata["truncated"], true);
    let original = result.metadata["original_bytes"]
        .as_u64()
        .context("original_bytes")?;
    assert_eq!(original, 268_435_456);
    let front = processes::rss_kib(stack.machine()?.pid())?;
    assert!(front < 200 * 1024, "the front holds {front} KiB");
    Ok(())
}
