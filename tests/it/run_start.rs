//! A run's start: its fields, its defaults, its refusals, its end.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stack;

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value
        .as_object()
        .into_iter()
        .flat_map(|object| object.keys().map(String::as_str))
        .collect();
    keys.sort_unstable();
    keys
}

/// `2026-01-02T03:04:05Z`, with milliseconds unless they are 0.
fn is_a_time(value: &Value) -> bool {
    let Some(text) = value.as_str() else {
        return false;
    };
    let shape: String = text
        .chars()
        .map(|character| {
            if character.is_ascii_digit() {
                '9'
            } else {
                character
            }
        })
        .collect();
    (shape == "9999-99-99T99:99:99Z" || shape == "9999-99-99T99:99:99.999Z")
        && !text.ends_with(".000Z")
}

#[tokio::test]
async fn a_start_answers_every_field() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let body = &run.body;
    assert_eq!(
        keys(body),
        [
            "agent",
            "created_at",
            "kind",
            "mcp",
            "memory",
            "notices",
            "remaining_tool_calls",
            "run",
            "secrets",
            "state",
            "tools",
            "turn"
        ]
    );
    assert_eq!(body["agent"], stack.ada.id);
    assert_eq!(body["kind"], "direct");
    assert_eq!(body["state"], "open");
    assert_eq!(body["turn"], 1);
    assert_eq!(body["remaining_tool_calls"], 60);
    assert_eq!(body["memory"], "");
    assert_eq!(body["secrets"], json!([]));
    assert_eq!(body["notices"], json!([]));
    assert!(is_a_time(&body["created_at"]), "{}", body["created_at"]);
    assert_eq!(run.id.parse::<uuid::Uuid>()?.to_string(), run.id);
    Ok(())
}

#[tokio::test]
async fn a_tool_of_the_offer_has_four_fields_and_a_rewritten_schema() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for tool in run.body["tools"].as_array().into_iter().flatten() {
        assert_eq!(
            keys(tool),
            ["description", "input_schema", "name", "source"]
        );
        assert_eq!(tool["source"], "native");
        assert_eq!(tool["input_schema"]["type"], "object");
        let text = tool.to_string();
        assert!(!text.contains("\"$schema\""), "{text}");
        assert!(!text.contains("\"additionalProperties\":false"), "{text}");
    }
    let find = run.body["tools"]
        .as_array()
        .and_then(|tools| tools.iter().find(|tool| tool["name"] == "note_find"))
        .cloned()
        .unwrap_or_default();
    let query = find["input_schema"]["properties"]["query"]["description"]
        .as_str()
        .unwrap_or_default();
    assert!(
        query.to_lowercase().contains("omit"),
        "an optional string says when to omit it: {query:?}"
    );
    Ok(())
}

#[tokio::test]
async fn an_unreachable_machine_is_a_notice_that_names_it() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let notices = run.body["notices"].as_array().cloned().unwrap_or_default();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(
        notices[0].as_str().unwrap_or_default().contains("local"),
        "{notices:?}"
    );
    let failed = run.call("shell", json!({ "command": "true" })).await?;
    assert!(failed.content.starts_with("ERROR: "), "{failed:?}");
    assert!(failed.content.contains("local"), "{failed:?}");
    let fine = run.call("note_find", json!({})).await?;
    assert_eq!(fine.metadata["error"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn the_budget_is_the_requests_else_the_agents_else_60() -> Result<()> {
    let stack = Stack::storage().await?;
    assert_eq!(
        stack.run_with_budget(40).await?.body["remaining_tool_calls"],
        40
    );
    let mut document = stack.document();
    document["agents"][0]["config"]["max_tool_calls"] = json!(7);
    stack.apply(&document).await?;
    assert_eq!(stack.run(&stack.ada).await?.body["remaining_tool_calls"], 7);
    assert_eq!(
        stack.run(&stack.bob).await?.body["remaining_tool_calls"],
        60
    );
    for wrong in [json!(0), json!(1001), json!("5"), json!(1.5)] {
        let answer = stack
            .backend
            .post(
                "/v1/runs",
                &json!({ "agent": stack.ada.id, "kind": "direct", "max_tool_calls": wrong }),
            )
            .await?;
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{wrong}");
        assert!(answer.text.contains("max_tool_calls"), "{}", answer.text);
    }
    Ok(())
}

#[tokio::test]
async fn a_start_that_makes_no_sense_is_refused_with_every_problem() -> Result<()> {
    let stack = Stack::storage().await?;
    let unknown = stack
        .backend
        .post(
            "/v1/runs",
            &json!({ "agent": "nobody-here", "kind": "direct" }),
        )
        .await?;
    assert_eq!(unknown.refusal(), (404, "not_found".to_owned()));
    assert!(unknown.text.contains("nobody-here"), "{}", unknown.text);
    let several = stack
        .backend
        .post(
            "/v1/runs",
            &json!({ "agent": stack.ada.id, "kind": "weekly", "max_tool_calls": 5000 }),
        )
        .await?;
    assert_eq!(several.refusal(), (422, "invalid".to_owned()));
    for word in ["kind", "weekly", "group_chat", "max_tool_calls"] {
        assert!(several.text.contains(word), "{word}: {}", several.text);
    }
    Ok(())
}

#[tokio::test]
async fn a_retried_start_answers_the_first_one() -> Result<()> {
    let stack = Stack::storage().await?;
    let start = json!({
        "agent": stack.ada.id, "kind": "direct", "max_tool_calls": 30,
        "id": "0192f0c1-2345-7abc-8def-0123456789ab",
    });
    let first = stack.backend.start(&start).await?;
    assert_eq!(first.id, "0192f0c1-2345-7abc-8def-0123456789ab");
    let again = stack.backend.post("/v1/runs", &start).await?;
    assert!(
        again.status == 200 || again.status == 201,
        "{}",
        again.status
    );
    assert_eq!(again.json()?, first.body);
    let list = stack
        .backend
        .get(&format!("/v1/runs?agent={}", stack.ada.id))
        .await?
        .expect(200)?;
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(1));
    Ok(())
}

#[tokio::test]
async fn a_run_reads_back_as_it_started() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let read = stack.backend.get(&run.path("")).await?.expect(200)?;
    let mut body = run.body.clone();
    body["mcp"] = json!({ "url": body["mcp"]["url"] });
    assert_eq!(read, body);
    let absent = stack
        .backend
        .get("/v1/runs/0192f0c1-2345-7abc-8def-0123456789ab")
        .await?;
    assert_eq!(absent.refusal(), (404, "not_found".to_owned()));
    Ok(())
}

