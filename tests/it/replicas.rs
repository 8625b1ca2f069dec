//! Two control planes over one database: one run, one budget, one list of call ids, whichever is asked.

use anyhow::{Context, Result};
use hyper::Method;
use serde_json::{Value, json};
use sqlx::Connection as _;
use tests::control_plane::ControlPlane;
use tests::processes::{until_running, with_command};
use tests::{Api, Run, Stack, api};

/// A second control plane, and a client of it with the backend's token.
async fn second(stack: &Stack) -> Result<(ControlPlane, Api)> {
    let other = ControlPlane::start(
        stack.shared,
        stack.directory.path(),
        stack.database_name(),
        "",
    )
    .await?;
    let client = stack.backend.at(other.address());
    Ok((other, client))
}

fn one(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "calls": [{ "id": id, "name": name, "arguments": arguments }] })
}

#[tokio::test]
async fn calls_at_both_replicas_share_one_budget() -> Result<()> {
    let stack = Stack::storage().await?;
    let (_other, there) = second(&stack).await?;
    let run = stack.run_with_budget(25).await?;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..60 {
        let client = if number % 2 == 0 {
            &stack.backend
        } else {
            &there
        };
        let (client, path) = (client.clone(), run.path("/calls"));
        let body = one(&format!("call_{number}"), "note_find", json!({}));
        calls.spawn(async move { client.post(&path, &body).await?.expect(200) });
    }
    let mut left = Vec::new();
    while let Some(answer) = calls.join_next().await {
        let result = api::results(&answer??)?.pop().context("a result")?;
        match result.metadata["error"].as_str() {
            None => left.push(
                result
                    .content
                    .rsplit(' ')
                    .next()
                    .context("N")?
                    .parse::<u32>()?,
            ),
            Some(error) => assert_eq!(error, "no tool calls remain in this run"),
        }
    }
    left.sort_unstable();
    assert_eq!(left, (0..25).collect::<Vec<_>>());
    Ok(())
}

#[tokio::test]
async fn a_call_id_of_one_replica_is_known_to_the_other() -> Result<()> {
    let stack = Stack::storage().await?;
    let (_other, there) = second(&stack).await?;
    let run = stack.run_with_budget(9).await?;
    let write = |content: &str| {
        one(
            "call_1",
            "note_write",
            json!({ "level": "agent", "key": "a.md", "content": content }),
        )
    };
    let path = run.path("/calls");
    let first = stack.backend.post(&path, &write("x")).await?;
    let again = there.post(&path, &write("x")).await?;
    assert_eq!((again.status, &again.text), (200, &first.text));
    let reused = there.post(&path, &write("y")).await?;
    assert_eq!(reused.refusal(), (409, "call_id_reused".to_owned()));
    Ok(())
}

#[tokio::test]
async fn starts_with_one_id_at_both_replicas_answer_one_run() -> Result<()> {
    let stack = Stack::storage().await?;
    let (_other, there) = second(&stack).await?;
    for _ in 0..5 {
        let start = json!({ "agent": stack.ada.id, "kind": "direct", "id": uuid() });
        let (here, there) = tokio::try_join!(
            stack.backend.post("/v1/runs", &start),
            there.post("/v1/runs", &start),
        )?;
        let (here, there) = (here.expect(201)?, there.expect(201)?);
        assert_eq!(here["run"], start["id"]);
        assert_eq!(here["tools"], there["tools"]);
        assert_eq!(here["created_at"], there["created_at"]);
    }
    Ok(())
}

/// A random UUID, from the kernel.
fn uuid() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/uuid")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[tokio::test]
async fn a_turn_begun_at_one_replica_holds_at_the_other() -> Result<()> {
    let stack = Stack::storage().await?;
    let (_other, there) = second(&stack).await?;
    let run = stack.run_with_budget(9).await?;
    let find = |id: &str| one(id, "note_find", json!({}));
    let path = run.path("/calls");
    // Both keep the first turn's snapshot now.
    there.post(&path, &find("a")).await?.expect(200)?;
    let mut document = stack.document();
    document["bindings"] =
        json!([{ "tool": "note_find", "agent": stack.ada.id, "enabled": false }]);
    stack.apply(&document).await?;
    let before = api::results(&there.post(&path, &find("b")).await?.expect(200)?)?;
    assert_eq!(before[0].metadata["error"], Value::Null, "{before:?}");
    let turn = run.turn().await?;
    assert_eq!(
        (&turn["turn"], &turn["removed"]),
        (&json!(2), &json!(["note_find"]))
    );
    let after = api::results(&there.post(&path, &find("c")).await?.expect(200)?)?;
    assert_eq!(
        after[0].text(),
        "ERROR: tool note_find is not offered this run"
    );
    let view = there.get(&run.path("")).await?.expect(200)?;
    assert_eq!(
        (&view["turn"], &view["remaining_tool_calls"]),
        (&json!(2), &json!(6))
    );
    let next = there
        .post(&run.path("/turns"), &json!({}))
        .await?
        .expect(200)?;
    assert_eq!(next["turn"], 3);
    Ok(())
}

