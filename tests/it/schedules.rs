//! The schedule tools: what they make, list, stop and refuse.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::{Run, Stack};
use uuid::Uuid;

fn cron(expression: &str) -> Value {
    json!({ "cron": expression, "description": "Mail", "instruction": "Read the mail." })
}

/// Makes a schedule and answers it.
async fn create(run: &Run, tool: &str, arguments: Value) -> Result<Value> {
    let result = run.call(tool, arguments).await?;
    Ok(result.json()["schedule"].take())
}

fn id(schedule: &Value) -> Result<&str> {
    schedule["schedule_id"].as_str().context("schedule_id")
}

#[tokio::test]
async fn a_cron_schedule_is_made_listed_paused_resumed_and_deleted() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let empty = run.call("schedule_list", json!({})).await?;
    assert_eq!(empty.text(), r#"{"schedules":[]}"#);
    // A leap day is far enough to be the same for years of tests.
    let made = create(
        &run,
        "schedule_create_cron",
        json!({ "cron": " 0  12 29 FEB * ", "description": " Leap ", "instruction": "Jump.\n" }),
    )
    .await?;
    let id = id(&made)?.to_owned();
    let leap = "-02-29T12:00:00Z";
    let next = made["next_fire"].as_str().context("next_fire")?.to_owned();
    assert!(next.ends_with(leap), "{next}");
    let active = json!({
        "schedule_id": id, "kind": "cron", "description": "Leap", "state": "active",
        "next_fire": next, "cron": "0 12 29 FEB *",
    });
    assert_eq!(made, active);
    let list = async || -> Result<Value> { Ok(run.call("schedule_list", json!({})).await?.json()) };
    assert_eq!(list().await?, json!({ "schedules": [active] }));

    let mut paused = active.clone();
    paused["state"] = json!("paused");
    paused["next_fire"] = Value::Null;
    for _ in 0..2 {
        let stopped = run
            .call("schedule_pause", json!({ "schedule_id": id }))
            .await?;
        assert_eq!(stopped.json(), json!({ "schedule": paused }));
    }
    assert_eq!(list().await?, json!({ "schedules": [paused] }));
    for _ in 0..2 {
        let resumed = run
            .call("schedule_resume", json!({ "schedule_id": id }))
            .await?;
        assert_eq!(resumed.json(), json!({ "schedule": active }));
    }
    let gone = run
        .call("schedule_delete", json!({ "schedule_id": id }))
        .await?;
    assert_eq!(gone.json(), json!({ "schedule_id": id, "deleted": true }));
    assert_eq!(list().await?, json!({ "schedules": [] }));
    for tool in ["schedule_delete", "schedule_pause", "schedule_resume"] {
        let again = run.call(tool, json!({ "schedule_id": id })).await?;
        assert_eq!(
            again.text(),
            format!("ERROR: 404 you have no schedule {id}; schedule_list shows yours")
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_schedule_of_another_agent_is_none() -> Result<()> {
    let stack = Stack::storage().await?;
    let (ada, bob) = (stack.run(&stack.ada).await?, stack.run(&stack.bob).await?);
    let made = create(&ada, "schedule_create_cron", cron("0 9 * * *")).await?;
    for tool in ["schedule_delete", "schedule_pause", "schedule_resume"] {
        for id in [id(&made)?, "17", ""] {
            let result = bob.call(tool, json!({ "schedule_id": id })).await?;
            assert_eq!(
                result.text(),
                format!("ERROR: 404 you have no schedule {id}; schedule_list shows yours")
            );
        }
    }
    let none = bob.call("schedule_list", json!({})).await?;
    assert_eq!(none.text(), r#"{"schedules":[]}"#);
    let still = ada.call("schedule_list", json!({})).await?.json();
    assert_eq!(still["schedules"][0]["state"], "active");
    Ok(())
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let refused = async |tool: &str, arguments: Value| -> Result<String> {
        Ok(run.call(tool, arguments).await?.text().to_owned())
    };
    let arguments =
        json!({ "cron": "*/7 * * * *", "description": "a\nb", "instruction": "x".repeat(2_001) });
    assert_eq!(
        refused("schedule_create_cron", arguments).await?,
        "ERROR: 422 this cron fires at 00:56 and at 01:00 UTC, 4 minutes apart; wake-ups have to be at least 5 minutes apart; \
         instruction has 2001 characters, at most 2000 are allowed; description has more than one line"
    );
    let arguments = json!({ "cron": "@daily", "description": "d".repeat(401), "instruction": " " });
    assert_eq!(
        refused("schedule_create_cron", arguments).await?,
        "ERROR: 422 cron is \"@daily\"; allowed are five fields with a space between them: minute hour day month weekday, such as 30 9 * * MON-FRI; \
         description has 401 characters, at most 400 are allowed; instruction is empty"
    );
    assert_eq!(
        refused("schedule_create_cron", cron("0 0 30 2 *")).await?,
        "ERROR: 422 this cron never fires: none of its months has any of its days"
    );
    let window = json!({
        "timezone": "Europe/Pairs", "start": "9:00", "end": "09:30", "max_wakes": 7,
        "description": "", "instruction": "i",
    });
    assert_eq!(
        refused("schedule_create_window", window.clone()).await?,
        "ERROR: 422 timezone is \"Europe/Pairs\"; it has to be the name of a time zone of the IANA database; did you mean Europe/Paris?; \
         start is \"9:00\"; it has to be a local time HH:MM from 00:00 to 23:59; description is empty"
    );
    let mut fits = window;
    fits["timezone"] = json!("Europe/Paris");
    fits["start"] = json!("09:00");
    fits["description"] = json!("d");
    assert_eq!(
        refused("schedule_create_window", fits.clone()).await?,
        "ERROR: 422 max_wakes is 7; a window of 30 minutes fits 6, because wake-ups are at least 5 minutes apart"
    );
    fits["end"] = json!("09:00");
    assert_eq!(
        refused("schedule_create_window", fits.clone()).await?,
        "ERROR: 422 start and end are equal; a window needs some time"
    );
    fits["max_wakes"] = json!(0);
    assert!(
        refused("schedule_create_window", fits)
            .await?
            .contains("max_wakes")
    );
    let none = run.call("schedule_list", json!({})).await?;
    assert_eq!(none.text(), r#"{"schedules":[]}"#);
    Ok(())
}

#[tokio::test]
async fn an_agent_has_at_most_fifty_schedules_however_it_makes_them() -> Result<()> {
    let stack = Stack::storage().await?;
    let (one, two) = (
        stack.run_with_budget(100).await?,
        stack.run_with_budget(100).await?,
    );
    let batch = |name: &str| -> Value {
        (0..30)
            .map(|number| json!({ "id": format!("{name}{number}"), "name": "schedule_create_cron", "arguments": cron("0 9 * * *") }))
            .collect()
    };
    let (first, second) = tokio::try_join!(one.batch(batch("a")), two.batch(batch("b")))?;
    let all: Vec<String> = first
        .iter()
        .chain(&second)
        .map(|result| result.text().to_owned())
        .collect();
    let refusal =
        "ERROR: 422 you have 50 schedules and may have 50; remove one with schedule_delete first";
    assert_eq!(all.iter().filter(|text| *text == refusal).count(), 10);
    let list = one.call("schedule_list", json!({})).await?.json();
    let schedules = list["schedules"].as_array().context("schedules")?;
    assert_eq!(schedules.len(), 50);
    // Another agent's are its own.
    let bob = stack.run(&stack.bob).await?;
    create(&bob, "schedule_create_cron", cron("0 9 * * *")).await?;
    let last = id(&schedules[49])?;
    one.call("schedule_delete", json!({ "schedule_id": last }))
        .await?;
    create(&one, "schedule_create_cron", cron("0 9 * * *")).await?;
    Ok(())
}

#[tokio::test]
async fn a_list_of_fifty_with_the_longest_texts_is_whole_json() -> Result<()> {
    let stack = Stack::storage().await?;
    // A control character takes six bytes in JSON. A secret is taken out before the cut.
    let description = format!("hunter2-long {}", "\u{1}".repeat(387));
    stack
        .apply(&json!({ "organisation": "acme", "secrets": [{ "name": "LONG", "value": "hunter2-long" }] }))
        .await?;
    sqlx::query(
        "INSERT INTO schedules (id, organisation, agent, kind, description, instruction, next_fire, cron)
         SELECT gen_random_uuid(), 'acme', $1, 'cron', $2, 'i', now() + interval '1 day',
                rpad('0', 391, ',0') || ' 9 * * *'
         FROM generate_series(1, 50)",
    )
    .bind(&stack.ada.id)
    .bind(&description)
    .execute(&mut stack.database().await?)
    .await?;
    let run = stack.run(&stack.ada).await?;
    let result = run.call("schedule_list", json!({})).await?;
    assert_eq!(result.metadata["truncated"], false);
    assert!((60_000..=65_536).contains(&result.text().len()));
    let list = result.json();
    let schedules = list["schedules"].as_array().context("schedules")?;
    assert_eq!(schedules.len(), 50);
    for schedule in schedules {
        let text = schedule["description"].as_str().context("a description")?;
        assert!(
            text.starts_with("[redacted:LONG] \u{1}") && text.ends_with("\u{1}…"),
            "{text}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_schedule_run_may_not_touch_schedules() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack
        .backend
        .start(&json!({ "agent": stack.ada.id, "kind": "schedule" }))
        .await?;
    for (tool, arguments) in [
        ("schedule_create_cron", cron("0 9 * * *")),
        ("schedule_create_window", json!({})),
        ("schedule_list", json!({})),
        ("schedule_pause", json!({ "schedule_id": Uuid::nil() })),
        ("schedule_resume", json!({ "schedule_id": Uuid::nil() })),
        ("schedule_delete", json!({ "schedule_id": Uuid::nil() })),
    ] {
        assert!(!run.offered().contains(&tool.to_owned()));
        let result = run.call(tool, arguments).await?;
        assert_eq!(
            result.text(),
            format!("ERROR: tool {tool} is not offered this run")
        );
    }
    let group = stack
        .backend
        .start(&json!({ "agent": stack.ada.id, "kind": "group_chat" }))
        .await?;
    assert_eq!(
        group.call("schedule_list", json!({})).await?.text(),
        r#"{"schedules":[]}"#
    );
    Ok(())
}

/// A window of two hours that opens hours from now, so that nothing of it passes in a test.
async fn window(stack: &Stack, max_wakes: i64) -> Result<Value> {
    let hour: i32 =
        sqlx::query_scalar("SELECT extract(hour FROM now() AT TIME ZONE 'UTC')::integer")
            .fetch_one(&mut stack.database().await?)
            .await?;
    Ok(json!({
        "timezone": "Etc/UTC", "start": format!("{:02}:00", (hour + 6) % 24),
        "end": format!("{:02}:00", (hour + 8) % 24), "max_wakes": max_wakes,
        "description": "Walk", "instruction": "Look around.",
    }))
}

#[tokio::test]
async fn what_was_drawn_is_the_same_for_every_list_replica_restart_and_resume() -> Result<()> {
    let mut stack = Stack::storage().await?;
    let arguments = window(&stack, 12).await?;
    let run = stack.run(&stack.ada).await?;
    let made = create(&run, "schedule_create_window", arguments.clone()).await?;
    let expected = json!({
        "schedule_id": made["schedule_id"], "kind": "window", "description": "Walk",
        "state": "active", "next_fire": made["next_fire"], "timezone": "Etc/UTC",
        "start": arguments["start"], "end": arguments["end"], "max_wakes": 12,
    });
    assert_eq!(made, expected);
    // Every schedule draws for itself: 12 equal draws of 24 places would be a wonder.
    let mut others = 0;
    for _ in 0..12 {
        let other = create(&run, "schedule_create_window", arguments.clone()).await?;
        others += i32::from(other["next_fire"] != made["next_fire"]);
    }
    assert!(others > 0);

    let plan = async || -> Result<(i32, Vec<i64>)> {
        let drawn: (i32, Vec<i64>) =
            sqlx::query_as("SELECT plan_day, plan_minutes FROM schedules WHERE id = $1")
                .bind(Uuid::try_parse(id(&made)?)?)
                .fetch_one(&mut stack.database().await?)
                .await?;
        Ok(drawn)
    };
    let drawn = plan().await?;
    assert_eq!(drawn.1.len(), 12);
    assert!(
        drawn.1.windows(2).all(|pair| pair[1] - pair[0] >= 5),
        "{drawn:?}"
    );
    assert!(drawn.1[11] - drawn.1[0] < 120, "{drawn:?}");

    let replica = tests::control_plane::ControlPlane::start(
        stack.shared,
        stack.directory.path(),
        stack.database_name(),
        "",
    )
    .await?;
    let there = tests::Api::new(replica.address(), Some(&stack.shared.backend_token));
    let path = format!("/v1/agents/{}/schedules", stack.ada.id);
    for api in [&stack.backend, &there, &stack.backend] {
        let list = api.get(&path).await?.expect(200)?;
        assert_eq!(list["schedules"][0], made);
    }
    let own = json!({ "schedule_id": id(&made)? });
    run.call("schedule_pause", own.clone()).await?;
    let resumed = run.call("schedule_resume", own).await?.json();
    assert_eq!(resumed["schedule"], made);
    assert_eq!(plan().await?, drawn);
    stack.control_plane.kill()?;
    stack.control_plane.start_again().await?;
    let list = stack.backend.get(&path).await?.expect(200)?;
    assert_eq!(list["schedules"][0], made);
    Ok(())
}

#[tokio::test]
async fn texts_of_schedules_are_stored_without_secrets() -> Result<()> {
    let stack = Stack::storage().await?;
    let secret = |name: &str, value: &str| json!({ "organisation": "acme", "secrets": [{ "name": name, "value": value }] });
    stack.apply(&secret("FIRST", "hunter2-first")).await?;
    let run = stack.run(&stack.ada).await?;
    let arguments = json!({ "cron": "0 9 * * *", "description": "say hunter2-first and hunter2-second",
        "instruction": "hunter2-first\nhunter2-second" });
    let made = create(&run, "schedule_create_cron", arguments).await?;
    assert_eq!(
        made["description"],
        "say [redacted:FIRST] and hunter2-second"
    );
    let (description, instruction): (String, String) =
        sqlx::query_as("SELECT description, instruction FROM schedules")
            .fetch_one(&mut stack.database().await?)
            .await?;
    assert_eq!(description, "say [redacted:FIRST] and hunter2-second");
    assert_eq!(instruction, "[redacted:FIRST]\nhunter2-second");
    // What becomes a secret later is taken out of every answer, and of the wake-up.
    stack.apply(&secret("SECOND", "hunter2-second")).await?;
    let both = "say [redacted:FIRST] and [redacted:SECOND]";
    let list = run.call("schedule_list", json!({})).await?.json();
    assert_eq!(list["schedules"][0]["description"], both);
    let path = format!("/v1/operator/schedules/{}", id(&made)?);
    let shown = stack.operator.get(&path).await?.expect(200)?;
    assert_eq!(shown["description"], both);
    assert_eq!(shown["instruction"], "[redacted:FIRST]\n[redacted:SECOND]");
    let mut db = stack.database().await?;
    sqlx::query("UPDATE schedules SET next_fire = now()")
        .execute(&mut db)
        .await?;
    stack
        .backend
        .get("/v1/events?after=0&wait=20")
        .await?
        .expect(200)?;
    let told: Value = sqlx::query_scalar("SELECT detail FROM events WHERE type = 'wakeup'")
        .fetch_one(&mut db)
        .await?;
    assert_eq!(told["description"], both);
    assert_eq!(told["instruction"], "[redacted:FIRST]\n[redacted:SECOND]");
    Ok(())
}
