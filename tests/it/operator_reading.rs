//! What operators read beside the document: runs, their calls, the audit; and who may read what.

use anyhow::{Context, Result};
use hyper::Method;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tests::{Api, Stack};

/// Every route of this file with the role that opens it.
const BACKENDS: [&str; 4] = ["memory", "schedules", "offer", "files?path=a"];
const OPERATORS: [&str; 10] = [
    "runs",
    "runs/0192f0c1-2345-7abc-8def-0123456789ab",
    "audit",
    "scripts",
    "scripts/ada/report",
    "schedules",
    "schedules/0192f0c1-2345-7abc-8def-0123456789ab",
    "why?agent=a&tool=b",
    "notes/org%2Fa.md/history",
    "collections/contacts/records",
];

#[tokio::test]
async fn each_route_wants_a_token_of_its_role() -> Result<()> {
    let stack = Stack::storage().await?;
    let nobody = Api::new(stack.control_plane.address(), None);
    let backends = BACKENDS.map(|rest| {
        (
            format!("/v1/agents/{}/{rest}", stack.ada.id),
            &stack.operator,
        )
    });
    let operators = OPERATORS.map(|rest| (format!("/v1/operator/{rest}"), &stack.backend));
    for (path, wrong) in backends.into_iter().chain(operators) {
        let answer = nobody.get(&path).await?;
        assert_eq!(answer.refusal(), (401, "unauthorized".to_owned()), "{path}");
        let answer = wrong.get(&path).await?;
        assert_eq!(answer.refusal(), (403, "forbidden".to_owned()), "{path}");
    }
    for path in [
        "notes/org%2Fa.md/restore",
        "collections/contacts/records/1/restore",
    ] {
        let path = format!("/v1/operator/{path}");
        let answer = nobody.post(&path, &json!({})).await?;
        assert_eq!(answer.refusal(), (401, "unauthorized".to_owned()), "{path}");
        let answer = stack.backend.post(&path, &json!({})).await?;
        assert_eq!(answer.refusal(), (403, "forbidden".to_owned()), "{path}");
    }
    for method in [Method::PUT, Method::DELETE] {
        let path = "/v1/operator/secrets/STRIPE_KEY/grants/ada";
        let answer = nobody.send(method.clone(), path, Bytes::new()).await?;
        assert_eq!(answer.refusal(), (401, "unauthorized".to_owned()));
        let answer = stack.backend.send(method, path, Bytes::new()).await?;
        assert_eq!(answer.refusal(), (403, "forbidden".to_owned()));
    }
    Ok(())
}

#[tokio::test]
async fn each_list_refuses_what_it_does_not_know_all_at_once() -> Result<()> {
    let stack = Stack::storage().await?;
    for list in ["runs", "audit", "scripts", "schedules"] {
        let path = format!("/v1/operator/{list}?limit=0&after=%25&colour=red");
        let answer = stack.operator.get(&path).await?;
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{list}");
        for name in ["`limit`", "`after`", "`colour`"] {
            assert!(answer.text.contains(name), "{list}: {}", answer.text);
        }
    }
    for (path, words) in [
        ("runs?state=closed", "allowed are open, ended"),
        ("schedules?state=open", "allowed are active, paused"),
        ("audit?since=yesterday", "`since` is \\\"yesterday\\\""),
        (
            "runs?after=0192f0c1-2345-7abc-8def-0123456789ab",
            "names no run",
        ),
        ("runs?agent=a&agent=b", "`agent` is given twice"),
    ] {
        let answer = stack.operator.get(&format!("/v1/operator/{path}")).await?;
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{path}");
        assert!(answer.text.contains(words), "{path}: {}", answer.text);
    }
    Ok(())
}

/// Ids of all pages of a list, with something new before each further page.
async fn pages<F: Future<Output = Result<()>>>(
    api: &Api,
    path: &str,
    key: &str,
    id: impl Fn(&Value) -> String,
    mut meanwhile: impl FnMut() -> F,
) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    let mut cursor = String::new();
    for _ in 0..20 {
        let page = api.get(&format!("{path}{cursor}")).await?.expect(200)?;
        ids.extend(page[key].as_array().context("rows")?.iter().map(&id));
        let next = match &page["next"] {
            Value::Null => return Ok(ids),
            Value::String(next) => next.clone(),
            next => next.to_string(),
        };
        cursor = format!("&after={next}");
        meanwhile().await?;
    }
    anyhow::bail!("{path}: no end of pages")
}

