//! The MCP face and those who mean it no good: bodies, headers, floods of streams, readers that don't read.

use anyhow::Result;
use hyper::Method;
use serde_json::json;
use tests::Stack;
use tests::mcp::Mcp;

async fn client(stack: &Stack) -> Result<Mcp> {
    let run = stack.run(&stack.ada).await?;
    Mcp::of(stack.control_plane.address(), &run)
}

#[tokio::test]
async fn bodies_and_headers_that_are_no_request_are_refused() -> Result<()> {
    let stack = Stack::storage().await?;
    let client = client(&stack).await?;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let body = |body: &str| client.send(Method::POST, body.to_owned());
    let code = |status: u16, code: i32| (status, json!(code));
    assert_eq!(body("").await?.refusal(), code(400, -32700));
    assert_eq!(body("{\"a\":").await?.refusal(), code(400, -32700));
    assert_eq!(body("\u{0}").await?.refusal(), code(400, -32700));
    let broken = client.send(Method::POST, vec![b'"', 0xff, b'"']).await?;
    assert_eq!(broken.refusal(), code(400, -32700));
    assert_eq!(body("null").await?.refusal(), code(400, -32600));
    assert_eq!(body("{}").await?.refusal(), code(400, -32600));
    let many = format!("[{}]", vec![ping.as_str(); 129].join(","));
    assert_eq!(body(&many).await?.refusal(), code(400, -32600));
    for (header, value, status) in [
        ("content-type", "text/plain", 415),
        ("content-type", "", 415),
        ("accept", "text/html", 406),
        ("origin", "http://evil.example.com", 403),
    ] {
        let wrong = client.clone().with(header, value);
        let answer = wrong.send(Method::POST, ping.clone()).await?;
        assert_eq!(answer.status, status, "{header}: {value}");
    }
    for method in [Method::PUT, Method::PATCH] {
        assert_eq!(client.send(method, ping.clone()).await?.status, 405);
    }
    assert_eq!(body(&ping).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn a_body_over_8_mib_and_one_of_great_depth_harm_nothing() -> Result<()> {
    let stack = Stack::storage().await?;
    let client = client(&stack).await?;
    let large = format!("\"{}\"", "a".repeat(8 * 1024 * 1024));
    let answer = client.send(Method::POST, large).await?;
    assert_eq!(answer.refusal(), (413, json!("body_too_large")));
    let deep = |opening: &str, closing: &str| {
        let depth = 200_000;
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"note_find","arguments":{}1{}}}}}"#,
            opening.repeat(depth),
            closing.repeat(depth)
        )
    };
    for body in [deep("[", "]"), deep("{\"a\":", "}")] {
        let result = client.send(Method::POST, body).await?.result()?;
        assert_eq!(result["isError"], true);
    }
    let whole = "[".repeat(4_000_000);
    assert_eq!(
        client.send(Method::POST, whole).await?.refusal(),
        (400, json!(-32700))
    );
    let meta = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"a":{}{}}}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(client.send(Method::POST, meta).await?.status, 200);
    assert_eq!(client.ask("ping", json!({})).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn a_flood_of_streams_is_bounded_and_leaves_room_for_calls() -> Result<()> {
    let stack = Stack::storage().await?;
    let client = client(&stack).await?;
    let mut first = client.listen().await?;
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(client.listen().await?);
    }
    // The ninth took the first one's place.
    assert!(first.event().await?.is_none());
    let runs: Vec<Mcp> = {
        let mut runs = Vec::new();
        for _ in 0..70 {
            let run = stack.run(&stack.ada).await?;
            runs.push(Mcp::of(stack.control_plane.address(), &run)?);
        }
        runs
    };
    let mut refused = 0;
    for client in &runs {
        for _ in 0..8 {
            match client.listen().await {
                Ok(stream) => held.push(stream),
                Err(error) => {
                    assert!(error.to_string().contains("too many streams"), "{error:#}");
                    refused += 1;
                }
            }
        }
    }
    assert_eq!((held.len(), refused), (512, 8 + 70 * 8 - 512));
    assert_eq!(client.call("note_find", json!({})).await?["isError"], false);
    drop(held);
    for _ in 0..100 {
        if client.listen().await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    anyhow::bail!("streams that are closed keep their seats")
}
