//! What MCP clients hear without asking, what long calls show, and what cancelling does.

use std::time::Duration;

use anyhow::{Context, Result};
use hyper::Method;
use serde_json::{Value, json};
use tests::control_plane::ControlPlane;
use tests::mcp::{Mcp, McpStream};
use tests::{Run, Stack};

async fn client(stack: &Stack) -> Result<(Run, Mcp)> {
    let run = stack.run(&stack.ada).await?;
    let client = Mcp::of(stack.control_plane.address(), &run)?;
    Ok((run, client))
}

/// Switches a tool of ada's on or off, and begins a turn.
async fn switch(stack: &Stack, run: &Run, enabled: bool) -> Result<()> {
    let binding = json!({ "tool": "note_delete", "agent": stack.ada.id, "enabled": enabled });
    stack
        .apply(&json!({ "organisation": "acme", "bindings": [binding] }))
        .await?;
    run.turn().await?;
    Ok(())
}

/// Nothing comes on a stream for a while.
async fn silent(stream: &mut McpStream) -> bool {
    tokio::time::timeout(Duration::from_millis(300), stream.message())
        .await
        .is_err()
}

fn changed() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
}

#[tokio::test]
async fn a_turn_that_changes_the_offer_is_heard_of_on_every_replica() -> Result<()> {
    let stack = Stack::storage().await?;
    let (run, client_here) = client(&stack).await?;
    let (_, stranger) = client(&stack).await?;
    let other = ControlPlane::start(
        stack.shared,
        stack.directory.path(),
        stack.database_name(),
        "",
    )
    .await?;
    let there = Mcp::of(other.address(), &run)?;
    let (session, _) = client_here.initialize("2025-06-18").await?;
    let mut streams = [session.listen().await?, there.listen().await?];
    let mut elsewhere = stranger.listen().await?;
    run.turn().await?;
    assert!(silent(&mut streams[0]).await, "the offer did not change");
    switch(&stack, &run, false).await?;
    for stream in &mut streams {
        assert_eq!(stream.message().await?, changed());
    }
    switch(&stack, &run, true).await?;
    for stream in &mut streams {
        assert_eq!(stream.message().await?, changed());
    }
    run.end().await?;
    for stream in &mut streams {
        assert!(stream.event().await?.is_none(), "the run has ended");
    }
    assert!(
        silent(&mut elsewhere).await,
        "another run's offer did not change"
    );
    Ok(())
}

#[tokio::test]
async fn a_stream_that_broke_off_is_resumed_without_missing_a_change() -> Result<()> {
    let stack = Stack::storage().await?;
    let (run, client) = client(&stack).await?;
    let (session, _) = client.initialize("2025-11-25").await?;
    let mut stream = session.listen().await?;
    let first = stream.event().await?.context("an event")?;
    assert!(first.message.is_none());
    let first = first.id.context("an id")?;
    drop(stream);
    switch(&stack, &run, false).await?;
    let mut stream = session
        .clone()
        .with("last-event-id", &first)
        .listen()
        .await?;
    let missed = stream.event().await?.context("an event")?;
    assert_eq!(missed.message, Some(changed()));
    let missed = missed.id.context("an id")?;
    let mut again = session.with("last-event-id", &missed).listen().await?;
    assert!(silent(&mut again).await, "nothing was missed");
    Ok(())
}

#[tokio::test]
async fn clients_of_older_revisions_get_no_event_without_a_message() -> Result<()> {
    let stack = Stack::storage().await?;
    let (_, client) = client(&stack).await?;
    let (session, _) = client.initialize("2025-06-18").await?;
    let mut stream = session.listen().await?;
    let event = tokio::time::timeout(Duration::from_millis(300), stream.event()).await;
    assert!(event.is_err());
    Ok(())
}

#[tokio::test]
async fn a_subscription_is_acknowledged_told_and_answered_at_its_end() -> Result<()> {
    let stack = Stack::storage().await?;
    let (run, client) = client(&stack).await?;
    let subscription = |notifications: Value| {
        let params = json!({ "notifications": notifications });
        client.stateless("subscriptions/listen", params)
    };
    let wanted = json!({ "toolsListChanged": true, "promptsListChanged": true });
    let (listener, message) = subscription(wanted);
    let mut stream = listener.post_for_stream(&message).await?;
    let mark = json!({ "io.modelcontextprotocol/subscriptionId": 1 });
    assert_eq!(
        stream.message().await?,
        json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": { "_meta": mark, "notifications": { "toolsListChanged": true } } })
    );
    let (listener, message) = subscription(json!({}));
    let mut deaf = listener.post_for_stream(&message).await?;
    assert_eq!(deaf.message().await?["params"]["notifications"], json!({}));
    switch(&stack, &run, false).await?;
    let mut told = changed();
    told["params"] = json!({ "_meta": mark });
    assert_eq!(stream.message().await?, told);
    run.end().await?;
    for stream in [&mut stream, &mut deaf] {
        let last = stream.message().await?;
        assert_eq!(
            (&last["id"], &last["result"]["resultType"]),
            (&json!(1), &json!("complete"))
        );
        let subscription = &last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(subscription, 1);
        assert!(stream.event().await?.is_none());
    }
    Ok(())
}