#[tokio::test]
async fn runs_are_listed_newest_first_with_their_counts() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut started = Vec::new();
    for _ in 0..5 {
        started.push(stack.run(&stack.bob).await?);
    }
    let run = &started[4];
    run.call("note_find", json!({})).await?;
    run.call("nothing", json!({})).await?;
    run.end().await?;
    let list = stack
        .operator
        .get("/v1/operator/runs?state=ended")
        .await?
        .expect(200)?;
    assert_eq!(list["next"], Value::Null);
    let row = &list["runs"][0];
    assert_eq!(row["id"], run.id);
    assert_eq!(row["agent"], stack.bob.id);
    for (key, expected) in [
        ("guild", json!("core")),
        ("kind", json!("direct")),
        ("state", json!("ended")),
        ("turn", json!(1)),
        ("max_tool_calls", json!(60)),
        ("remaining_tool_calls", json!(58)),
        ("calls", json!(2)),
        ("errors", json!(1)),
    ] {
        assert_eq!(row[key], expected, "{key}");
    }
    for key in ["created_at", "last_request_at", "ended_at"] {
        assert!(
            row[key].as_str().is_some_and(|at| at.ends_with('Z')),
            "{row}"
        );
    }
    let path = format!("/v1/operator/runs?limit=2&agent={}", stack.bob.id);
    let id = |row: &Value| row["id"].as_str().unwrap_or_default().to_owned();
    let more = async || stack.run(&stack.bob).await.map(drop);
    let seen = pages(&stack.operator, &path, "runs", id, more).await?;
    let expected: Vec<_> = started.iter().rev().map(|run| run.id.clone()).collect();
    assert_eq!(seen, expected);
    let none = stack
        .operator
        .get(&format!("/v1/operator/runs?agent={}", stack.ada.id))
        .await?
        .expect(200)?;
    assert_eq!(none, json!({ "runs": [], "next": null }));
    let other = stack.operator_of("other")?;
    let theirs = other.get("/v1/operator/runs").await?.expect(200)?;
    assert_eq!(theirs, json!({ "runs": [], "next": null }));
    let theirs = other.get(&format!("/v1/operator/runs/{}", run.id)).await?;
    assert_eq!(theirs.refusal(), (404, "not_found".to_owned()));
    let cursor = other
        .get(&format!("/v1/operator/runs?after={}", run.id))
        .await?;
    assert_eq!(cursor.refusal(), (422, "invalid".to_owned()));
    Ok(())
}

