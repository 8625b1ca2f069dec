//! What is read of agents: their scripts and when they ran, their schedules, their memory.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stack;
use uuid::Uuid;

#[tokio::test]
async fn scripts_are_listed_with_their_source_and_when_they_ran() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let parameters =
        json!({ "type": "object", "properties": { "n": { "type": "number", "maximum": 1.50 } } });
    let fine = json!({ "name": "b-count", "description": "Counts.", "source": "print(1)\n", "parameters": parameters });
    run.call("script_create", fine).await?;
    let bare = json!({ "name": "a-fail", "description": "Fails.", "source": "exit(3)\n" });
    run.call("script_create", bare).await?;
    run.call_as("ran", "script_run", json!({ "name": "a-fail" }))
        .await?;
    run.call(
        "script_run",
        json!({ "name": "b-count", "arguments": { "n": "no" } }),
    )
    .await?;
    let list = stack
        .operator
        .get("/v1/operator/scripts")
        .await?
        .expect(200)?;
    let rows = list["scripts"].as_array().cloned().unwrap_or_default();
    assert_eq!(rows.len(), 2, "{list}");
    assert_eq!(rows[0]["name"], "a-fail");
    assert_eq!(rows[0]["agent"], stack.ada.id);
    assert_eq!(rows[0]["bytes"], 8);
    assert!(rows[0].get("parameters").is_none());
    assert!(rows[0]["last_run_at"].is_string());
    // A call that was refused did not run it.
    assert_eq!(rows[1]["last_run_at"], Value::Null);
    assert_eq!(rows[1]["parameters"], parameters);
    let path = format!("/v1/operator/scripts/{}/a-fail", stack.ada.id);
    let one = stack.operator.get(&path).await?.expect(200)?;
    assert_eq!(one["source"], "exit(3)\n");
    assert_eq!(one["sha256"], rows[0]["sha256"]);
    assert_eq!(one["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["runs"][0]["run"], run.id);
    assert_eq!(one["runs"][0]["call_id"], "ran");
    assert_eq!(one["runs"][0]["exit_code"], 3);

    // Its own tool counts too.
    let next = stack.run(&stack.ada).await?;
    next.call("b-count", json!({ "n": 1 })).await?;
    let path = format!("/v1/operator/scripts/{}/b-count", stack.ada.id);
    let one = stack.operator.get(&path).await?.expect(200)?;
    assert_eq!(one["runs"][0]["run"], next.id);
    assert_eq!(one["runs"][0]["exit_code"], 0);

    let page = stack
        .operator
        .get("/v1/operator/scripts?limit=1")
        .await?
        .expect(200)?;
    assert_eq!(page["next"], format!("{}/a-fail", stack.ada.id));
    let after = page["next"].as_str().unwrap_or_default();
    let page = stack
        .operator
        .get(&format!("/v1/operator/scripts?limit=1&after={after}"))
        .await?
        .expect(200)?;
    assert_eq!(page["scripts"][0]["name"], "b-count");
    assert_eq!(page["next"], Value::Null);
    let none = stack
        .operator
        .get(&format!("/v1/operator/scripts?agent={}", stack.bob.id))
        .await?
        .expect(200)?;
    assert_eq!(none, json!({ "scripts": [], "next": null }));
    let other = stack.operator_of("other")?;
    assert_eq!(
        other.get(&path).await?.refusal(),
        (404, "not_found".to_owned())
    );
    let missing = format!("/v1/operator/scripts/{}/none", stack.ada.id);
    assert_eq!(
        stack.operator.get(&missing).await?.refusal(),
        (404, "not_found".to_owned())
    );
    Ok(())
}

#[tokio::test]
async fn schedules_are_read_by_agent_and_organisation() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut db = stack.database().await?;
    let cron = Uuid::now_v7();
    let window = Uuid::now_v7();
    sqlx::query(
        "INSERT INTO schedules (id, organisation, agent, kind, description, instruction, next_fire, cron)
         VALUES ($1, 'acme', $2, 'cron', 'Mail', 'Read the mail.', '2030-01-01T09:00:00Z', '0 9 * * *')",
    )
    .bind(cron)
    .bind(&stack.ada.id)
    .execute(&mut db)
    .await?;
    sqlx::query(
        "INSERT INTO schedules (id, organisation, agent, kind, description, instruction, state, next_fire,
                                timezone, starts, ends, max_wakes)
         VALUES ($1, 'acme', $2, 'window', 'Walk', 'Look around.', 'paused', '2030-01-01T09:00:00Z',
                 'Europe/Berlin', '09:00', '11:00', 2)",
    )
    .bind(window)
    .bind(&stack.bob.id)
    .execute(&mut db)
    .await?;
    let ada = stack
        .backend
        .get(&format!("/v1/agents/{}/schedules", stack.ada.id))
        .await?
        .expect(200)?;
    assert_eq!(
        ada,
        json!({ "schedules": [{ "schedule_id": cron, "kind": "cron", "description": "Mail",
            "state": "active", "next_fire": "2030-01-01T09:00:00Z", "cron": "0 9 * * *" }], "next": null })
    );
    let all = stack
        .operator
        .get("/v1/operator/schedules?limit=1")
        .await?
        .expect(200)?;
    assert_eq!(all["schedules"][0]["agent"], stack.ada.id);
    assert_eq!(all["next"], json!(cron));
    let second = stack
        .operator
        .get(&format!("/v1/operator/schedules?after={cron}"))
        .await?
        .expect(200)?;
    let row = &second["schedules"][0];
    assert_eq!(row["schedule_id"], json!(window));
    assert_eq!(row["next_fire"], Value::Null, "paused");
    assert_eq!(row["timezone"], "Europe/Berlin");
    assert_eq!(
        (&row["start"], &row["end"], &row["max_wakes"]),
        (&json!("09:00"), &json!("11:00"), &json!(2))
    );
    assert!(row.get("cron").is_none() && row.get("instruction").is_none());
    let paused = stack
        .operator
        .get("/v1/operator/schedules?state=paused")
        .await?
        .expect(200)?;
    assert_eq!(paused["schedules"].as_array().map(Vec::len), Some(1));
    let path = format!("/v1/operator/schedules/{window}");
    let one = stack.operator.get(&path).await?.expect(200)?;
    assert_eq!(one["instruction"], "Look around.");
    let other = stack.operator_of("other")?;
    assert_eq!(
        other.get(&path).await?.refusal(),
        (404, "not_found".to_owned())
    );
    let wrong = stack.operator.get("/v1/operator/schedules/x").await?;
    assert_eq!(wrong.refusal(), (404, "not_found".to_owned()));
    let nobody = stack.backend.get("/v1/agents/nobody/schedules").await?;
    assert_eq!(nobody.refusal(), (404, "not_found".to_owned()));
    Ok(())
}

