//! Issues and the inbox as operators see them.

use anyhow::{Context, Result};
use hyper::Method;
use serde_json::{Value, json};
use tests::shared::ORGANISATION;
use tests::{Answer, Api, Run, Stack, spawn};
use uuid::Uuid;

async fn report(run: &Run, call: &str, summary: &str, tool: Option<&str>) -> Result<i64> {
    let arguments = json!({
        "summary": summary, "detail": format!("about {summary}"), "kind": "tool_failure",
        "tool_name": tool,
    });
    let mut arguments = arguments;
    if tool.is_none() {
        arguments
            .as_object_mut()
            .context("object")?
            .remove("tool_name");
    }
    let result = run.call_as(call, "report_issue", arguments).await?;
    result.json()["issue"].as_i64().context("issue")
}

async fn patch(api: &Api, issue: i64, body: &Value) -> Result<Answer> {
    let path = format!("/v1/operator/issues/{issue}");
    api.send(Method::PATCH, &path, body.to_string().into())
        .await
}

/// An operator of another organisation.
async fn stranger(stack: &Stack) -> Result<Api> {
    let token = spawn::run(
        spawn::command(stack.shared.program("guilds-control-plane"))
            .args([
                "token",
                "create",
                "--role",
                "operator",
                "--organisation",
                "other",
            ])
            .arg("--config")
            .arg(stack.control_plane.config()),
    )?;
    Ok(Api::new(stack.control_plane.address(), Some(token.trim())))
}

fn ids(list: &Value) -> Vec<i64> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(|object| object["id"].as_i64())
        .collect()
}