#[tokio::test]
async fn a_runs_timeline_tells_each_call_and_never_what_it_said() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    run.call_as(
        "a",
        "note_write",
        json!({ "level": "agent", "key": "a.md", "content": "very private" }),
    )
    .await?;
    run.call_as("b", "note_get", json!({ "path": "agent/nobody/a.md" }))
        .await?;
    run.turn().await?;
    run.call_as(
        "c",
        "note_get",
        json!({ "path": format!("agent/{}/a.md", stack.ada.id) }),
    )
    .await?;
    let path = format!("/v1/operator/runs/{}", run.id);
    let answer = stack.operator.get(&path).await?;
    assert!(!answer.text.contains("very private"), "{}", answer.text);
    let shown = answer.expect(200)?;
    assert_eq!(shown["id"], run.id);
    assert_eq!(shown["calls"], 3);
    assert_eq!(shown["errors"], 1);
    assert_eq!(shown["next"], Value::Null);
    let timeline = shown["timeline"].as_array().cloned().unwrap_or_default();
    let told: Vec<Value> = timeline
        .iter()
        .map(|call| {
            json!([
                call["call_id"],
                call["name"],
                call["turn"],
                call["state"],
                call["truncated"]
            ])
        })
        .collect();
    assert_eq!(
        json!(told),
        json!([
            ["a", "note_write", 1, "stored", false],
            ["b", "note_get", 1, "stored", false],
            ["c", "note_get", 2, "stored", false]
        ])
    );
    assert_eq!(timeline[0]["error"], Value::Null);
    let error = timeline[1]["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("404 "), "{error}");
    for call in &timeline {
        for key in ["duration_ms", "original_bytes", "stored_bytes"] {
            assert!(call[key].is_u64(), "{key}: {call}");
        }
        assert!(
            call["at"].is_string()
                && call.get("content").is_none()
                && call.get("arguments").is_none()
        );
    }
    let id = |call: &Value| call["call_id"].as_str().unwrap_or_default().to_owned();
    let more = async || {
        let made = run.call("note_find", json!({})).await?;
        anyhow::ensure!(made.metadata["error"].is_null(), "{made:?}");
        Ok(())
    };
    let first = stack
        .operator
        .get(&format!("{path}?limit=2"))
        .await?
        .expect(200)?;
    assert_eq!(first["next"], "b");
    more().await?;
    let second = stack
        .operator
        .get(&format!("{path}?limit=2&after=b"))
        .await?
        .expect(200)?;
    let second: Vec<String> = second["timeline"]
        .as_array()
        .into_iter()
        .flatten()
        .map(id)
        .collect();
    assert_eq!(second.len(), 2);
    assert_eq!(second[0], "c");
    let wrong = stack.operator.get(&format!("{path}?after=zzz")).await?;
    assert_eq!(wrong.refusal(), (422, "invalid".to_owned()));
    for id in ["not-a-uuid", "0192f0c1-2345-7abc-8def-0123456789ab"] {
        let answer = stack
            .operator
            .get(&format!("/v1/operator/runs/{id}"))
            .await?;
        assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    }
    Ok(())
}

#[tokio::test]
async fn the_audit_is_read_newest_first_and_filtered() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["agents"][1]["config"] = json!({ "memory": false });
    stack.apply(&document).await?;
    let audit = async |query: &str| {
        let path = format!("/v1/operator/audit{query}");
        stack.operator.get(&path).await?.expect(200)
    };
    let all = audit("").await?;
    let rows = all["audit"].as_array().cloned().context("audit")?;
    assert_eq!(rows[0]["action"], "update");
    assert_eq!(rows[0]["kind"], "agents");
    assert_eq!(rows[0]["object"], stack.bob.id);
    assert_eq!(rows[0]["before"]["config"]["memory"], true);
    assert_eq!(rows[0]["after"]["config"]["memory"], false);
    assert!(
        rows[0]["actor"]
            .as_str()
            .is_some_and(|actor| actor.starts_with("operator:"))
    );
    let ids: Vec<i64> = rows.iter().filter_map(|row| row["id"].as_i64()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] > pair[1]), "{ids:?}");
    // One guild, one machine, two agents, and the change.
    assert_eq!(rows.len(), 5);
    let count = |list: &Value| list["audit"].as_array().map_or(0, Vec::len);
    assert_eq!(count(&audit("?kind=agents").await?), 3);
    let object = format!("?kind=agents&object={}", stack.bob.id);
    assert_eq!(count(&audit(&object).await?), 2);
    let actor = rows[0]["actor"].as_str().unwrap_or_default();
    assert_eq!(count(&audit(&format!("?actor={actor}")).await?), 5);
    assert_eq!(count(&audit("?actor=operator:none").await?), 0);
    let since = rows[0]["at"].as_str().unwrap_or_default();
    assert_eq!(count(&audit(&format!("?since={since}")).await?), 1);
    assert_eq!(count(&audit("?since=2020-01-31").await?), 5);
    assert_eq!(count(&audit("?since=9000-01-01T00:00:00Z").await?), 0);
    let id = |row: &Value| row["id"].to_string();
    let mut flag = false;
    let seen = pages(
        &stack.operator,
        "/v1/operator/audit?limit=2",
        "audit",
        id,
        || {
            flag = !flag;
            document["agents"][1]["config"] = json!({ "memory": flag });
            let document = document.clone();
            let stack = &stack;
            async move { stack.apply(&document).await.map(drop) }
        },
    )
    .await?;
    assert_eq!(seen, ids.iter().map(i64::to_string).collect::<Vec<_>>());
    let other = stack.operator_of("other")?;
    assert_eq!(
        count(&other.get("/v1/operator/audit").await?.expect(200)?),
        0
    );
    Ok(())
}

