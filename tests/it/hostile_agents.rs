//! An agent whose code works against its own runner: its calls fail in time, and the next one runs.

use std::time::Duration;

use anyhow::Result;
use hyper::Method;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tests::{Stack, processes};

/// A call id: 26 letters.
fn id(number: char) -> String {
    number.to_string().repeat(26)
}

async fn shell(stack: &Stack, number: char, command: &str, limit_ms: u32) -> Result<Value> {
    let path = format!(
        "/v1/agents/{}/code/shell/calls/{}",
        stack.ada.id,
        id(number)
    );
    let body = json!({ "arguments": { "command": command }, "env": {},
        "limit_ms": limit_ms, "max_output_bytes": 131_072 });
    stack
        .machine_client()?
        .send(Method::POST, &path, Some(stack.ada.slot()), Some(&body))
        .await?
        .expect(200)
}

async fn ready(stack: &Stack) -> Result<()> {
    let path = format!("/v1/agents/{}", stack.ada.id);
    let answer = stack
        .machine_client()?
        .send(Method::PUT, &path, Some(stack.ada.slot()), None)
        .await?;
    answer.expect(200).map(|_| ())
}

/// Shell text: the agent's directory of groups in `$agent`, this call's in `$call`.
fn groups(stack: &Stack) -> Result<String> {
    Ok(format!(
        "mount=$(awk '$3 == \"cgroup2\" {{ print $2; exit }}' /proc/mounts); \
         agent=$mount/{}/{}; call=$agent/$(sed -n 's,^0::.*/,,p' /proc/self/cgroup); ",
        stack.machine()?.cgroup_root(),
        stack.ada.id
    ))
}

/// A frozen group holds whoever is born in it back for ever, and with it a
/// starter that waits without an end.
#[tokio::test]
async fn groups_that_are_frozen_ahead_hold_no_call_back_for_ever() -> Result<()> {
    let stack = Stack::whole().await?;
    ready(&stack).await?;
    let ahead = groups(&stack)?
        + "sleep 3624 & end=$((SECONDS + 4)); while [ $SECONDS -lt $end ]; do for n in 2 3 4 5 6; do \
           mkdir $agent/call-$n; echo 1 > $agent/call-$n/cgroup.freeze; done; done 2>/dev/null; echo made";
    let others = async {
        processes::until_running(&stack.ada, "sleep 3624").await?;
        for number in ['b', 'c', 'd'] {
            shell(&stack, number, "echo runs", 1_000).await?;
        }
        anyhow::Ok(())
    };
    let both = async { tokio::join!(shell(&stack, 'a', &ahead, 10_000), others) };
    // Three calls of 5 s to be started and 3 s to be ended at the very most.
    let (made, others) = tokio::time::timeout(Duration::from_secs(30), both).await?;
    others?;
    let made = made?;
    let output = made["reply"]["output"].as_str().unwrap_or_default();
    assert!(output.contains("\nmade\n"), "{made}");
    let next = shell(&stack, 'e', "echo runs", 10_000).await?;
    let output = next["reply"]["output"].as_str().unwrap_or_default();
    assert!(output.ends_with("\nruns\n"), "{next}");
    Ok(())
}

#[tokio::test]
async fn a_helper_that_was_moved_away_and_stopped_ends_with_its_call() -> Result<()> {
    let stack = Stack::whole().await?;
    let command = groups(&stack)?
        + "mkdir $agent/away; echo $PPID > $agent/away/cgroup.procs; kill -STOP $PPID; exec sleep 3621";
    let ended = shell(&stack, 'a', &command, 1_000).await?;
    assert_eq!(ended["state"], "failed", "{ended}");
    let helpers = processes::of_uid(stack.ada.uid()?)?
        .into_iter()
        .filter(|process| process.command.contains("guilds-code"))
        .count();
    assert_eq!(helpers, 0);
    assert_eq!(processes::with_command("sleep 3621")?, []);
    Ok(())
}

#[tokio::test]
async fn a_call_that_hides_its_group_is_ended_whole_all_the_same() -> Result<()> {
    let stack = Stack::whole().await?;
    let command = groups(&stack)?
        + "setsid sleep 3622 & kill -STOP $PPID; \
           chmod 0 $call/cgroup.procs $call/cgroup.kill $call/cgroup.events $call; exec sleep 3623";
    let ended = shell(&stack, 'a', &command, 1_000).await?;
    assert_eq!(ended["state"], "failed", "{ended}");
    for command in ["sleep 3622", "sleep 3623"] {
        assert_eq!(processes::with_command(command)?, [], "{command}");
    }
    Ok(())
}

#[tokio::test]
async fn a_runner_that_its_agent_stopped_is_replaced_at_the_start_of_a_run() -> Result<()> {
    let stack = Stack::whole().await?;
    ready(&stack).await?;
    let runner = processes::of_uid(stack.ada.uid()?)?;
    assert_eq!(runner.len(), 1, "{runner:?}");
    kill(
        Pid::from_raw(i32::try_from(runner[0].pid)?),
        Signal::SIGSTOP,
    )?;
    ready(&stack).await?;
    let next = shell(&stack, 'a', "echo runs", 10_000).await?;
    let output = next["reply"]["output"].as_str().unwrap_or_default();
    assert!(output.ends_with("\nruns\n"), "{next}");
    assert!(
        processes::status(runner[0].pid).is_err(),
        "the old one is gone"
    );
    Ok(())
}

#[tokio::test]
async fn a_home_that_can_not_be_entered_is_told_and_mended_by_the_next_run() -> Result<()> {
    let stack = Stack::whole().await?;
    shell(&stack, 'a', "chmod 0 ~", 10_000).await?;
    let refused = shell(&stack, 'b', "echo runs", 10_000).await?;
    assert_eq!(
        refused["reply"]["error"],
        "the agent's home can't be entered (permission denied); the start of its next run sees to it",
        "{refused}"
    );
    ready(&stack).await?;
    let next = shell(&stack, 'c', "echo runs", 10_000).await?;
    let output = next["reply"]["output"].as_str().unwrap_or_default();
    assert!(output.ends_with("\nruns\n"), "{next}");
    Ok(())
}

#[tokio::test]
async fn a_chrome_that_does_not_answer_is_started_again_by_the_next_call() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let fine = run.call("browser_snapshot", json!({})).await?;
    assert_eq!(fine.metadata["error"], Value::Null, "{fine:?}");
    let chromes = processes::of_uid(stack.ada.uid()?)?
        .into_iter()
        .filter(|process| process.command.starts_with("/usr/lib/chromium/"));
    for chrome in chromes {
        // A child of it may have ended meanwhile.
        let _ = kill(Pid::from_raw(i32::try_from(chrome.pid)?), Signal::SIGSTOP);
    }
    let silent = run.call("browser_snapshot", json!({})).await?;
    assert!(silent.content.starts_with("ERROR: "), "{silent:?}");
    let next = run.call("browser_snapshot", json!({})).await?;
    assert!(
        next.content
            .contains("Chrome did not answer any more and was started again"),
        "{next:?}"
    );
    assert!(next.content.contains("url: about:blank"), "{next:?}");
    Ok(())
}
