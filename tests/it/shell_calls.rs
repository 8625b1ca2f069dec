//! `shell`: its first line, its limit, what it leaves behind, its output.

use anyhow::Result;
use serde_json::{Value, json};
use tests::{CallResult, Stack, processes};

/// First line of a result and what follows it.
fn parts(result: &CallResult) -> (&str, &str) {
    result
        .text()
        .split_once('\n')
        .unwrap_or((result.text(), ""))
}

/// `[<how> · 0.1 s · <where>]` with any time.
fn is_first_line(line: &str, how: &str, place: &str) -> bool {
    let Some(seconds) = line
        .strip_prefix(&format!("[{how} · "))
        .and_then(|rest| rest.strip_suffix(&format!(" s · {place}]")))
    else {
        return false;
    };
    seconds.split_once('.').is_some_and(|(whole, tenths)| {
        whole.parse::<u32>().is_ok() && tenths.len() == 1 && tenths.parse::<u32>().is_ok()
    })
}

#[tokio::test]
async fn the_first_line_tells_exit_time_and_folder() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run
        .call(
            "shell",
            json!({ "command": "mkdir app; echo out; echo err >&2; echo last" }),
        )
        .await?;
    let (first, output) = parts(&result);
    assert!(is_first_line(first, "exited 0", "~"), "{first}");
    assert_eq!(output.trim_end_matches('\n'), "out\nerr\nlast");
    assert_eq!(result.metadata["exit_code"], 0);
    assert_eq!(result.metadata["error"], Value::Null);
    assert_eq!(result.metadata["output_filter"], "terminal");

    let result = run
        .call(
            "shell",
            json!({ "command": "pwd; cat; exit 3", "cwd": "app", "stdin": "typed" }),
        )
        .await?;
    let (first, output) = parts(&result);
    assert!(is_first_line(first, "exited 3", "~/app"), "{first}");
    assert!(
        output.starts_with(&format!("{}/app\ntyped", stack.ada.home())),
        "{output}"
    );
    assert_eq!(result.metadata["exit_code"], 3);
    assert_eq!(result.metadata["error"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn it_runs_as_the_agents_own_account_with_nothing_of_the_daemons() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run
        .call(
            "shell",
            json!({ "command": "id -un; id -gn; id -G; pwd; umask" }),
        )
        .await?;
    let (_, output) = parts(&result);
    let uid = stack.ada.uid()?;
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines[0], stack.ada.id);
    assert_eq!(lines[1], stack.ada.id);
    assert!(!lines[2].contains(' '), "one group: {output}");
    assert_eq!(lines[3], stack.ada.home());
    assert_eq!(lines[4], "0077");
    assert_ne!(uid, 0);
    Ok(())
}

#[tokio::test]
async fn a_missing_folder_is_named() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run
        .call(
            "shell",
            json!({ "command": "true", "cwd": "no/such/place" }),
        )
        .await?;
    assert!(result.content.starts_with("ERROR: "), "{result:?}");
    assert!(result.content.contains("no/such/place"), "{result:?}");
    Ok(())
}

#[tokio::test]
async fn arguments_outside_the_schema_are_refused() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for (arguments, word) in [
        (json!({}), "command"),
        (json!({ "command": "true", "limit_s": 51 }), "50"),
        (json!({ "command": "true", "limit_s": 0 }), "1"),
        (json!({ "command": "true", "wait_s": 5 }), "wait_s"),
    ] {
        let result = run.call("shell", arguments.clone()).await?;
        assert!(
            result.content.starts_with("ERROR: "),
            "{arguments}: {result:?}"
        );
        assert!(result.content.contains(word), "{arguments}: {result:?}");
    }
    Ok(())
}

/// The child has a session of its own and holds stdout; only its cgroup tells that it belongs to the call.
#[tokio::test]
async fn at_its_limit_a_call_ends_with_what_it_had_and_nothing_stays_alive() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let command =
        "echo begun; setsid sleep 3601 & setsid bash -c 'trap \"\" TERM; sleep 3602' & sleep 3603";
    let result = run
        .call("shell", json!({ "command": command, "limit_s": 2 }))
        .await?;
    let (first, output) = parts(&result);
    assert!(is_first_line(first, "limit_reached", "~"), "{first}");
    assert!(output.starts_with("begun"), "{output}");
    assert_eq!(result.metadata["exit_code"], Value::Null);
    let duration = result.metadata["duration_ms"].as_u64().unwrap_or_default();
    assert!((2_000..8_000).contains(&duration), "{duration} ms");
    for seconds in ["sleep 3601", "sleep 3602", "sleep 3603"] {
        assert_eq!(processes::with_command(seconds)?, [], "{seconds}");
    }
    Ok(())
}

#[tokio::test]
async fn what_it_leaves_behind_is_named_and_ends_with_it() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run
        .call("shell", json!({ "command": "setsid sleep 3604 & echo $!" }))
        .await?;
    let (first, output) = parts(&result);
    assert!(is_first_line(first, "exited 0", "~"), "{first}");
    let last = output.trim_end().lines().last().unwrap_or_default();
    assert!(last.contains("sleep 3604"), "{output}");
    assert!(
        last.chars().any(|character| character.is_ascii_digit()),
        "{last}"
    );
    assert_eq!(processes::with_command("sleep 3604")?, []);
    Ok(())
}

#[tokio::test]
async fn an_end_by_signal_is_told() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run
        .call("shell", json!({ "command": "echo before; kill -KILL $$" }))
        .await?;
    let (first, output) = parts(&result);
    assert!(first.starts_with("[killed "), "{first}");
    assert!(first.contains("KILL"), "{first}");
    assert!(output.starts_with("before"), "{output}");
    assert_eq!(result.metadata["error"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn output_is_what_a_terminal_would_show() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let command = r"printf '\033[31mred\033[0m\n10%%\r20%%\r30%%\nabd\bc\n'; yes same | head -n 30";
    let result = run.call("shell", json!({ "command": command })).await?;
    let (_, output) = parts(&result);
    assert_eq!(
        output.trim_end(),
        "red\n30%\nabc\nsame\n[last line repeated 29 more times]"
    );
    Ok(())
}

#[tokio::test]
async fn long_output_keeps_both_ends_and_a_file_that_the_agent_reads() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run
        .call("shell", json!({ "command": "seq 1 100000" }))
        .await?;
    let (_, output) = parts(&result);
    assert!(output.starts_with("1\n2\n3\n"), "the first third is there");
    assert!(
        output.trim_end().ends_with("\n99999\n100000"),
        "the end is there"
    );
    assert!(output.len() < 36 * 1024, "{} bytes", output.len());
    // seq 1 100000 prints 588,895 bytes.
    let original = result.metadata["original_bytes"]
        .as_u64()
        .unwrap_or_default();
    assert!(original >= 588_895, "{original}");
    let numbers: Vec<_> = output
        .lines()
        .filter(|line| line.parse::<u32>().is_err())
        .collect();
    let marker = numbers.join(" ");
    let path = marker
        .split(|character: char| character.is_whitespace() || "`'\"()[],;".contains(character))
        .find(|word| word.contains('/'))
        .unwrap_or_default()
        .trim_end_matches('.');
    let whole = run
        .call("shell", json!({ "command": format!("wc -c < {path}") }))
        .await?;
    assert_eq!(parts(&whole).1.trim(), "588895", "{marker}");
    Ok(())
}
