//! Call ids: a retry answers the stored result, another body is refused, a duplicate in flight waits.

use anyhow::Result;
use hyper::Method;
use serde_json::json;
use tests::Stack;
use tests::processes::{until_running, with_command};

#[tokio::test]
async fn a_retry_answers_the_stored_result_byte_for_byte_and_is_free() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(20).await?;
    let arguments = json!({ "level": "agent", "key": "a.md", "content": "x" });
    let first = run
        .call_as("call_1", "note_write", arguments.clone())
        .await?;
    assert_eq!(first.json()["created"], true);
    run.call("note_find", json!({})).await?;
    for _ in 0..2 {
        let again = run
            .call_as("call_1", "note_write", arguments.clone())
            .await?;
        // Run again, it would say that the note was there.
        assert_eq!(again, first);
    }
    let next = run.call("note_find", json!({})).await?;
    assert!(
        next.content.ends_with("\nremaining_tool_calls: 17"),
        "{next:?}"
    );
    Ok(())
}

#[tokio::test]
async fn an_id_with_another_body_refuses_the_whole_request_before_anything_runs() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(20).await?;
    run.call_as("call_1", "note_find", json!({ "query": "a" }))
        .await?;
    for (name, arguments) in [
        ("note_find", json!({ "query": "b" })),
        ("note_get", json!({ "query": "a" })),
    ] {
        let answer = stack
            .backend
            .post(
                &run.path("/calls"),
                &json!({ "calls": [
                    { "id": "call_0", "name": "note_write", "arguments": { "level": "agent", "key": "new.md", "content": "x" } },
                    { "id": "call_1", "name": name, "arguments": arguments },
                ] }),
            )
            .await?;
        assert_eq!(answer.refusal(), (409, "call_id_reused".to_owned()));
        assert!(answer.text.contains("call_1"), "{}", answer.text);
    }
    let absent = run
        .call(
            "note_get",
            json!({ "path": format!("agent/{}/new.md", stack.ada.id) }),
        )
        .await?;
    assert!(absent.content.starts_with("ERROR: 404 "), "{absent:?}");
    assert!(
        absent.content.ends_with("remaining_tool_calls: 18"),
        "{absent:?}"
    );
    Ok(())
}

#[tokio::test]
async fn twice_in_one_batch_is_one_execution() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(20).await?;
    let call = json!({ "id": "same", "name": "note_write", "arguments": { "level": "agent", "key": "a.md", "content": "x" } });
    let results = run.batch(json!([call, call])).await?;
    assert_eq!(results.len(), 2);
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0].json()["created"], true);
    assert!(results[0].content.ends_with("remaining_tool_calls: 19"));
    Ok(())
}

#[tokio::test]
async fn ids_are_1_to_200_characters_and_a_batch_has_at_most_128_calls() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(200).await?;
    let call = |id: &str| json!({ "id": id, "name": "note_find", "arguments": {} });
    let long = "é".repeat(200);
    assert_eq!(run.batch(json!([call(&long)])).await?[0].id, long);
    let many: Vec<_> = (0..129).map(|number| call(&number.to_string())).collect();
    for calls in [
        json!([call("")]),
        json!([call(&"é".repeat(201))]),
        json!(many),
    ] {
        let answer = stack
            .backend
            .post(&run.path("/calls"), &json!({ "calls": calls }))
            .await?;
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()));
    }
    assert_eq!(run.batch(json!(many[..128])).await?.len(), 128);
    Ok(())
}

#[tokio::test]
async fn a_duplicate_in_flight_waits_for_the_first() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run_with_budget(20).await?;
    let arguments = json!({ "command": "echo once >> times; sleep 1; cat times" });
    let calls: Vec<_> = (0..4)
        .map(|_| {
            let (run, arguments) = (run.clone(), arguments.clone());
            tokio::spawn(async move { run.call_as("call_1", "shell", arguments).await })
        })
        .collect();
    let mut contents = Vec::new();
    for call in calls {
        contents.push(call.await??.content);
    }
    assert!(contents[0].contains("]\nonce\n"), "{}", contents[0]);
    assert!(!contents[0].contains("once\nonce"), "{}", contents[0]);
    assert!(
        contents[0].ends_with("remaining_tool_calls: 19"),
        "{}",
        contents[0]
    );
    for content in &contents {
        assert_eq!(*content, contents[0]);
    }
    Ok(())
}

#[tokio::test]
async fn a_client_that_leaves_cancels_nothing() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run_with_budget(20).await?;
    let arguments = json!({ "command": "sleep 1; echo finished" });
    let leaving = {
        let (run, arguments) = (run.clone(), arguments.clone());
        tokio::spawn(async move { run.call_as("call_1", "shell", arguments).await })
    };
    until_running(&stack.ada, "sleep 1").await?;
    leaving.abort();
    let result = run.call_as("call_1", "shell", arguments).await?;
    assert!(result.content.contains("\nfinished\n"), "{result:?}");
    assert!(
        result.content.ends_with("remaining_tool_calls: 19"),
        "{result:?}"
    );
    Ok(())
}

#[tokio::test]
async fn cancel_and_end_do_cancel() -> Result<()> {
    let stack = Stack::whole().await?;
    for (command, by_end) in [("sleep 41", false), ("sleep 42", true)] {
        let run = stack.run_with_budget(20).await?;
        let call = {
            let run = run.clone();
            tokio::spawn(async move {
                run.call_as("call/1", "shell", json!({ "command": command }))
                    .await
            })
        };
        until_running(&stack.ada, command).await?;
        if by_end {
            run.end().await?;
        } else {
            let path = run.path("/calls/call%2F1/cancel");
            let answer = stack.backend.send(Method::POST, &path, "{}".into()).await?;
            assert_eq!(answer.status, 200, "{}", answer.text);
        }
        let result = call.await??;
        assert_eq!(
            result.content, "ERROR: cancelled\nremaining_tool_calls: 19",
            "{command}"
        );
        assert_eq!(with_command(command)?, []);
    }
    Ok(())
}