#[tokio::test]
async fn cancel_and_end_at_one_replica_reach_a_call_of_the_other() -> Result<()> {
    let stack = Stack::whole().await?;
    let (_other, there) = second(&stack).await?;
    for (command, by_end) in [("sleep 51", false), ("sleep 52", true)] {
        let run = stack.run_with_budget(20).await?;
        let call = {
            let (run, arguments) = (run.clone(), json!({ "command": command }));
            tokio::spawn(async move { run.call_as("call_1", "shell", arguments).await })
        };
        until_running(&stack.ada, command).await?;
        if by_end {
            let ended = there
                .post(&run.path("/end"), &json!({}))
                .await?
                .expect(200)?;
            assert_eq!(ended, json!({ "run": run.id, "state": "ended" }));
        } else {
            let path = run.path("/calls/call_1/cancel");
            let answer = there.send(Method::POST, &path, "{}".into()).await?;
            let answer = answer.expect(200)?;
            assert_eq!(
                answer["content"],
                "ERROR: cancelled\nremaining_tool_calls: 19"
            );
        }
        assert_eq!(
            call.await??.content,
            "ERROR: cancelled\nremaining_tool_calls: 19",
            "{command}"
        );
        assert_eq!(with_command(command)?, []);
        if by_end {
            let body = one("call_2", "note_find", json!({}));
            for client in [&stack.backend, &there] {
                let answer = client.post(&run.path("/calls"), &body).await?;
                assert_eq!(answer.refusal(), (409, "run_ended".to_owned()));
            }
        }
    }
    Ok(())
}

/// Writes of one note, each followed by a reading of it.
fn writes_and_readings(run: &Run, agent: &str) -> (Value, Vec<String>) {
    let mut calls = Vec::new();
    let mut expected = Vec::new();
    for number in 0..20 {
        calls.push(
            json!({ "id": format!("write_{number}"), "name": "note_write",
            "arguments": { "level": "agent", "key": "order.md", "content": format!("{number}") } }),
        );
        calls.push(json!({ "id": format!("read_{number}"), "name": "note_get",
            "arguments": { "path": format!("agent/{agent}/order.md") } }));
        expected.extend([format!("write_{number}"), format!("read_{number}")]);
    }
    assert!(!run.id.is_empty());
    (json!({ "calls": calls }), expected)
}

#[tokio::test]
async fn the_batch_of_a_dead_replica_is_finished_by_the_other_in_its_order() -> Result<()> {
    let mut stack = Stack::storage().await?;
    let (_other, there) = second(&stack).await?;
    let run = stack.run_with_budget(100).await?;
    let (body, order) = writes_and_readings(&run, &stack.ada.id);
    let (mut holder, mut looker) = (stack.database().await?, stack.database().await?);
    let mut held = holder.begin().await?;
    sqlx::query("LOCK TABLE artifacts IN ACCESS EXCLUSIVE MODE")
        .execute(&mut *held)
        .await?;
    let path = run.path("/calls");
    let dying = {
        let (client, path, body) = (stack.backend.clone(), path.clone(), body.clone());
        tokio::spawn(async move { client.post(&path, &body).await })
    };
    loop {
        let claimed: i64 = sqlx::query_scalar("SELECT count(*) FROM calls WHERE state = 'claimed'")
            .fetch_one(&mut looker)
            .await?;
        if claimed == 40 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    stack.control_plane.kill()?;
    assert!(dying.await?.is_err(), "a dead replica answered");
    held.rollback().await?;
    let results = api::results(&there.post(&path, &body).await?.expect(200)?)?;
    for (number, pair) in results.chunks(2).enumerate() {
        assert_eq!(pair[1].json()["content"], number.to_string(), "{pair:?}");
        let left = 100 - 2 * number;
        for (result, left) in pair.iter().zip([left - 1, left - 2]) {
            let trailer = format!("\nremaining_tool_calls: {left}");
            assert!(result.content.ends_with(&trailer), "{result:?}");
        }
    }
    let messages = there.get(&run.path("/messages")).await?.expect(200)?;
    let stored: Vec<&str> = messages["messages"]
        .as_array()
        .context("messages")?
        .iter()
        .filter_map(|message| message["call_id"].as_str())
        .collect();
    assert_eq!(stored, order);
    Ok(())
}
