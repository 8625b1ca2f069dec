//! The HTTP API's edges: tokens, roles, bodies, routes, health, metrics.

use anyhow::Result;
use hyper::Method;
use hyper::body::Bytes;
use serde_json::json;
use tests::control_plane::ControlPlane;
use tests::{Api, Shared, Stack};

fn refusal(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn a_token_opens_what_its_role_may() -> Result<()> {
    let stack = Stack::storage().await?;
    let address = stack.control_plane.address();
    let start = json!({ "agent": stack.ada.id, "kind": "direct" });
    let wrong = format!("gb_{}", "0".repeat(64));
    for token in [None, Some(""), Some("x"), Some(wrong.as_str())] {
        let api = Api::new(address, token);
        for path in ["/v1/runs", "/v1/operator/apply"] {
            let answer = api.post(path, &start).await?;
            assert_eq!(
                answer.refusal(),
                refusal(401, "unauthorized"),
                "{token:?} {path}"
            );
        }
    }
    let answer = stack.operator.post("/v1/runs", &start).await?;
    assert_eq!(answer.refusal(), refusal(403, "forbidden"));
    let answer = stack
        .backend
        .post("/v1/operator/apply", &stack.document())
        .await?;
    assert_eq!(answer.refusal(), refusal(403, "forbidden"));
    Ok(())
}

#[tokio::test]
async fn a_revoked_token_opens_nothing() -> Result<()> {
    let stack = Stack::storage().await?;
    let program = stack.shared.program("guilds-control-plane");
    let verb = |arguments: &[&str]| {
        tests::spawn::run(
            tests::spawn::command(&program)
                .args(arguments)
                .arg("--config")
                .arg(stack.control_plane.config()),
        )
    };
    let token = verb(&["token", "create", "--role", "backend"])?
        .trim()
        .to_owned();
    assert!(token.starts_with("gb_") && token.len() == 67, "{token}");
    let api = Api::new(stack.control_plane.address(), Some(&token));
    assert_eq!(api.get("/v1/runs").await?.status, 200);
    let list = verb(&["token", "list"])?;
    assert!(!list.contains(&token), "the list shows a token");
    let ids: Vec<_> = list
        .split_whitespace()
        .filter(|word| word.parse::<uuid::Uuid>().is_ok())
        .collect();
    assert_eq!(ids.len(), 3, "{list}");
    for id in ids {
        verb(&["token", "revoke", id])?;
    }
    assert_eq!(
        api.get("/v1/runs").await?.refusal(),
        refusal(401, "unauthorized")
    );
    Ok(())
}

#[tokio::test]
async fn a_body_that_is_no_request_is_refused_and_the_daemon_lives() -> Result<()> {
    let stack = Stack::storage().await?;
    for body in [
        "",
        "{",
        "[]",
        "\"x\"",
        "{\"agent\":5,\"kind\":\"direct\"}",
        "\u{1}",
        "nul",
    ] {
        let answer = stack
            .backend
            .send(
                Method::POST,
                "/v1/runs",
                Bytes::from_static(body.as_bytes()),
            )
            .await?;
        let (status, code) = answer.refusal();
        assert!(status == 400 || status == 422, "{body:?}: {status}");
        assert_eq!(code, "invalid", "{body:?}");
        let message = answer.json()?["error"]["message"].to_string();
        assert!(message.len() > 10, "{body:?}: {message}");
    }
    stack.run(&stack.ada).await?;
    Ok(())
}

#[tokio::test]
async fn a_body_of_20_mib_is_answered_and_nothing_is_lost() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let big = Bytes::from(vec![b'x'; 20 * 1024 * 1024]);
    for path in ["/v1/runs".to_owned(), run.path("/calls")] {
        let answer = stack.backend.send(Method::POST, &path, big.clone()).await?;
        assert_eq!(answer.refusal(), refusal(413, "body_too_large"), "{path}");
    }
    let fine = run.call("note_find", json!({})).await?;
    assert!(
        fine.content.ends_with("remaining_tool_calls: 59"),
        "{fine:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_body_of_just_8_mib_is_read() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let call = |padding: usize| {
        json!({ "calls": [{ "id": "a", "name": "x", "arguments": {} }], "padding": "p".repeat(padding) })
            .to_string()
    };
    let empty = call(0).len();
    let limit = 8 * 1024 * 1024;
    for (bytes, statuses) in [(limit, [200, 422]), (limit + 1, [413, 413])] {
        let answer = stack
            .backend
            .send(
                Method::POST,
                &run.path("/calls"),
                call(bytes - empty).into(),
            )
            .await?;
        // An unknown field may be refused; a body of this size may not.
        assert!(
            statuses.contains(&answer.status),
            "{bytes}: {}",
            answer.status
        );
    }
    Ok(())
}

