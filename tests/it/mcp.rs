//! A run as an MCP server: what clients of both eras ask and are answered.

use anyhow::{Context, Result};
use hyper::Method;
use serde_json::{Value, json};
use tests::api::names;
use tests::control_plane::ControlPlane;
use tests::mcp::Mcp;
use tests::{Run, Stack};

async fn client(stack: &Stack) -> Result<(Run, Mcp)> {
    let run = stack.run(&stack.ada).await?;
    let client = Mcp::of(stack.control_plane.address(), &run)?;
    Ok((run, client))
}

fn text(result: &Value) -> Result<String> {
    let text = result["content"][0]["text"].as_str();
    Ok(text.context("a text")?.to_owned())
}

#[tokio::test]
async fn a_client_with_a_handshake_agrees_on_a_revision_and_lists_and_calls() -> Result<()> {
    let stack = Stack::storage().await?;
    let (run, client) = client(&stack).await?;
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2038-01-19", "2025-11-25"),
    ] {
        let (session, result) = client.initialize(asked).await?;
        assert_eq!(result["protocolVersion"], answered);
        assert_eq!(result["serverInfo"]["name"], "guilds");
        assert_eq!(
            result["capabilities"],
            json!({ "tools": { "listChanged": true } })
        );
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let taken = session.post(&initialized).await?;
        assert_eq!((taken.status, taken.text.as_str()), (202, ""));
        assert_eq!(session.ask("ping", json!({})).await?.result()?, json!({}));
        let list = session.ask("tools/list", json!({})).await?.result()?;
        assert_eq!(names(&list["tools"]), run.offered());
        assert_eq!(list.as_object().map(serde_json::Map::len), Some(1));
    }
    let (session, _) = client.initialize("2025-11-25").await?;
    let written = session
        .call(
            "note_write",
            json!({ "level": "agent", "key": "a.md", "content": "x" }),
        )
        .await?;
    assert_eq!(written["isError"], false);
    assert!(text(&written)?.ends_with("\nremaining_tool_calls: 59"));
    assert!(written.get("resultType").is_none());
    assert_eq!(
        written["_meta"]["guilds/metadata"]["tool_name"],
        "note_write"
    );
    Ok(())
}

