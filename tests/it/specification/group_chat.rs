//! Group chat: a post, and whom it asks.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stack;

#[tokio::test]
async fn a_post_takes_one_required_text_that_is_not_white_space() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for arguments in [
        json!({}),
        json!({ "content": "" }),
        json!({ "content": " \n\t" }),
        json!({ "content": 5 }),
    ] {
        let refused = run.call("group_post", arguments.clone()).await?;
        assert!(
            refused.text().starts_with("ERROR: "),
            "{arguments}: {refused:?}"
        );
    }
    let posted = run.call("group_post", json!({ "content": "." })).await?;
    assert_eq!(posted.metadata["error"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn a_name_asks_that_agent_user_asks_the_operator_and_an_untagged_post_asks_nobody()
-> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let bob = &stack.bob.id;
    for (content, asks) in [
        (format!("@{bob} look"), json!([bob])),
        ("may we, @user?".to_owned(), json!(["user"])),
        (format!("@user and @{bob}"), json!(["user", bob])),
        ("done".to_owned(), json!([])),
    ] {
        let posted = run
            .call("group_post", json!({ "content": content }))
            .await?
            .json();
        assert_eq!(posted["asks"], asks, "{content}");
        assert_eq!(posted["unknown"], json!([]), "{content}");
    }
    let told = stack.backend.get("/v1/events").await?.expect(200)?;
    assert_eq!(told["events"].as_array().map(Vec::len), Some(4));
    assert_eq!(told["events"][0]["guild"], "core");
    Ok(())
}
