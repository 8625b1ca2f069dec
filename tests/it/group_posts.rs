//! `group_post`: whom a post asks, and what the chat backend is told of it.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::Stack;
use tests::shared::ORGANISATION;

async fn posts(stack: &Stack) -> Result<Vec<Value>> {
    let body = stack.backend.get("/v1/events").await?.expect(200)?;
    Ok(body["events"].as_array().context("events")?.clone())
}

#[tokio::test]
async fn a_post_asks_whom_it_tags_and_is_told_once() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let (ada, bob) = (&stack.ada.id, &stack.bob.id);
    let content = format!(
        "@{}, is the list ready? @user @nobody @{ada} @user\nmail: x@{bob}.org, `@code`",
        bob.to_uppercase()
    );
    let arguments = json!({ "content": content });
    let posted = run.call_as("p", "group_post", arguments.clone()).await?;
    let answer = posted.json();
    assert_eq!(
        answer,
        json!({ "post": answer["post"], "asks": [bob, "user"], "unknown": ["nobody"] })
    );
    // The same call again is no second post.
    assert_eq!(run.call_as("p", "group_post", arguments).await?, posted);
    let quiet = run
        .call("group_post", json!({ "content": "done" }))
        .await?
        .json();
    assert_eq!(
        (&quiet["asks"], &quiet["unknown"]),
        (&json!([]), &json!([]))
    );
    let told = posts(&stack).await?;
    let expected = |number: usize, post: &Value, content: &str, asks: Value| {
        json!({
            "seq": told[number]["seq"], "type": "group_post", "at": told[number]["at"],
            "organisation": ORGANISATION, "guild": "core", "agent": ada,
            "post": post, "content": content, "asks": asks,
        })
    };
    assert_eq!(
        told,
        [
            expected(0, &answer["post"], &content, json!([bob, "user"])),
            expected(1, &quiet["post"], "done", json!([])),
        ]
    );
    Ok(())
}

#[tokio::test]
async fn agents_of_other_guilds_are_unknown() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["guilds"] = json!([{ "id": "core" }, { "id": "side" }]);
    document["agents"][1]["guild"] = json!("side");
    stack.apply(&document).await?;
    let run = stack.run(&stack.ada).await?;
    let content = format!("@{} hello", stack.bob.id);
    let posted = run
        .call("group_post", json!({ "content": content }))
        .await?
        .json();
    assert_eq!(
        (&posted["asks"], &posted["unknown"]),
        (&json!([]), &json!([stack.bob.id]))
    );
    Ok(())
}

#[tokio::test]
async fn a_post_without_text_or_with_too_much_is_refused_and_told_to_nobody() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for (content, refusal) in [
        (
            " \n".to_owned(),
            "ERROR: 422 content is empty: a post needs text that is not white space",
        ),
        (
            "x".repeat(20_001),
            "ERROR: 422 content has 20001 characters, at most 20000 are allowed",
        ),
    ] {
        let result = run
            .call("group_post", json!({ "content": content }))
            .await?;
        assert_eq!(result.text(), refusal);
    }
    let missing = run.call("group_post", json!({})).await?;
    assert!(
        missing.text().starts_with("ERROR: ") && missing.text().contains("content"),
        "{missing:?}"
    );
    assert_eq!(posts(&stack).await?, Vec::<Value>::new());
    Ok(())
}

#[tokio::test]
async fn a_post_is_told_without_secrets() -> Result<()> {
    let stack = Stack::storage().await?;
    let secret = |name: &str, value: &str| json!({ "organisation": "acme", "secrets": [{ "name": name, "value": value }] });
    stack.apply(&secret("FIRST", "hunter2-first")).await?;
    let run = stack.run(&stack.ada).await?;
    let content = "hunter2-first, hunter2-second and a\u{0}b";
    run.call("group_post", json!({ "content": content }))
        .await?;
    let stored: Value = sqlx::query_scalar("SELECT detail FROM events")
        .fetch_one(&mut stack.database().await?)
        .await?;
    assert_eq!(
        stored["content"],
        "[redacted:FIRST], hunter2-second and a\u{fffd}b"
    );
    stack.apply(&secret("SECOND", "hunter2-second")).await?;
    let told = posts(&stack).await?;
    assert_eq!(
        told[0]["content"],
        "[redacted:FIRST], [redacted:SECOND] and a\u{fffd}b"
    );
    Ok(())
}

#[tokio::test]
async fn the_binding_switches_it() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["bindings"] = json!([{ "tool": "group_post", "guild": "core", "enabled": false }]);
    stack.apply(&document).await?;
    let run = stack.run(&stack.ada).await?;
    assert!(!run.offered().contains(&"group_post".to_owned()));
    let result = run
        .call("group_post", json!({ "content": "hello" }))
        .await?;
    assert_eq!(
        result.text(),
        "ERROR: tool group_post is not offered this run"
    );
    assert_eq!(posts(&stack).await?, Vec::<Value>::new());
    Ok(())
}
