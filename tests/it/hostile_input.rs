//! Input that means harm or mishap: a clear refusal each, in little time, and the daemon lives.

use std::time::{Duration, Instant};

use anyhow::Result;
use hyper::Method;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tests::Stack;

use crate::checks::check_refused;

/// Far more than any of these requests needs, far less than what they provoked once.
const SOON: Duration = Duration::from_secs(10);

fn many_keys(count: usize) -> Bytes {
    let members: Vec<String> = (0..count).map(|n| format!("\"k{n}\":1")).collect();
    Bytes::from(format!("{{{}}}", members.join(",")))
}

#[tokio::test]
async fn u0000_is_never_a_fault_of_the_server() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let refused = |status: u16, code: &str| (status, code.to_owned());
    let listed = stack.backend.get("/v1/runs?agent=%00").await?;
    assert_eq!(listed.refusal(), refused(422, "invalid"));
    let start = json!({ "agent": "a\0b", "kind": "direct" });
    let started = stack.backend.post("/v1/runs", &start).await?;
    assert_eq!(started.refusal(), refused(404, "not_found"));
    let path = run.path("/calls/%00/cancel");
    let cancelled = stack
        .backend
        .send(Method::POST, &path, Bytes::new())
        .await?;
    assert_eq!(cancelled.refusal(), refused(404, "not_found"));
    Ok(())
}

#[tokio::test]
async fn a_stored_call_holds_no_u0000() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let arguments = json!({ "level": "agent", "key": "a.md", "content": "x\0y\\u0000" });
    run.call_as("call_1", "note_write", arguments.clone())
        .await?;
    let page = stack.backend.get(&run.path("/messages")).await?;
    let page = page.expect(200)?;
    assert_eq!(
        page["messages"][0]["arguments"],
        json!({ "level": "agent", "key": "a.md", "content": "x\u{fffd}y\\u0000" })
    );
    // It is still known as it was received.
    let again = run.call_as("call_1", "note_write", arguments).await?;
    assert!(
        again.content.ends_with("remaining_tool_calls: 59"),
        "{again:?}"
    );
    let other = json!({ "calls": [{ "id": "call_1", "name": "note_write", "arguments":
        { "level": "agent", "key": "a.md", "content": "x\u{fffd}y\\u0000" } }] });
    let other = stack.backend.post(&run.path("/calls"), &other).await?;
    assert_eq!(other.refusal(), (409, "call_id_reused".to_owned()));
    Ok(())
}

#[tokio::test]
async fn a_path_that_is_no_utf_8_gets_the_apis_own_error() -> Result<()> {
    let stack = Stack::storage().await?;
    for path in ["/v1/runs/%ff", "/v1/runs/%ff/messages"] {
        let answer = stack.backend.get(path).await?;
        assert_eq!(answer.refusal(), (404, "not_found".to_owned()), "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn a_field_that_stands_twice_is_refused() -> Result<()> {
    let stack = Stack::storage().await?;
    let body = format!(
        r#"{{"agent":"{0}","agent":"{0}","kind":"direct"}}"#,
        stack.ada.id
    );
    let answer = stack
        .backend
        .send(Method::POST, "/v1/runs", Bytes::from(body))
        .await?;
    assert_eq!(answer.refusal(), (422, "invalid".to_owned()));
    assert_eq!(
        answer.json()?["error"]["message"],
        "`agent` is given more than once"
    );
    Ok(())
}

#[tokio::test]
async fn a_body_of_nothing_but_faults_gets_a_short_answer_soon() -> Result<()> {
    let stack = Stack::storage().await?;
    let began = Instant::now();
    for (api, path, code) in [
        (&stack.backend, "/v1/runs", "invalid"),
        (&stack.operator, "/v1/operator/apply", "document_rejected"),
    ] {
        let answer = api.send(Method::POST, path, many_keys(200_000)).await?;
        assert_eq!(answer.refusal(), (422, code.to_owned()), "{path}");
        assert!(
            answer.text.len() < 100_000,
            "{path}: {} bytes",
            answer.text.len()
        );
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_document_tells_every_problem_of_an_object_whose_id_is_one() -> Result<()> {
    let stack = Stack::storage().await?;
    let document = json!({
        "machines": [{ "id": "No" }],
        "agents": [{ "id": "No", "guild": "nowhere", "slot": 100 }],
        "bindings": [{ "tool": "nothing", "agent": "nobody", "enabled": true }],
    });
    let answer = stack
        .operator
        .post("/v1/operator/apply", &document)
        .await?
        .expect(422)?;
    let mut paths: Vec<&str> = answer["error"]["problems"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|problem| problem["path"].as_str())
        .collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "agents[0].guild",
            "agents[0].id",
            "agents[0].machine",
            "agents[0].slot",
            "bindings[0].agent",
            "bindings[0].tool",
            "machines[0].address",
            "machines[0].id",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn a_scripts_parameters_can_not_keep_the_control_plane_busy() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    // Thirty definitions that each refer to the next one twice.
    let mut definitions = serde_json::Map::new();
    for n in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/a{}", n + 1) });
        definitions.insert(format!("a{n}"), json!({ "anyOf": [next, next] }));
    }
    definitions.insert("a30".to_owned(), json!({ "type": "string" }));
    let script = |parameters: Value| json!({ "name": "many", "description": "Counts.", "source": "print(1)", "parameters": parameters });
    let began = Instant::now();
    let fanned = json!({
        "type": "object",
        "properties": { "x": { "$ref": "#/$defs/a0" } },
        "$defs": definitions,
    });
    check_refused(
        &run,
        "script_create",
        script(fanned),
        "ERROR: 422 parameters refer to more than 1000 subschemas for one value",
        "$ref",
    )
    .await?;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let elsewhere = json!({
        "$id": "https://example.com/s",
        "type": "object",
        "allOf": [{ "$ref": "https://example.com/s" }],
    });
    check_refused(
        &run,
        "script_create",
        script(elsewhere),
        "ERROR: 422 parameters can't be used: $ref https://example.com/s is no place in this schema",
        "#/$defs/name",
    )
    .await
}