#[tokio::test]
async fn memory_is_absent_only_when_the_agent_has_none() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["agents"][1]["config"] = json!({ "memory": false });
    stack.apply(&document).await?;
    let ada = stack.run(&stack.ada).await?;
    let written = ada
        .call(
            "note_write",
            json!({ "path": format!("agent/{}/memory.md", stack.ada.id), "content": "Met Eve." }),
        )
        .await?;
    assert_eq!(written.metadata["error"], Value::Null, "{written:?}");
    assert_eq!(stack.run(&stack.ada).await?.body["memory"], "Met Eve.");
    let bob = stack.run(&stack.bob).await?;
    assert!(bob.body.get("memory").is_none(), "{}", bob.body);
    Ok(())
}

#[tokio::test]
async fn an_ended_run_takes_no_calls_and_ends_twice() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for _ in 0..2 {
        assert_eq!(run.end().await?, json!({ "run": run.id, "state": "ended" }));
    }
    let call = stack
        .backend
        .post(
            &run.path("/calls"),
            &json!({ "calls": [{ "id": "a", "name": "note_find", "arguments": {} }] }),
        )
        .await?;
    assert_eq!(call.refusal(), (409, "run_ended".to_owned()));
    let turn = stack.backend.post(&run.path("/turns"), &json!({})).await?;
    assert_eq!(turn.refusal(), (409, "run_ended".to_owned()));
    let open = stack
        .backend
        .get(&format!("/v1/runs?agent={}&state=open", stack.ada.id))
        .await?
        .expect(200)?;
    assert_eq!(open["runs"], json!([]));
    Ok(())
}

#[tokio::test]
async fn a_run_without_a_request_for_a_day_ends_itself() -> Result<()> {
    let mut stack = Stack::storage().await?;
    let idle = stack.run(&stack.ada).await?;
    let busy = stack.run(&stack.ada).await?;
    let mut db = stack.database().await?;
    for (run, age) in [(&idle, "24 hours 1 minute"), (&busy, "23 hours 59 minutes")] {
        sqlx::query("UPDATE runs SET last_request_at = now() - $2::text::interval WHERE id = $1")
            .bind(run.id.parse::<uuid::Uuid>()?)
            .bind(age)
            .execute(&mut db)
            .await?;
    }
    // A control plane looks for such runs when it starts, and now and then after.
    stack.control_plane.stop()?;
    stack.control_plane.start_again().await?;
    let mut states = Vec::new();
    for _ in 0..500 {
        states.clear();
        for run in [&idle, &busy] {
            let state: String = sqlx::query_scalar("SELECT state FROM runs WHERE id = $1")
                .bind(run.id.parse::<uuid::Uuid>()?)
                .fetch_one(&mut db)
                .await?;
            states.push(state);
        }
        if states[0] == "ended" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(states, ["ended", "open"]);
    Ok(())
}
