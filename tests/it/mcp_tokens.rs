//! The token of a run's MCP face: what it opens, for how long, and where it is not found.

use anyhow::{Context, Result};
use hyper::Method;
use serde_json::{Value, json};
use tests::control_plane::ControlPlane;
use tests::mcp::Mcp;
use tests::{Api, Stack, StackBuilder};

fn mcp_of(body: &Value) -> Result<(String, String)> {
    let text = |field: &str| body["mcp"][field].as_str().map(str::to_owned);
    Ok((text("url").context("url")?, text("token").context("token")?))
}

#[tokio::test]
async fn a_start_answers_url_and_token_and_a_look_at_the_run_no_token() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let (url, token) = mcp_of(&run.body)?;
    let address = stack.control_plane.address();
    assert_eq!(url, format!("http://{address}/v1/runs/{}/mcp", run.id));
    assert_eq!(token.len(), "gr_".len() + 32 + 1 + 64, "{token}");
    let shown = stack.backend.get(&run.path("")).await?.expect(200)?;
    assert_eq!(shown["mcp"], json!({ "url": url }));
    let mut start = run.body.clone();
    start["mcp"] = shown["mcp"].clone();
    assert_eq!(shown, start);
    Ok(())
}

#[tokio::test]
async fn a_start_that_is_sent_again_answers_the_same_token_on_every_replica() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let start = json!({ "agent": stack.ada.id, "kind": "direct", "id": run.id });
    let again = stack.backend.post("/v1/runs", &start).await?.expect(201)?;
    assert_eq!(again["mcp"], run.body["mcp"]);
    let other = ControlPlane::start(
        stack.shared,
        stack.directory.path(),
        stack.database_name(),
        "",
    )
    .await?;
    let api = Api::new(other.address(), Some(&stack.shared.backend_token));
    let there = api.post("/v1/runs", &start).await?.expect(201)?;
    assert_eq!(there["mcp"]["token"], run.body["mcp"]["token"]);
    let client = Mcp::of(other.address(), &run)?;
    assert_eq!(client.ask("ping", json!({})).await?.result()?, json!({}));
    let second = stack.run(&stack.ada).await?;
    assert_ne!(second.body["mcp"]["token"], run.body["mcp"]["token"]);
    Ok(())
}

#[tokio::test]
async fn a_runs_token_opens_its_mcp_face_and_nothing_else() -> Result<()> {
    let stack = Stack::storage().await?;
    let (run, other) = (stack.run(&stack.ada).await?, stack.run(&stack.ada).await?);
    let (_, token) = mcp_of(&run.body)?;
    let api = Api::new(stack.control_plane.address(), Some(&token));
    for path in [
        run.path(""),
        run.path("/tools"),
        run.path("/messages"),
        "/v1/runs".to_owned(),
        "/v1/events".to_owned(),
        "/v1/operator/agents".to_owned(),
        format!("/v1/agents/{}/memory", stack.ada.id),
    ] {
        let refusal = api.get(&path).await?.refusal();
        assert_eq!(refusal, (401, "unauthorized".to_owned()), "{path}");
    }
    let refusal = api.post(&run.path("/end"), &json!({})).await?.refusal();
    assert_eq!(refusal, (401, "unauthorized".to_owned()));
    let mut elsewhere = Mcp::of(stack.control_plane.address(), &run)?;
    elsewhere.path = other.path("/mcp");
    let refusal = elsewhere.ask("ping", json!({})).await?.refusal();
    assert_eq!(refusal, (403, json!("forbidden")));
    Ok(())
}