#[tokio::test]
async fn a_client_without_a_handshake_asks_discovers_lists_and_calls() -> Result<()> {
    let stack = Stack::storage().await?;
    let (run, client) = client(&stack).await?;
    let found = client
        .ask_stateless("server/discover", json!({}))
        .await?
        .result()?;
    assert_eq!(found["resultType"], "complete");
    assert_eq!(
        found["supportedVersions"],
        json!([
            "2026-07-28",
            "2025-11-25",
            "2025-06-18",
            "2025-03-26",
            "2024-11-05"
        ])
    );
    assert_eq!(
        found["capabilities"],
        json!({ "tools": { "listChanged": true } })
    );
    let server = "io.modelcontextprotocol/serverInfo";
    assert_eq!(found["_meta"][server]["name"], "guilds");
    let list = client.ask_stateless("tools/list", json!({})).await?;
    assert!(!list.headers.contains_key("mcp-session-id"));
    let list = list.result()?;
    assert_eq!(names(&list["tools"]), run.offered());
    assert_eq!(list["resultType"], "complete");
    assert_eq!(
        (&list["ttlMs"], &list["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    let call = json!({ "name": "note_find", "arguments": { "query": "" } });
    let called = client.ask_stateless("tools/call", call).await?.result()?;
    assert_eq!(called["resultType"], "complete");
    assert_eq!(called["isError"], false);
    assert_eq!(called["_meta"][server]["name"], "guilds");
    assert!(text(&called)?.ends_with("\nremaining_tool_calls: 59"));
    Ok(())
}

#[tokio::test]
async fn the_list_is_the_offer_byte_for_byte_and_begins_no_turn() -> Result<()> {
    let stack = Stack::storage().await?;
    let (run, client) = client(&stack).await?;
    let first = client.ask("tools/list", json!({})).await?;
    let again = client.ask("tools/list", json!({})).await?;
    assert_eq!(first.text, again.text);
    let tools = stack.backend.get(&run.path("/tools?format=mcp")).await?;
    let (list, _) = tools.text.rsplit_once(",\"next\":null").context("a list")?;
    assert!(
        first.text.contains(&list[1..]),
        "{}\n{}",
        first.text,
        tools.text
    );
    let off = json!({ "organisation": "acme", "bindings": [
        { "tool": "note_delete", "agent": stack.ada.id, "enabled": false },
    ] });
    stack.apply(&off).await?;
    let unchanged = client.ask("tools/list", json!({})).await?;
    assert_eq!(first.text, unchanged.text);
    assert_eq!(
        stack.backend.get(&run.path("")).await?.expect(200)?["turn"],
        1
    );
    run.turn().await?;
    let list = client.ask("tools/list", json!({})).await?.result()?;
    assert!(!names(&list["tools"]).contains(&"note_delete".to_owned()));
    Ok(())
}

#[tokio::test]
async fn a_call_goes_the_one_path_with_a_fresh_id_budget_stamp_and_message() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(4).await?;
    let client = Mcp::of(stack.control_plane.address(), &run)?;
    run.call("note_find", json!({})).await?;
    let cases = [
        ("note_find", json!({}), None, 2),
        (
            "note_fnd",
            json!({}),
            Some("ERROR: unknown tool note_fnd"),
            1,
        ),
        ("note_get", json!({ "path": 5 }), Some("ERROR: "), 0),
        (
            "note_find",
            json!({}),
            Some("ERROR: no tool calls remain in this run"),
            0,
        ),
    ];
    let mut ids = Vec::new();
    for (name, arguments, error, left) in cases {
        let result = client.call(name, arguments).await?;
        let text = text(&result)?;
        assert_eq!(result["isError"], error.is_some(), "{text}");
        assert!(text.starts_with(error.unwrap_or("{")), "{text}");
        assert!(
            text.ends_with(&format!("\nremaining_tool_calls: {left}")),
            "{text}"
        );
        assert_eq!(
            result["_meta"]["guilds/metadata"]["error"].is_null(),
            error.is_none()
        );
        ids.push(
            result["_meta"]["guilds/call"]
                .as_str()
                .context("an id")?
                .to_owned(),
        );
    }
    let messages = stack
        .backend
        .get(&run.path("/messages"))
        .await?
        .expect(200)?;
    let stored: Vec<&str> = messages["messages"]
        .as_array()
        .context("messages")?
        .iter()
        .filter_map(|message| message["call_id"].as_str())
        .collect();
    assert_eq!(stored[1..], ids);
    Ok(())
}

#[tokio::test]
async fn arguments_arrive_as_they_were_sent() -> Result<()> {
    let stack = Stack::storage().await?;
    let (run, client) = client(&stack).await?;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing","arguments":{"b":1.50,"a":12345678901234567890123}}}"#;
    client.send(Method::POST, body).await?.result()?;
    let absent = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_find"}}"#;
    let found = client.send(Method::POST, absent).await?.result()?;
    assert_eq!(found["isError"], false);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_find","arguments":[1]}}"#;
    let refused = client.send(Method::POST, list).await?.result()?;
    assert!(text(&refused)?.starts_with("ERROR: "));
    let messages = stack.backend.get(&run.path("/messages")).await?;
    assert!(
        messages
            .text
            .contains(r#""arguments":{"b":1.50,"a":12345678901234567890123}"#),
        "{}",
        messages.text
    );
    Ok(())
}

#[tokio::test]
async fn methods_and_parameters_that_are_none_are_refused_in_words() -> Result<()> {
    let stack = Stack::storage().await?;
    let (_, client) = client(&stack).await?;
    let old = |method: &'static str, params: Value| {
        let client = client.clone();
        async move {
            client
                .ask(method, params)
                .await
                .map(|answer| answer.refusal())
        }
    };
    assert_eq!(
        old("resources/list", json!({})).await?,
        (200, json!(-32601))
    );
    assert_eq!(
        old("subscriptions/listen", json!({})).await?,
        (200, json!(-32601))
    );
    assert_eq!(
        old("server/discover", json!({})).await?,
        (400, json!(-32602))
    );
    assert_eq!(old("initialize", json!({})).await?, (200, json!(-32602)));
    assert_eq!(old("tools/call", json!({})).await?, (200, json!(-32602)));
    assert_eq!(
        old("tools/call", json!({ "name": 5 })).await?,
        (200, json!(-32602))
    );
    let long = json!({ "name": "a".repeat(1_001) });
    assert_eq!(old("tools/call", long).await?, (200, json!(-32602)));
    assert_eq!(
        old("tools/list", json!({ "cursor": "x" })).await?,
        (200, json!(-32602))
    );
    let new = |method: &'static str| {
        let client = client.clone();
        async move {
            let answer = client.ask_stateless(method, json!({})).await?;
            anyhow::Ok(answer.refusal())
        }
    };
    assert_eq!(new("resources/list").await?, (404, json!(-32601)));
    assert_eq!(new("ping").await?, (404, json!(-32601)));
    assert_eq!(new("tools/call").await?, (200, json!(-32602)));
    let unknown = client.clone().with("mcp-protocol-version", "1999-01-01");
    let answer = unknown.ask("tools/list", json!({})).await?;
    assert_eq!(answer.refusal(), (400, json!(-32022)));
    assert_eq!(
        answer.json()?["error"]["data"],
        json!({ "requested": "1999-01-01",
                "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] })
    );
    Ok(())
}

#[tokio::test]
async fn headers_of_a_stateless_request_that_lie_are_refused() -> Result<()> {
    let stack = Stack::storage().await?;
    let (run, client) = client(&stack).await?;
    let params = json!({ "name": "note_find", "arguments": {} });
    let (whole, message) = client.stateless("tools/call", params);
    for (header, value) in [
        ("mcp-method", ""),
        ("mcp-method", "tools/list"),
        ("mcp-name", ""),
        ("mcp-name", "note_get"),
        ("mcp-protocol-version", ""),
        ("mcp-protocol-version", "2025-11-25"),
    ] {
        let liar = whole.clone().with(header, value);
        assert_eq!(
            liar.post(&message).await?.refusal(),
            (400, json!(-32020)),
            "{header} {value}"
        );
    }
    let shown = stack.backend.get(&run.path("")).await?.expect(200)?;
    assert_eq!(shown["remaining_tool_calls"], 60);
    let encoded = whole.with("mcp-name", "=?base64?bm90ZV9maW5k?=");
    assert_eq!(encoded.post(&message).await?.result()?["isError"], false);
    Ok(())
}

#[tokio::test]
async fn one_revision_takes_batches_and_answers_each_request_in_them() -> Result<()> {
    let stack = Stack::storage().await?;
    let (_, client) = client(&stack).await?;
    let call = |id: u32, name: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": name, "arguments": {} } })
    };
    let batch = json!([
        call(1, "note_find"),
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": 2, "method": "nothing" },
        5,
        { "jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {} },
        call(4, "note_find"),
    ]);
    let answer = client.post(&batch).await?;
    assert_eq!(answer.status, 200);
    let answers = answer.json()?;
    let answers = answers.as_array().context("a list")?;
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(
        ids,
        [&json!(1), &json!(2), &Value::Null, &json!(3), &json!(4)]
    );
    assert!(text(&answers[0]["result"])?.ends_with("\nremaining_tool_calls: 59"));
    assert_eq!(answers[1]["error"]["code"], -32601);
    assert_eq!(answers[2]["error"]["code"], -32600);
    assert_eq!(answers[3]["error"]["code"], -32600);
    assert!(text(&answers[4]["result"])?.ends_with("\nremaining_tool_calls: 58"));
    let quiet = json!([{ "jsonrpc": "2.0", "method": "notifications/initialized" }]);
    assert_eq!(client.post(&quiet).await?.status, 202);
    let newer = client.with("mcp-protocol-version", "2025-06-18");
    assert_eq!(newer.post(&quiet).await?.refusal(), (400, json!(-32600)));
    Ok(())
}

#[tokio::test]
async fn a_session_is_good_on_every_replica_and_for_its_run_alone() -> Result<()> {
    let stack = Stack::storage().await?;
    let (_, client_here) = client(&stack).await?;
    let (session, _) = client_here.initialize("2025-06-18").await?;
    let other = ControlPlane::start(
        stack.shared,
        stack.directory.path(),
        stack.database_name(),
        "",
    )
    .await?;
    let mut there = session.clone();
    there.address = other.address().to_owned();
    let called = there.call("note_find", json!({})).await?;
    assert!(text(&called)?.ends_with("\nremaining_tool_calls: 59"));
    let called = session.call("note_find", json!({})).await?;
    assert!(text(&called)?.ends_with("\nremaining_tool_calls: 58"));
    let (_, of_other_run) = client(&stack).await?;
    let (theirs, _) = of_other_run.initialize("2025-06-18").await?;
    let stolen = theirs
        .headers
        .iter()
        .find(|(name, _)| name == "mcp-session-id")
        .context("a session")?;
    for session in [stolen.1.as_str(), "x", "00-11"] {
        let answer = client_here
            .clone()
            .with("mcp-session-id", session)
            .ask("ping", json!({}))
            .await?;
        assert_eq!(answer.refusal(), (404, json!(-32600)), "{session}");
    }
    let deleted = session.send(Method::DELETE, "").await?;
    assert_eq!(deleted.status, 405);
    assert_eq!(deleted.headers["allow"], "GET, POST");
    Ok(())
}

#[tokio::test]
async fn messages_and_open_streams_are_counted() -> Result<()> {
    let stack = Stack::storage().await?;
    let (_, client) = client(&stack).await?;
    client.call("note_find", json!({})).await?;
    client.ask("made_up", json!({})).await?;
    let stream = client.listen().await?;
    let text = stack.operator.get("/metrics").await?.text;
    for line in [
        "guilds_mcp_messages_total{method=\"tools/call\",outcome=\"ok\"} 1\n",
        "guilds_mcp_messages_total{method=\"other\",outcome=\"error\"} 1\n",
        "guilds_mcp_streams 1\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    drop(stream);
    Ok(())
}