#[tokio::test]
async fn an_issue_shows_who_reported_it_and_its_last_report() -> Result<()> {
    let stack = Stack::storage().await?;
    let ada = stack.run(&stack.ada).await?;
    let bob = stack.run(&stack.bob).await?;
    let issue = report(&bob, "b1", "Note 4 fails", Some("note_get")).await?;
    report(&ada, "a1", "note 5 FAILS", Some("note_get")).await?;
    let path = format!("/v1/operator/issues/{issue}");
    let found = stack.operator.get(&path).await?.expect(200)?;
    let expected = json!({
        "id": issue, "guild": "core", "kind": "tool_failure", "tool_name": "note_get",
        "summary": "Note 4 fails", "severity": "medium", "status": "open", "reports": 2,
        "agents": [stack.ada.id, stack.bob.id],
        "first_at": found["first_at"], "last_at": found["last_at"],
        "last_report": {
            "run": ada.id, "call_id": "a1", "agent": stack.ada.id,
            "detail": "about note 5 FAILS", "at": found["last_report"]["at"],
        },
        "recent_reports": [
            { "id": found["recent_reports"][0]["id"], "run": ada.id, "call_id": "a1",
              "agent": stack.ada.id, "summary": "note 5 FAILS", "detail": "about note 5 FAILS",
              "severity": "medium", "at": found["recent_reports"][0]["at"] },
            { "id": found["recent_reports"][1]["id"], "run": bob.id, "call_id": "b1",
              "agent": stack.bob.id, "summary": "Note 4 fails", "detail": "about Note 4 fails",
              "severity": "medium", "at": found["recent_reports"][1]["at"] },
        ],
        "next": null,
    });
    assert_eq!(found, expected);
    for time in ["first_at", "last_at"] {
        assert!(found[time].as_str().is_some_and(|at| at.ends_with('Z')));
    }
    let first = stack
        .operator
        .get(&format!("{path}?limit=1"))
        .await?
        .expect(200)?;
    let next = first["next"].as_i64().context("next")?;
    let second = stack
        .operator
        .get(&format!("{path}?limit=1&after={next}"))
        .await?
        .expect(200)?;
    assert_eq!(second["recent_reports"][0]["call_id"], "b1");
    assert_eq!(second["next"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn issues_are_listed_newest_report_first_filtered_and_in_pages() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["guilds"] = json!([{ "id": "core" }, { "id": "side" }]);
    document["agents"][1]["guild"] = json!("side");
    stack.apply(&document).await?;
    let ada = stack.run(&stack.ada).await?;
    let bob = stack.run(&stack.bob).await?;
    let one = report(&ada, "1", "one", None).await?;
    let two = report(&bob, "2", "two", None).await?;
    let three = report(&ada, "3", "three", None).await?;
    // Reported again, it is the newest.
    report(&ada, "4", "one", None).await?;
    patch(&stack.operator, three, &json!({ "status": "resolved" }))
        .await?
        .expect(200)?;
    let list = async |query: &str| -> Result<Vec<i64>> {
        let path = format!("/v1/operator/issues?{query}");
        let body = stack.operator.get(&path).await?.expect(200)?;
        assert_eq!(body["next"], Value::Null, "{query}");
        Ok(ids(&body["issues"]))
    };
    assert_eq!(list("").await?, [one, three, two]);
    assert_eq!(list("status=open").await?, [one, two]);
    assert_eq!(list("status=resolved").await?, [three]);
    assert_eq!(list("guild=core").await?, [one, three]);
    assert_eq!(list("guild=side&status=resolved").await?, Vec::<i64>::new());
    let (mut seen, mut path) = (Vec::new(), "/v1/operator/issues?limit=1".to_owned());
    loop {
        let body = stack.operator.get(&path).await?.expect(200)?;
        assert_eq!(ids(&body["issues"]).len(), 1);
        seen.extend(ids(&body["issues"]));
        let Some(next) = body["next"].as_str() else {
            break;
        };
        path = format!("/v1/operator/issues?limit=1&after={next}");
    }
    assert_eq!(seen, [one, three, two]);
    let answer = stack
        .operator
        .get("/v1/operator/issues?status=new&after=x&limit=0&kind=api")
        .await?;
    assert_eq!(answer.refusal(), (422, "invalid".to_owned()));
    assert_eq!(
        answer.json()?["error"]["message"],
        "`status` is \"new\"; allowed are open, resolved; \
         `after` is \"x\"; allowed is the `next` of a list before; \
         `limit` is \"0\"; allowed are 1 to 1000; \
         `kind` is no parameter; allowed are guild, status, after, limit"
    );
    Ok(())
}

#[tokio::test]
async fn an_issue_is_resolved_and_opened_again_and_the_audit_tells_who() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let issue = report(&run, "1", "one", None).await?;
    let mut db = stack.database().await?;
    for (status, before, rows) in [
        ("resolved", "open", 1),
        ("resolved", "open", 1),
        ("open", "resolved", 2),
    ] {
        let body = patch(&stack.operator, issue, &json!({ "status": status }))
            .await?
            .expect(200)?;
        assert_eq!(
            (&body["id"], &body["status"]),
            (&json!(issue), &json!(status))
        );
        let audit: Vec<(String, Value, Value)> = sqlx::query_as(
            "SELECT action, before, after FROM audit WHERE kind = 'issues' AND object = $1 ORDER BY id",
        )
        .bind(issue.to_string())
        .fetch_all(&mut db)
        .await?;
        assert_eq!(audit.len(), rows, "{audit:?}");
        assert_eq!(
            audit.last(),
            Some(&(
                "update".to_owned(),
                json!({ "status": before }),
                json!({ "status": status })
            ))
        );
    }
    for (body, message) in [
        (
            json!({}),
            "`status` is missing; it has to be open or resolved",
        ),
        (
            json!({ "status": "closed", "note": "x" }),
            "`status` is \"closed\"; allowed are open, resolved; `note` is no field; allowed are status",
        ),
        (
            json!({ "status": true }),
            "`status` is true; it has to be open or resolved",
        ),
    ] {
        let answer = patch(&stack.operator, issue, &body).await?;
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{body}");
        assert_eq!(answer.json()?["error"]["message"], message);
    }
    let stranger = stranger(&stack).await?;
    for (api, issue) in [(&stack.operator, issue + 1), (&stranger, issue)] {
        let answer = patch(api, issue, &json!({ "status": "open" })).await?;
        assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
        let answer = api.get(&format!("/v1/operator/issues/{issue}")).await?;
        assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    }
    let answer = stack.operator.get("/v1/operator/issues/one").await?;
    assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    let theirs = stranger.get("/v1/operator/issues").await?.expect(200)?;
    assert_eq!(theirs, json!({ "issues": [], "next": null }));
    let answer = patch(&stack.backend, issue, &json!({ "status": "open" })).await?;
    assert_eq!(answer.refusal(), (403, "forbidden".to_owned()));
    Ok(())
}

#[tokio::test]
async fn the_inbox_is_open_issues_and_pending_requests_newest_first() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let mut db = stack.database().await?;
    let mut requests = Vec::new();
    let mut ask = async |name: &str, status: &str| -> Result<()> {
        let id = Uuid::now_v7();
        sqlx::query(
            "INSERT INTO secret_requests (id, organisation, guild, agent, run, call_id, name, reason, status, created_at)
             VALUES ($1, $2, 'core', $3, $4, 'c', $5, 'to pay', $6, clock_timestamp())",
        )
        .bind(id)
        .bind(ORGANISATION)
        .bind(&stack.ada.id)
        .bind(Uuid::parse_str(&run.id)?)
        .bind(name)
        .bind(status)
        .execute(&mut db)
        .await?;
        requests.push(id);
        Ok(())
    };
    let old = report(&run, "1", "old", None).await?;
    ask("FIRST_KEY", "pending").await?;
    let resolved = report(&run, "2", "resolved", None).await?;
    ask("DENIED_KEY", "denied").await?;
    let new = report(&run, "3", "new", None).await?;
    ask("SECOND_KEY", "pending").await?;
    patch(&stack.operator, resolved, &json!({ "status": "resolved" }))
        .await?
        .expect(200)?;

    let body = stack
        .operator
        .get("/v1/operator/inbox")
        .await?
        .expect(200)?;
    assert_eq!(body["counts"], json!({ "issues": 2, "secret_requests": 2 }));
    assert_eq!(body["next"], Value::Null);
    let inbox = body["inbox"].as_array().context("inbox")?;
    let short: Vec<Value> = inbox
        .iter()
        .map(|item| json!([item["type"], item["id"]]))
        .collect();
    let expected = [
        json!(["secret_request", requests[2]]),
        json!(["issue", new]),
        json!(["secret_request", requests[0]]),
        json!(["issue", old]),
    ];
    assert_eq!(short, expected);
    assert_eq!(
        inbox[0],
        json!({
            "type": "secret_request", "id": requests[2], "agent": stack.ada.id, "guild": "core",
            "name": "SECOND_KEY", "reason": "to pay", "status": "pending", "run": run.id,
            "created_at": inbox[0]["created_at"], "decided_at": null, "answer": null,
        })
    );
    assert_eq!(inbox[1]["last_report"]["run"], run.id);
    assert_eq!(inbox[1]["last_report"]["call_id"], "3");

    let (mut pages, mut path) = (Vec::new(), "/v1/operator/inbox?limit=3".to_owned());
    loop {
        let body = stack.operator.get(&path).await?.expect(200)?;
        pages.push(body["inbox"].as_array().map_or(0, Vec::len));
        let Some(next) = body["next"].as_str() else {
            assert_eq!(body["inbox"][0]["id"], old);
            break;
        };
        path = format!("/v1/operator/inbox?limit=3&after={next}");
    }
    assert_eq!(pages, [3, 1]);
    let theirs = stranger(&stack)
        .await?
        .get("/v1/operator/inbox")
        .await?
        .expect(200)?;
    assert_eq!(
        theirs,
        json!({ "inbox": [], "next": null, "counts": { "issues": 0, "secret_requests": 0 } })
    );
    let answer = stack.backend.get("/v1/operator/inbox").await?;
    assert_eq!(answer.refusal(), (403, "forbidden".to_owned()));
    Ok(())
}
