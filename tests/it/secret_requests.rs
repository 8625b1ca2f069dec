//! Requests for secrets: given, denied, decided once.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgConnection};
use tests::shared::ORGANISATION;
use tests::{Answer, Stack};
use uuid::Uuid;

const VALUE: &str = "sk-live-4711-hunter22";

async fn ask(stack: &Stack, db: &mut PgConnection, agent: &str, name: &str) -> Result<Uuid> {
    let id = Uuid::now_v7();
    sqlx::query(
        "INSERT INTO secret_requests (id, organisation, guild, agent, name, reason)
         VALUES ($1, $2, 'core', $3, $4, 'to pay')",
    )
    .bind(id)
    .bind(ORGANISATION)
    .bind(agent)
    .bind(name)
    .execute(db)
    .await?;
    let path = format!("/v1/operator/secret-requests/{id}");
    assert_eq!(
        stack.operator.get(&path).await?.expect(200)?["status"],
        "pending"
    );
    Ok(id)
}

async fn decide(stack: &Stack, id: Uuid, how: &str, body: &Value) -> Result<Answer> {
    let path = format!("/v1/operator/secret-requests/{id}/{how}");
    stack.operator.post(&path, body).await
}

async fn count(db: &mut PgConnection, sql: &'static str) -> Result<i64> {
    Ok(sqlx::query_scalar(sql).fetch_one(db).await?)
}

/// Names of the secrets that an agent was granted.
async fn secrets_of(db: &mut PgConnection, agent: &tests::Agent) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar(
        "SELECT s.name FROM secrets s JOIN secret_grants g ON g.secret = s.id
         WHERE g.agent = $1 ORDER BY s.name",
    )
    .bind(&agent.id)
    .fetch_all(db)
    .await?)
}

#[tokio::test]
async fn a_value_is_stored_granted_audited_and_told_at_once() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut db = stack.database().await?;
    let id = ask(&stack, &mut db, &stack.ada.id, "PAY_KEY").await?;
    let body = decide(&stack, id, "fulfil", &json!({ "value": VALUE }))
        .await?
        .expect(200)?;
    assert_eq!(
        body,
        json!({
            "id": id, "agent": stack.ada.id, "guild": "core", "name": "PAY_KEY", "reason": "to pay",
            "status": "fulfilled", "run": null, "created_at": body["created_at"],
            "decided_at": body["decided_at"], "answer": null,
        })
    );
    assert!(
        body["decided_at"]
            .as_str()
            .is_some_and(|at| at.ends_with('Z'))
    );
    assert_eq!(secrets_of(&mut db, &stack.ada).await?, ["PAY_KEY"]);
    assert_eq!(secrets_of(&mut db, &stack.bob).await?, Vec::<String>::new());

    let audit: Vec<(String, String, String, Option<Value>, Value)> = sqlx::query_as(
        "SELECT action, kind, object, before, after FROM audit
         WHERE kind IN ('secrets', 'secret-requests') ORDER BY id",
    )
    .fetch_all(&mut db)
    .await?;
    let row = |action: &str, kind: &str, object: &str, before: Option<Value>, after: Value| {
        (
            action.to_owned(),
            kind.to_owned(),
            object.to_owned(),
            before,
            after,
        )
    };
    let facts = |status: &str| json!({ "agent": stack.ada.id, "name": "PAY_KEY", "status": status, "answer": null });
    assert_eq!(
        audit,
        [
            row(
                "create",
                "secrets",
                "PAY_KEY",
                None,
                json!({ "name": "PAY_KEY", "description": "", "value": true, "grants": [stack.ada.id] })
            ),
            row(
                "update",
                "secret-requests",
                &id.to_string(),
                Some(facts("pending")),
                facts("fulfilled")
            ),
        ]
    );
    let events = stack.backend.get("/v1/events?after=0").await?.expect(200)?;
    let event = &events["events"][0];
    assert_eq!(
        *event,
        json!({
            "seq": event["seq"], "type": "secret_granted", "at": event["at"],
            "organisation": ORGANISATION, "guild": "core", "agent": stack.ada.id,
            "request": id, "name": "PAY_KEY",
        })
    );
    nowhere(&stack, &mut db, "4711-hunter22").await
}

