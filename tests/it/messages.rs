//! A run's messages: their fields, their order, their pages.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stack;

#[tokio::test]
async fn messages_are_what_the_calls_answered_in_order_and_in_pages() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let mut results = Vec::new();
    for number in 0..5 {
        let arguments = json!({ "level": "agent", "key": format!("{number}.md"), "content": "x" });
        results.push(
            run.call_as(&format!("call_{number}"), "note_write", arguments)
                .await?,
        );
    }
    let mut found: Vec<Value> = Vec::new();
    let mut path = run.path("/messages?limit=2");
    let mut pages = Vec::new();
    loop {
        let page = stack.backend.get(&path).await?.expect(200)?;
        let messages = page["messages"].as_array().cloned().unwrap_or_default();
        pages.push(messages.len());
        found.extend(messages);
        let next = match &page["next"] {
            Value::Null => break,
            Value::String(next) => next.clone(),
            next => next.to_string(),
        };
        path = run.path(&format!("/messages?limit=2&after={next}"));
    }
    assert_eq!(pages, [2, 2, 1]);
    assert_eq!(found.len(), 5);
    for (number, (message, result)) in found.iter().zip(&results).enumerate() {
        let mut keys: Vec<_> = message
            .as_object()
            .into_iter()
            .flat_map(|message| message.keys().map(String::as_str))
            .collect();
        keys.sort_unstable();
        assert_eq!(
            keys,
            [
                "arguments",
                "at",
                "call_id",
                "content",
                "id",
                "metadata",
                "name"
            ]
        );
        assert_eq!(message["call_id"], format!("call_{number}"));
        assert_eq!(message["name"], "note_write");
        assert_eq!(message["content"], result.content);
        assert_eq!(message["metadata"], result.metadata);
        assert_eq!(message["arguments"]["key"], format!("{number}.md"));
    }
    Ok(())
}

#[tokio::test]
async fn stored_arguments_keep_key_order_and_digits() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let body = r#"{"calls":[{"id":"a","name":"note_get","arguments":{"z":1.10,"a":12345678901234567890123,"m":{"y":1,"b":2}}}]}"#;
    let answer = stack
        .backend
        .send(hyper::Method::POST, &run.path("/calls"), body.into())
        .await?;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let messages = stack.backend.get(&run.path("/messages")).await?;
    let arguments = r#""arguments":{"z":1.10,"a":12345678901234567890123,"m":{"y":1,"b":2}}"#;
    assert!(messages.text.contains(arguments), "{}", messages.text);
    Ok(())
}

#[tokio::test]
async fn a_limit_outside_1_to_1000_is_refused() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for query in ["limit=0", "limit=1001", "limit=x", "after=%20x"] {
        let answer = stack
            .backend
            .get(&run.path(&format!("/messages?{query}")))
            .await?;
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{query}");
    }
    Ok(())
}