#[tokio::test]
async fn unknown_paths_methods_and_runs_are_refused_in_json() -> Result<()> {
    let stack = Stack::storage().await?;
    for (method, path, expected) in [
        (Method::GET, "/v2", refusal(404, "not_found")),
        (
            Method::GET,
            "/v1/runs/not-a-uuid",
            refusal(404, "not_found"),
        ),
        (
            Method::POST,
            "/v1/runs/0192f0c1-2345-7abc-8def-0123456789ab/calls",
            refusal(404, "not_found"),
        ),
    ] {
        let body = Bytes::from_static(b"{\"calls\":[{\"id\":\"a\",\"name\":\"x\"}]}");
        let answer = stack.backend.send(method, path, body).await?;
        assert_eq!(answer.refusal(), expected, "{path}");
        assert!(answer.content_type.starts_with("application/json"));
    }
    let answer = stack
        .backend
        .send(Method::DELETE, "/v1/runs", Bytes::new())
        .await?;
    assert_eq!(answer.status, 405);
    assert!(answer.json()?["error"]["code"].is_string());
    Ok(())
}

#[tokio::test]
async fn health_and_metrics_are_open_on_loopback() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    run.call("note_find", json!({})).await?;
    let api = Api::new(stack.control_plane.address(), None);
    assert_eq!(api.get("/healthz/live").await?.status, 200);
    assert_eq!(api.get("/healthz/ready").await?.status, 200);
    let metrics = api.get("/metrics").await?;
    assert_eq!(metrics.status, 200);
    assert!(
        metrics.content_type.starts_with("text/plain"),
        "{}",
        metrics.content_type
    );
    assert!(metrics.text.contains("# TYPE "), "{}", metrics.text);
    let line = metrics
        .text
        .lines()
        .find(|line| line.contains("note_find") && line.ends_with(" 1"));
    assert!(line.is_some(), "{}", metrics.text);
    assert!(!metrics.text.contains(&stack.ada.id), "labels are bounded");
    Ok(())
}

#[tokio::test]
async fn a_database_behind_its_migrations_is_live_and_not_ready() -> Result<()> {
    let shared = Shared::get().await?;
    let directory = tempfile::tempdir_in(&shared.work)?;
    // The cluster's own database has none of the tables.
    let started = ControlPlane::start_unready(shared, directory.path(), "postgres").await?;
    let api = Api::new(started.address(), None);
    assert_eq!(api.get("/healthz/live").await?.status, 200);
    let ready = api.get("/healthz/ready").await?;
    assert_eq!(ready.refusal(), refusal(503, "unavailable"));
    assert!(ready.text.contains("migrat"), "{}", ready.text);
    Ok(())
}

#[tokio::test]
async fn http_2_is_spoken_too() -> Result<()> {
    use http_body_util::{BodyExt, Full};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let stack = Stack::storage().await?;
    let address = stack.control_plane.address();
    let stream = tokio::net::TcpStream::connect(address).await?;
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    for agent in [&stack.ada.id, &stack.bob.id] {
        let body = json!({ "agent": agent, "kind": "direct" }).to_string();
        let request = hyper::Request::post(format!("http://{address}/v1/runs"))
            .header(
                "authorization",
                format!("Bearer {}", stack.shared.backend_token),
            )
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))?;
        let response = sender.send_request(request).await?;
        assert_eq!(response.status(), 201);
        assert_eq!(response.version(), hyper::Version::HTTP_2);
        let body = response.into_body().collect().await?.to_bytes();
        let body: serde_json::Value = serde_json::from_slice(&body)?;
        assert_eq!(body["agent"], **agent);
    }
    Ok(())
}

#[tokio::test]
async fn the_api_speaks_tls_when_it_is_told_a_certificate() -> Result<()> {
    let shared = Shared::get().await?;
    let directory = tempfile::tempdir_in(&shared.work)?;
    let database = shared.cluster.database().await?;
    let address = format!("127.0.0.1:{}", tests::slots::port()?);
    let config = directory.path().join("control-plane.toml");
    let settings = shared.control_plane_config(&address, &shared.cluster.url(&database));
    std::fs::write(
        &config,
        format!(
            "{settings}tls_cert = \"{}\"\ntls_key = \"{}\"\n",
            shared.control_plane.certificate.display(),
            shared.control_plane.key.display()
        ),
    )?;
    let mut daemon = tests::spawn::Daemon::start(
        "control plane with TLS",
        tests::spawn::command(shared.program("guilds-control-plane"))
            .args(["serve", "--config"])
            .arg(&config),
        &directory.path().join("log"),
    )?;
    let client = tests::machine_client::MachineClient::new(&address, None)?;
    let mut status = 0;
    for _ in 0..1000 {
        if let Ok(answer) = client.get("/healthz/ready").await {
            status = answer.status;
            break;
        }
        anyhow::ensure!(daemon.ended()?.is_none(), "{}", daemon.log());
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(status, 200, "{}", daemon.log());
    let plain = Api::new(&address, None).get("/healthz/ready").await;
    assert!(plain.is_err(), "plain HTTP was answered: {plain:?}");
    daemon.stop()?;
    Ok(())
}