#[tokio::test]
async fn a_memory_is_read_with_its_time_unless_the_agent_has_none() -> Result<()> {
    let stack = Stack::storage().await?;
    let path = format!("/v1/agents/{}/memory", stack.ada.id);
    let empty = stack.backend.get(&path).await?.expect(200)?;
    assert_eq!(empty["content"], "");
    let run = stack.run(&stack.ada).await?;
    let memory = format!("agent/{}/memory.md", stack.ada.id);
    run.call(
        "note_write",
        json!({ "path": memory, "content": "likes tea" }),
    )
    .await?;
    let read = stack.backend.get(&path).await?.expect(200)?;
    assert_eq!(read["content"], "likes tea");
    assert!(read["updated_at"].as_str() > empty["updated_at"].as_str());
    let mut document = stack.document();
    document["agents"][0]["config"] = json!({ "memory": false });
    stack.apply(&document).await?;
    let none = stack.backend.get(&path).await?;
    assert_eq!(none.refusal(), (404, "not_found".to_owned()));
    assert!(
        none.text.contains("config.memory is false"),
        "{}",
        none.text
    );
    let nobody = stack.backend.get("/v1/agents/nobody/memory").await?;
    assert_eq!(nobody.refusal(), (404, "not_found".to_owned()));
    Ok(())
}