#[tokio::test]
async fn streams_are_for_those_who_take_them() -> Result<()> {
    let stack = Stack::storage().await?;
    let (_, client) = client(&stack).await?;
    let answer = client
        .clone()
        .with("accept", "application/json")
        .send(Method::GET, "")
        .await?;
    assert_eq!(answer.status, 406);
    let modern = client.clone().with("mcp-protocol-version", "2026-07-28");
    let answer = modern
        .with("accept", "text/event-stream")
        .send(Method::GET, "")
        .await?;
    assert_eq!(
        (answer.status, answer.headers["allow"].to_str()?),
        (405, "POST")
    );
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let (listener, message) = client.stateless("subscriptions/listen", params);
    let answer = listener
        .with("accept", "application/json")
        .post(&message)
        .await?;
    assert_eq!(answer.refusal(), (406, json!(-32600)));
    Ok(())
}

#[tokio::test]
async fn a_stop_of_the_control_plane_ends_streams_in_good_order() -> Result<()> {
    let mut stack = Stack::storage().await?;
    let (_, client) = client(&stack).await?;
    let mut stream = client.listen().await?;
    stack.control_plane.stop()?;
    assert!(stream.event().await?.is_none());
    Ok(())
}

fn long_call(seconds: u32) -> Value {
    let command = format!("sleep {seconds}; echo done");
    json!({ "jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": {
        "name": "shell", "arguments": { "command": command, "limit_s": 50 },
        "_meta": { "progressToken": "p" },
    } })
}

#[tokio::test]
async fn a_long_call_shows_that_it_lives_and_ends_with_its_answer() -> Result<()> {
    let stack = Stack::whole().await?;
    let (_, client) = client(&stack).await?;
    let mut stream = client.post_for_stream(&long_call(13)).await?;
    let progress = stream.message().await?;
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p");
    assert!(
        progress["params"]["progress"].as_u64() >= Some(10),
        "{progress}"
    );
    let answer = stream.message().await?;
    assert_eq!(answer["id"], "long");
    let text = answer["result"]["content"][0]["text"]
        .as_str()
        .context("a text")?;
    assert!(text.contains("\ndone"), "{text}");
    assert!(stream.event().await?.is_none());
    Ok(())
}

#[tokio::test]
async fn a_call_goes_on_without_its_client_and_is_stored() -> Result<()> {
    let stack = Stack::whole().await?;
    let (run, client) = client(&stack).await?;
    let stream = client.post_for_stream(&long_call(4)).await?;
    drop(stream);
    let message = stored(&stack, &run).await?;
    assert!(message.contains("\ndone"), "{message}");
    Ok(())
}

/// The content of the run's first message, once it is there.
async fn stored(stack: &Stack, run: &Run) -> Result<String> {
    for _ in 0..300 {
        let messages = stack
            .backend
            .get(&run.path("/messages"))
            .await?
            .expect(200)?;
        if let Some(content) = messages["messages"][0]["content"].as_str() {
            return Ok(content.to_owned());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    anyhow::bail!("no message")
}

#[tokio::test]
async fn a_cancelled_notification_cancels_on_whatever_replica_it_arrives() -> Result<()> {
    let stack = Stack::whole().await?;
    let (run, client) = client(&stack).await?;
    let other = ControlPlane::start(
        stack.shared,
        stack.directory.path(),
        stack.database_name(),
        "",
    )
    .await?;
    let (session, _) = client.initialize("2025-11-25").await?;
    let mut stream = session.post_for_stream(&long_call(45)).await?;
    let cancel = |id: Value| {
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": id, "reason": "enough" } })
    };
    let mut there = session.clone();
    there.address = other.address().to_owned();
    let (stranger, _) = client.initialize("2025-11-25").await?;
    for (client, id) in [(&there, json!("other")), (&stranger, json!("long"))] {
        assert_eq!(client.post(&cancel(id)).await?.status, 202);
    }
    let more = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" });
    assert_eq!(there.post(&more).await?.status, 202);
    assert!(silent(&mut stream).await, "another request was cancelled");
    assert_eq!(there.post(&cancel(json!("long"))).await?.status, 202);
    let message = stored(&stack, &run).await?;
    assert!(message.starts_with("ERROR: cancelled"), "{message}");
    Ok(())
}
