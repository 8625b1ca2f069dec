//! Schedules as operators see, pause and resume them, over HTTP and on the command line.

use anyhow::{Context, Result};
use hyper::Method;
use serde_json::{Value, json};
use tests::Stack;

use super::command_line::Guilds;

async fn schedule(stack: &Stack) -> Result<String> {
    let run = stack.run(&stack.ada).await?;
    let arguments =
        json!({ "cron": "0 12 29 2 *", "description": "Leap", "instruction": "Jump.\nHigh." });
    let made = run.call("schedule_create_cron", arguments).await?.json();
    let id = made["schedule"]["schedule_id"].as_str();
    Ok(id.context("an id")?.to_owned())
}

#[tokio::test]
async fn an_operator_pauses_and_resumes_and_the_audit_says_so() -> Result<()> {
    let stack = Stack::storage().await?;
    let id = schedule(&stack).await?;
    let path = format!("/v1/operator/schedules/{id}");
    let patch = async |body: &Value| {
        stack
            .operator
            .send(Method::PATCH, &path, body.to_string().into())
            .await
    };
    let paused = patch(&json!({ "state": "paused" })).await?.expect(200)?;
    assert_eq!(
        (&paused["state"], &paused["next_fire"]),
        (&json!("paused"), &Value::Null)
    );
    assert_eq!(paused["instruction"], "Jump.\nHigh.");
    assert_eq!(paused["recent_fires"], json!([]));
    // Its agent sees it, and the state it has changes nothing.
    let run = stack.run(&stack.ada).await?;
    let list = run.call("schedule_list", json!({})).await?.json();
    assert_eq!(list["schedules"][0]["state"], "paused");
    patch(&json!({ "state": "paused" })).await?.expect(200)?;
    let active = patch(&json!({ "state": "active" })).await?.expect(200)?;
    let next = active["next_fire"].as_str().context("next_fire")?;
    assert!(next.ends_with("-02-29T12:00:00Z"), "{next}");
    assert_eq!(stack.operator.get(&path).await?.expect(200)?, active);

    let audit = stack
        .operator
        .get(&format!("/v1/operator/audit?kind=schedules&object={id}"))
        .await?
        .expect(200)?;
    let changes: Vec<Value> = audit["audit"]
        .as_array()
        .context("audit")?
        .iter()
        .map(|row| json!([row["action"], row["before"]["state"], row["after"]["state"]]))
        .collect();
    assert_eq!(
        changes,
        [
            json!(["update", "paused", "active"]),
            json!(["update", "active", "paused"])
        ]
    );

    for (body, what) in [
        (json!({ "state": "stopped" }), "allowed are active, paused"),
        (json!({}), "`state` is missing"),
        (
            json!({ "state": "paused", "status": 1 }),
            "`status` is no field",
        ),
    ] {
        let answer = patch(&body).await?;
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()));
        assert!(answer.text.contains(what), "{}", answer.text);
    }
    let other = stack.operator_of("other")?;
    let body = json!({ "state": "paused" }).to_string();
    let answer = other
        .send(Method::PATCH, &path, body.clone().into())
        .await?;
    assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    let answer = stack
        .operator
        .send(Method::PATCH, "/v1/operator/schedules/x", body.into())
        .await?;
    assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    Ok(())
}

#[tokio::test]
async fn the_command_line_lists_shows_pauses_and_resumes() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let none = guilds.run(&["schedule", "list"])?;
    assert_eq!(
        (none.stdout.as_str(), none.stderr.as_str()),
        ("", "no schedules\n")
    );
    let id = schedule(&stack).await?;
    sqlx::query("INSERT INTO schedule_fires (schedule, due_at, fired_at, late) VALUES ($1::uuid, '2024-02-29T12:00:00Z', '2024-02-29T12:01:01Z', true)")
        .bind(&id)
        .execute(&mut stack.database().await?)
        .await?;
    let list = guilds
        .wide(160, &["schedule", "list", "--state", "active"])?
        .done();
    assert!(
        list.contains(&id) && list.contains("0 12 29 2 * UTC") && list.contains("Leap"),
        "{list}"
    );
    let shown = guilds.run(&["schedule", "show", &id])?.done();
    for part in [
        "state        active\n",
        "cron         0 12 29 2 *\n",
        "\nrecent fires\n  due at 2024-02-29T12:00:00Z",
        "late yes",
        "\ninstruction\n  Jump.\n  High.\n",
    ] {
        assert!(shown.contains(part), "{part:?} in {shown}");
    }
    let paused = guilds.run(&["schedule", "pause", &id])?.done();
    assert_eq!(
        paused,
        format!("paused schedule {id} of {}\n", stack.ada.id)
    );
    let none = guilds.run(&["schedule", "list", "--state", "active"])?;
    assert_eq!(none.stderr, "no schedules\n");
    let resumed = guilds.run(&["schedule", "resume", &id])?.done();
    assert!(
        resumed.starts_with(&format!(
            "active schedule {id} of {}, next 20",
            stack.ada.id
        )) && resumed.ends_with("-02-29T12:00:00Z\n"),
        "{resumed}"
    );
    let json = guilds
        .run(&["schedule", "pause", &id, "-o", "json"])?
        .json()?;
    assert_eq!(json["state"], "paused");
    let missing = guilds.run(&["schedule", "pause", "00000000-0000-0000-0000-000000000000"])?;
    assert_eq!(missing.code, Some(3));
    assert!(
        missing.stderr.contains("no schedule 00000000"),
        "{}",
        missing.stderr
    );
    Ok(())
}