/// A part of a value is in no table as text, in no answer and in no log.
pub(crate) async fn nowhere(stack: &Stack, db: &mut PgConnection, part: &str) -> Result<()> {
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'",
    )
    .fetch_all(&mut *db)
    .await?;
    assert!(tables.len() > 20, "{tables:?}");
    for table in tables {
        let held: i64 = sqlx::query_scalar(AssertSqlSafe(format!(
            "SELECT count(*) FROM {table} t WHERE position($1 IN t::text) > 0"
        )))
        .bind(part)
        .fetch_one(&mut *db)
        .await?;
        assert_eq!(held, 0, "{table}");
    }
    assert!(!stack.control_plane.log().contains(part));
    for path in ["secret-requests", "inbox"] {
        let answer = stack.operator.get(&format!("/v1/operator/{path}")).await?;
        assert!(
            answer.status == 200 && !answer.text.contains(part),
            "{answer:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_decided_request_is_decided_once() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut db = stack.database().await?;
    let denied = ask(&stack, &mut db, &stack.ada.id, "ONE_KEY").await?;
    let body = decide(
        &stack,
        denied,
        "deny",
        &json!({ "reason": " Use the other one. " }),
    )
    .await?
    .expect(200)?;
    assert_eq!(
        (&body["status"], &body["answer"]),
        (&json!("denied"), &json!("Use the other one."))
    );
    let given = ask(&stack, &mut db, &stack.ada.id, "TWO_KEY").await?;
    // Twenty at once: one of them decides.
    let mut tries = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (how, body) = if number % 2 == 0 {
            ("fulfil", json!({ "value": VALUE }))
        } else {
            ("deny", json!({ "reason": "no" }))
        };
        let api = stack.operator.clone();
        tries.spawn(async move {
            let path = format!("/v1/operator/secret-requests/{given}/{how}");
            api.post(&path, &body).await
        });
    }
    let mut done = 0;
    while let Some(answer) = tries.join_next().await {
        let answer = answer??;
        if answer.status == 200 {
            done += 1;
        } else {
            assert_eq!(answer.refusal(), (409, "conflict".to_owned()));
        }
    }
    assert_eq!(done, 1);
    for (how, body) in [
        ("fulfil", json!({ "value": VALUE })),
        ("fulfil", json!({ "grant_existing": true })),
        ("deny", json!({ "reason": "no" })),
    ] {
        let answer = decide(&stack, denied, how, &body).await?;
        assert_eq!(answer.refusal(), (409, "conflict".to_owned()), "{how}");
        let message = answer.json()?["error"]["message"].to_string();
        assert!(
            message.contains(&format!("secret request {denied} was denied at 2")),
            "{message}"
        );
    }
    let secrets = count(
        &mut db,
        "SELECT count(*) FROM secrets WHERE name = 'ONE_KEY'",
    )
    .await?;
    assert_eq!(secrets, 0);
    let status: String = sqlx::query_scalar("SELECT status FROM secret_requests WHERE id = $1")
        .bind(given)
        .fetch_one(&mut db)
        .await?;
    let stored = count(
        &mut db,
        "SELECT count(*) FROM secrets WHERE name = 'TWO_KEY'",
    )
    .await?;
    let told = count(
        &mut db,
        "SELECT count(*) FROM events WHERE type = 'secret_granted'",
    )
    .await?;
    assert_eq!(
        (stored, told),
        if status == "fulfilled" {
            (1, 1)
        } else {
            (0, 0)
        }
    );
    Ok(())
}

