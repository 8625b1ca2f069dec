//! Sudden deaths in the middle of a call: nothing runs twice, nothing is lost silently.

use anyhow::Result;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tests::{CallResult, Run, Stack, processes};
use tokio::task::JoinHandle;

fn begin(run: &Run, command: &str) -> JoinHandle<Result<CallResult>> {
    let (run, arguments) = (run.clone(), json!({ "command": command }));
    tokio::spawn(async move { run.call_as("call_1", "shell", arguments).await })
}

#[tokio::test]
async fn a_front_that_dies_and_comes_back_loses_no_call() -> Result<()> {
    let mut stack = Stack::whole().await?;
    let shared = stack.shared;
    let run = stack.run_with_budget(20).await?;
    let call = begin(&run, "echo once >> times; sleep 3.1; cat times");
    processes::until_running(&stack.ada, "sleep 3.1").await?;
    let runner = runner(&stack)?;
    stack.machine_mut()?.kill()?;
    stack.machine_mut()?.start_again(shared).await?;
    let result = call.await??;
    assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
    assert!(
        result.text().ends_with("]\nonce") || result.text().ends_with("]\nonce\n"),
        "{result:?}"
    );
    // The runner was not touched, and it answers the next call too.
    let next = run.call("shell", json!({ "command": "cat times" })).await?;
    assert!(next.text().trim_end().ends_with("]\nonce"), "{next:?}");
    assert_eq!(self::runner(&stack)?, runner);
    Ok(())
}

#[tokio::test]
async fn a_runner_that_dies_makes_the_outcome_unknown_at_once_and_a_new_one_comes() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run_with_budget(20).await?;
    let call = begin(&run, "setsid sleep 3608 & sleep 3609");
    processes::until_running(&stack.ada, "sleep 3609").await?;
    let before = runner(&stack)?;
    kill(Pid::from_raw(i32::try_from(before)?), Signal::SIGKILL)?;
    let result = call.await??;
    assert_eq!(
        result.content,
        "ERROR: outcome unknown: the agent's runner ended\nremaining_tool_calls: 19"
    );
    for command in ["sleep 3608", "sleep 3609"] {
        assert_eq!(processes::with_command(command)?, [], "{command}");
    }
    let next = run
        .call("shell", json!({ "command": "echo alive" }))
        .await?;
    assert!(next.text().contains("alive"), "{next:?}");
    assert_ne!(runner(&stack)?, before);
    Ok(())
}

#[tokio::test]
async fn a_control_plane_that_dies_in_a_call_answers_it_after_its_return() -> Result<()> {
    let mut stack = Stack::whole().await?;
    let run = stack.run_with_budget(20).await?;
    let command = "echo once >> times; sleep 1.3; cat times";
    let call = begin(&run, command);
    processes::until_running(&stack.ada, "sleep 1.3").await?;
    stack.control_plane.kill()?;
    assert!(
        call.await?.is_err(),
        "the answer came from a dead control plane"
    );
    stack.control_plane.start_again().await?;
    let result = begin(&run, command).await??;
    assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
    assert!(result.text().trim_end().ends_with("]\nonce"), "{result:?}");
    assert!(
        result.content.ends_with("\nremaining_tool_calls: 19"),
        "{result:?}"
    );
    let next = run.call("shell", json!({ "command": "cat times" })).await?;
    assert!(next.text().trim_end().ends_with("]\nonce"), "{next:?}");
    Ok(())
}

#[tokio::test]
async fn a_helper_that_dies_is_a_failure_whose_cause_only_the_operator_reads() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run_with_budget(20).await?;
    let call = begin(&run, "sleep 3610");
    processes::until_running(&stack.ada, "sleep 3610").await?;
    let helper = processes::of_uid(stack.ada.uid()?)?
        .into_iter()
        .find(|process| process.command.contains("guilds-code"))
        .map(|process| process.pid)
        .unwrap_or_default();
    kill(Pid::from_raw(i32::try_from(helper)?), Signal::SIGKILL)?;
    let result = call.await??;
    assert!(result.content.starts_with("ERROR: "), "{result:?}");
    assert!(
        result.content.contains("call_1"),
        "the caller learns the call id: {result:?}"
    );
    assert!(
        stack.control_plane.log().contains("call_1"),
        "the log has the cause"
    );
    assert_eq!(processes::with_command("sleep 3610")?, []);
    Ok(())
}

#[tokio::test]
async fn a_second_replica_answers_the_same_run_and_the_same_stored_call() -> Result<()> {
    let stack = Stack::whole().await?;
    let replica = tests::control_plane::ControlPlane::start(
        stack.shared,
        stack.directory.path(),
        stack.database_name(),
        "",
    )
    .await?;
    let api = tests::Api::new(replica.address(), Some(&stack.shared.backend_token));
    let run = stack.run_with_budget(20).await?;
    let call = begin(&run, "echo once >> times; sleep 1; cat times");
    processes::until_running(&stack.ada, "sleep 1").await?;
    let body = json!({ "calls": [{ "id": "call_1", "name": "shell",
        "arguments": { "command": "echo once >> times; sleep 1; cat times" } }] });
    let there = api.post(&run.path("/calls"), &body).await?.expect(200)?;
    let here = call.await??;
    assert_eq!(there["results"][0]["content"], here.content);
    assert!(here.text().trim_end().ends_with("]\nonce"), "{here:?}");
    Ok(())
}

fn runner(stack: &Stack) -> Result<u32> {
    let runners: Vec<_> = processes::of_uid(stack.ada.uid()?)?
        .into_iter()
        .filter(|process| {
            process.command.contains("guilds-machine-agent")
                || process.command.contains("runner --listen-fd")
        })
        .collect();
    anyhow::ensure!(runners.len() == 1, "{runners:?}");
    Ok(runners[0].pid)
}