#[tokio::test]
async fn nothing_but_the_runs_own_token_opens_its_mcp_face() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let client = Mcp::of(stack.control_plane.address(), &run)?;
    let forged = format!(
        "{}{}",
        &client.token[..client.token.len() - 64],
        "0".repeat(64)
    );
    for (token, expected) in [
        (stack.shared.backend_token.as_str(), (403, "forbidden")),
        (stack.shared.operator_token.as_str(), (403, "forbidden")),
        (forged.as_str(), (401, "unauthorized")),
        ("x", (401, "unauthorized")),
    ] {
        let mut stranger = client.clone();
        stranger.token = token.to_owned();
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let answer = stranger.send(method.clone(), "{}").await?;
            let (status, code) = answer.refusal();
            assert_eq!(
                (status, code.as_str()),
                (expected.0, Some(expected.1)),
                "{method} {token}"
            );
        }
    }
    let answer = client
        .clone()
        .with("authorization", "")
        .ask("ping", json!({}))
        .await?;
    assert_eq!(answer.refusal(), (401, json!("unauthorized")));
    assert_eq!(answer.headers["www-authenticate"], "Bearer");
    let mut nowhere = client.clone();
    nowhere.path = "/v1/runs/none/mcp".to_owned();
    assert_eq!(nowhere.ask("ping", json!({})).await?.refusal().0, 404);
    Ok(())
}

#[tokio::test]
async fn the_token_dies_with_its_run_and_the_reason_is_told() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let client = Mcp::of(stack.control_plane.address(), &run)?;
    let (session, _) = client.initialize("2025-11-25").await?;
    run.end().await?;
    for client in [&client, &session] {
        for method in ["initialize", "ping", "tools/list", "tools/call"] {
            let answer = client.ask(method, json!({ "name": "note_find" })).await?;
            assert_eq!(answer.status, 409, "{method}");
            assert_eq!(
                answer.json()?,
                json!({ "jsonrpc": "2.0", "id": 1, "error": {
                    "code": -32600,
                    "message": format!("run {} has ended", run.id),
                    "data": { "code": "run_ended" },
                } }),
            );
        }
    }
    let stream = client.with("accept", "text/event-stream");
    let answer = stream.send(Method::GET, "").await?;
    assert_eq!(answer.refusal(), (409, json!("run_ended")));
    Ok(())
}

#[tokio::test]
async fn a_token_is_in_no_log_and_nowhere_in_the_database() -> Result<()> {
    let stack = StackBuilder::default().start().await?;
    let run = stack.run(&stack.ada).await?;
    let client = Mcp::of(stack.control_plane.address(), &run)?;
    client.call("note_find", json!({})).await?;
    let proof = &client.token[client.token.len() - 64..];
    assert!(!stack.control_plane.log().contains(proof));
    let mut db = stack.database().await?;
    let rows: Vec<String> = sqlx::query_scalar(
        "SELECT r::text FROM runs r UNION ALL SELECT c::text FROM calls c UNION ALL SELECT t::text FROM tokens t",
    )
    .fetch_all(&mut db)
    .await?;
    assert!(rows.len() >= 4, "{rows:?}");
    assert!(rows.iter().all(|row| !row.contains(proof)));
    Ok(())
}

#[tokio::test]
async fn the_url_is_the_setting_wherever_a_request_comes_from() -> Result<()> {
    let stack = StackBuilder::default()
        .control_plane("public_url = \"https://guilds.example.com/api/\"\n")
        .start()
        .await?;
    let run = stack.run(&stack.ada).await?;
    let expected = format!("https://guilds.example.com/api/v1/runs/{}/mcp", run.id);
    assert_eq!(run.body["mcp"]["url"], json!(expected));
    let client = Mcp::of(stack.control_plane.address(), &run)?;
    for (origin, status) in [
        ("https://guilds.example.com", 200),
        ("http://localhost:6274", 200),
        ("http://guilds.example.com", 403),
        ("https://evil.example.com", 403),
        ("null", 403),
    ] {
        let answer = client
            .clone()
            .with("origin", origin)
            .ask("ping", json!({}))
            .await?;
        assert_eq!(answer.status, status, "{origin}");
    }
    Ok(())
}