#[tokio::test]
async fn a_name_that_exists_is_granted_and_never_overwritten() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut db = stack.database().await?;
    let first = ask(&stack, &mut db, &stack.ada.id, "PAY_KEY").await?;
    let answer = decide(&stack, first, "fulfil", &json!({ "grant_existing": true })).await?;
    assert_eq!(answer.refusal(), (409, "conflict".to_owned()));
    assert_eq!(
        answer.json()?["error"]["message"],
        "no secret PAY_KEY is stored; send its `value`"
    );
    decide(&stack, first, "fulfil", &json!({ "value": VALUE }))
        .await?
        .expect(200)?;
    let sealed = "SELECT encode(sealed, 'hex') FROM secrets WHERE name = 'PAY_KEY'";
    let value: String = sqlx::query_scalar(sealed).fetch_one(&mut db).await?;

    let second = ask(&stack, &mut db, &stack.bob.id, "PAY_KEY").await?;
    let answer = decide(
        &stack,
        second,
        "fulfil",
        &json!({ "value": "another-value" }),
    )
    .await?;
    assert_eq!(answer.refusal(), (409, "conflict".to_owned()));
    assert_eq!(
        answer.json()?["error"]["message"],
        "secret PAY_KEY exists and has another value; to grant it as it is, send {\"grant_existing\":true}; to change it for everyone who uses it, apply a document"
    );
    assert_eq!(secrets_of(&mut db, &stack.bob).await?, Vec::<String>::new());
    decide(&stack, second, "fulfil", &json!({ "grant_existing": true }))
        .await?
        .expect(200)?;
    assert_eq!(secrets_of(&mut db, &stack.bob).await?, ["PAY_KEY"]);
    let (before, after): (Value, Value) = sqlx::query_as(
        "SELECT before, after FROM audit WHERE kind = 'secrets' AND action = 'update'",
    )
    .fetch_one(&mut db)
    .await?;
    let shown = |grants: Value| json!({ "name": "PAY_KEY", "description": "", "grants": grants });
    assert_eq!(before, shown(json!([stack.ada.id])));
    assert_eq!(after, shown(json!([stack.ada.id, stack.bob.id])));

    // The same value is no other value, and a second grant is none.
    let third = ask(&stack, &mut db, &stack.bob.id, "PAY_KEY").await?;
    decide(&stack, third, "fulfil", &json!({ "value": VALUE }))
        .await?
        .expect(200)?;
    let still: String = sqlx::query_scalar(sealed).fetch_one(&mut db).await?;
    assert_eq!(value, still);
    let grants = count(&mut db, "SELECT count(*) FROM secret_grants").await?;
    assert_eq!(grants, 2);
    Ok(())
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_without_repeating_a_value() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut db = stack.database().await?;
    let id = ask(&stack, &mut db, &stack.ada.id, "PAY_KEY").await?;
    let reserved = ask(&stack, &mut db, &stack.ada.id, "LD_PRELOAD").await?;
    for (id, how, body, words) in [
        (
            id,
            "fulfil",
            json!({ "value": "4711" }),
            "`value` has 4 bytes, at least 6 are needed",
        ),
        (
            id,
            "fulfil",
            json!({ "value": 471_100 }),
            "`value` is a number; it has to be a string",
        ),
        (
            id,
            "fulfil",
            json!({}),
            "`value` or `grant_existing` is needed",
        ),
        (
            id,
            "fulfil",
            json!({ "value": VALUE, "grants": ["x"] }),
            "`grants` is no field",
        ),
        (
            reserved,
            "fulfil",
            json!({ "value": VALUE }),
            "LD_PRELOAD is a reserved name",
        ),
        (id, "deny", json!({}), "`reason` is missing"),
        (id, "deny", json!({ "reason": " " }), "`reason` is empty"),
        (
            id,
            "deny",
            json!({ "reason": "x".repeat(2_001) }),
            "at most 2000 are allowed",
        ),
    ] {
        let answer = decide(&stack, id, how, &body).await?;
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{body}");
        assert!(answer.text.contains(words), "{body}: {}", answer.text);
        assert!(!answer.text.contains("4711") && !answer.text.contains("hunter22"));
    }
    for how in ["fulfil", "deny"] {
        let path = format!("/v1/operator/secret-requests/{id}/{how}");
        let body = json!({ "value": VALUE, "reason": "x" });
        let answer = stack.backend.post(&path, &body).await?;
        assert_eq!(answer.refusal(), (403, "forbidden".to_owned()));
        for missing in [Uuid::now_v7().to_string(), "x".to_owned()] {
            let path = format!("/v1/operator/secret-requests/{missing}/{how}");
            let body = if how == "deny" {
                json!({ "reason": "x" })
            } else {
                json!({ "value": VALUE })
            };
            let answer = stack.operator.post(&path, &body).await?;
            assert_eq!(answer.refusal(), (404, "not_found".to_owned()), "{path}");
        }
    }
    let rows = count(&mut db, "SELECT count(*) FROM secrets").await?;
    assert_eq!(rows, 0);
    nowhere(&stack, &mut db, "4711-hunter22").await
}

#[tokio::test]
async fn requests_are_listed_newest_first_by_status_and_of_the_own_organisation() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut db = stack.database().await?;
    let one = ask(&stack, &mut db, &stack.ada.id, "ONE_KEY").await?;
    let two = ask(&stack, &mut db, &stack.bob.id, "TWO_KEY").await?;
    decide(&stack, one, "deny", &json!({ "reason": "no" }))
        .await?
        .expect(200)?;
    let list = async |query: &str| -> Result<(Vec<String>, Value)> {
        let path = format!("/v1/operator/secret-requests?{query}");
        let body = stack.operator.get(&path).await?.expect(200)?;
        let names = body["secret_requests"].as_array().context("list")?;
        let names = names.iter().filter_map(|one| one["name"].as_str());
        Ok((names.map(str::to_owned).collect(), body["next"].clone()))
    };
    assert_eq!(list("").await?.0, ["TWO_KEY", "ONE_KEY"]);
    assert_eq!(list("status=pending").await?.0, ["TWO_KEY"]);
    assert_eq!(list("status=denied").await?.0, ["ONE_KEY"]);
    let (first, next) = list("limit=1").await?;
    assert_eq!(first, ["TWO_KEY"]);
    let next = next.as_str().context("next")?.to_owned();
    assert_eq!(
        list(&format!("limit=1&after={next}")).await?,
        (vec!["ONE_KEY".to_owned()], Value::Null)
    );
    let answer = stack
        .operator
        .get("/v1/operator/secret-requests?status=open&after=1.x&agent=ada")
        .await?;
    assert_eq!(
        answer.json()?["error"]["message"],
        "`status` is \"open\"; allowed are pending, fulfilled, denied; \
         `after` is \"1.x\"; allowed is the `next` of a list before; \
         `agent` is no parameter; allowed are status, after, limit"
    );
    sqlx::query("INSERT INTO organisations (id) VALUES ('other')")
        .execute(&mut db)
        .await?;
    sqlx::query("UPDATE secret_requests SET organisation = 'other' WHERE id = $1")
        .bind(two)
        .execute(&mut db)
        .await?;
    assert_eq!(list("").await?.0, ["ONE_KEY"]);
    let answer = stack
        .operator
        .get(&format!("/v1/operator/secret-requests/{two}"))
        .await?;
    assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    let answer = decide(&stack, two, "fulfil", &json!({ "value": VALUE })).await?;
    assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    Ok(())
}