#[tokio::test]
async fn a_list_of_what_is_not_there_says_so() -> Result<()> {
    let stack = Stack::storage().await?;
    stack
        .apply(&json!({
            "guilds": [{ "id": "spare" }],
            "agents": [{ "id": "leaving", "guild": "spare", "machine": "local", "slot": 97 }],
        }))
        .await?;
    let start = json!({ "agent": "leaving", "kind": "direct" });
    let run = stack.backend.start(&start).await?;
    run.end().await?;
    let path = "/v1/operator/agents/leaving";
    stack.operator.delete(path).await?.expect(200)?;
    for (path, key) in [
        ("runs?agent=leaving&state=open", "runs"),
        ("issues?guild=spare", "issues"),
        ("audit?kind=secret-requests", "audit"),
    ] {
        let path = format!("/v1/operator/{path}");
        let list = stack.operator.get(&path).await?.expect(200)?;
        assert_eq!(list, json!({ key: [], "next": null }), "{path}");
    }
    for (path, message) in [
        ("runs?agent=leavign", "no agent leavign"),
        ("schedules?agent=leaving", "no agent leaving"),
        ("scripts?agent=leaving", "no agent leaving"),
        ("issues?guild=spaer", "no guild spaer; did you mean spare?"),
    ] {
        let answer = stack.operator.get(&format!("/v1/operator/{path}")).await?;
        assert_eq!(answer.refusal(), (404, "not_found".to_owned()), "{path}");
        assert_eq!(answer.json()?["error"]["message"], message, "{path}");
    }
    let path = "/v1/runs?agent=leaving&state=open";
    let list = stack.backend.get(path).await?.expect(200)?;
    assert_eq!(list, json!({ "runs": [], "next": null }));
    let answer = stack.backend.get("/v1/runs?agent=leavign").await?;
    assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    let answer = stack.operator.get("/v1/operator/audit?kind=agent").await?;
    assert_eq!(answer.refusal(), (422, "invalid".to_owned()));
    assert_eq!(
        answer.json()?["error"]["message"],
        "`kind` is \"agent\"; allowed are guilds, machines, agents, bindings, collections, notes, connectors, logins, secrets, records, issues, schedules, secret-requests; did you mean agents?"
    );
    Ok(())
}

#[tokio::test]
async fn what_was_written_before_it_was_a_secret_is_read_without_it() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut db = stack.database().await?;
    let ada = &stack.ada.id;
    let run = stack.run(&stack.ada).await?;
    let memory =
        json!({ "path": format!("agent/{ada}/memory.md"), "content": "pay with hunter22" });
    stack.apply(&json!({ "notes": [memory] })).await?;
    let report = json!({ "kind": "other", "summary": "hunter22 fails", "detail": "it was hunter22", "severity": "low" });
    run.call("report_issue", report).await?;
    sqlx::query(
        "INSERT INTO secret_requests (id, organisation, guild, agent, name, reason)
         VALUES (gen_random_uuid(), 'acme', 'core', $1, 'OTHER_KEY', 'not hunter22')",
    )
    .bind(ada)
    .execute(&mut db)
    .await?;
    let memory = format!("notes/agent%2F{ada}%2Fmemory.md");
    let issue = stack.operator.get("/v1/operator/issues").await?.json()?;
    let issue = format!("issues/{}", issue["issues"][0]["id"]);
    let paths = [&memory, "issues", &issue, "secret-requests", "inbox"];
    let texts = async || -> Result<Vec<usize>> {
        let mut counts = Vec::new();
        for path in paths {
            let answer = stack.operator.get(&format!("/v1/operator/{path}")).await?;
            assert_eq!(answer.status, 200, "{path}");
            let marks = answer.text.matches("[redacted:STRIPE_KEY]").count();
            assert_eq!(answer.text.contains("hunter22"), marks == 0, "{path}");
            counts.push(marks);
        }
        Ok(counts)
    };
    assert_eq!(texts().await?, [0; 5]);
    stack
        .apply(&json!({ "secrets": [{ "name": "STRIPE_KEY", "value": "hunter22" }] }))
        .await?;
    assert_eq!(texts().await?, [1, 2, 4, 1, 3]);
    Ok(())
}
