//! Wake-ups: each due time once over all replicas, one late fire after downtime, nothing while paused.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sqlx::PgConnection;
use tests::shared::ORGANISATION;
use tests::{Run, Stack};
use uuid::Uuid;

pub(super) async fn create(run: &Run, cron: &str) -> Result<Uuid> {
    let arguments = json!({ "cron": cron, "description": cron, "instruction": "Do it." });
    let made = run.call("schedule_create_cron", arguments).await?.json();
    let id = made["schedule"]["schedule_id"].as_str().context("an id")?;
    Ok(Uuid::try_parse(id)?)
}

/// The wake-ups that were told so far.
async fn wakeups(stack: &Stack) -> Result<Vec<Value>> {
    let body = stack
        .backend
        .get("/v1/events?limit=1000")
        .await?
        .expect(200)?;
    let events = body["events"].as_array().context("events")?;
    Ok(events
        .iter()
        .filter(|event| event["type"] == "wakeup")
        .cloned()
        .collect())
}

/// Waits until so many wake-ups were told.
pub(super) async fn until_told(stack: &Stack, count: usize) -> Result<Vec<Value>> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let told = wakeups(stack).await?;
        if told.len() >= count {
            return Ok(told);
        }
        ensure!(
            Instant::now() < deadline,
            "{} of {count} wake-ups: {}",
            told.len(),
            stack.control_plane.log()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Times of a schedule as seconds since 1970: next fire, and the last kept fire.
async fn times(db: &mut PgConnection, id: Uuid) -> Result<(i64, i64)> {
    Ok(sqlx::query_as(
        "SELECT floor(extract(epoch FROM s.next_fire))::bigint, floor(extract(epoch FROM max(f.fired_at)))::bigint
         FROM schedules s JOIN schedule_fires f ON f.schedule = s.id WHERE s.id = $1 GROUP BY s.id",
    )
    .bind(id)
    .fetch_one(db)
    .await?)
}

#[tokio::test]
async fn a_due_schedule_wakes_its_agent_once_and_moves_on() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let id = create(&run, "0 12 29 2 *").await?;
    let mut db = stack.database().await?;
    let due: String = sqlx::query_scalar(
        "UPDATE schedules SET next_fire = date_trunc('second', now() - interval '3 seconds')
         RETURNING to_char(next_fire AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')",
    )
    .fetch_one(&mut db)
    .await?;
    let told = until_told(&stack, 1).await?;
    assert_eq!(
        told,
        [json!({
            "seq": told[0]["seq"], "type": "wakeup", "at": told[0]["at"], "organisation": ORGANISATION,
            "guild": "core", "agent": stack.ada.id, "schedule_id": id, "description": "0 12 29 2 *",
            "instruction": "Do it.", "due_at": due, "late": false,
        })]
    );
    let list = run.call("schedule_list", json!({})).await?.json();
    let next = list["schedules"][0]["next_fire"]
        .as_str()
        .context("next_fire")?;
    assert!(next.ends_with("-02-29T12:00:00Z"), "{next}");
    // Two more looks find nothing.
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    assert_eq!(wakeups(&stack).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn after_a_day_without_a_control_plane_each_schedule_fires_late_once() -> Result<()> {
    let mut stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let mut ids = Vec::new();
    for cron in ["*/5 * * * *", "0 * * * *", "17 3 * * *"] {
        ids.push(create(&run, cron).await?);
    }
    let window = json!({ "timezone": "Asia/Tokyo", "start": "00:00", "end": "23:59", "max_wakes": 288,
        "description": "w", "instruction": "i" });
    let made = run.call("schedule_create_window", window).await?.json();
    let id = made["schedule"]["schedule_id"].as_str().context("an id")?;
    ids.push(Uuid::try_parse(id)?);
    stack.control_plane.stop()?;
    let mut db = stack.database().await?;
    sqlx::query("UPDATE schedules SET next_fire = next_fire - interval '2 days'")
        .execute(&mut db)
        .await?;
    stack.control_plane.start_again().await?;
    until_told(&stack, ids.len()).await?;
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    let told = wakeups(&stack).await?;
    assert_eq!(told.len(), ids.len());
    for id in &ids {
        let of: Vec<_> = told
            .iter()
            .filter(|event| event["schedule_id"] == json!(id))
            .collect();
        assert_eq!((of.len(), &of[0]["late"]), (1, &json!(true)), "{id}");
    }
    // The next one is the first due time at least five minutes later.
    let (next, fired) = times(&mut db, ids[0]).await?;
    assert!(
        (300..600).contains(&(next - fired)) && next % 300 == 0,
        "{next} {fired}"
    );
    let (next, fired) = times(&mut db, ids[1]).await?;
    assert!(
        (300..3_900).contains(&(next - fired)) && next % 3_600 == 0,
        "{next} {fired}"
    );
    let (next, fired) = times(&mut db, ids[3]).await?;
    assert!((300..900).contains(&(next - fired)), "{next} {fired}");
    Ok(())
}

#[tokio::test]
async fn a_paused_schedule_does_not_fire_and_a_resume_brings_back_nothing_missed() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let id = create(&run, "*/5 * * * *").await?;
    let own = json!({ "schedule_id": id });
    run.call("schedule_pause", own.clone()).await?;
    let mut db = stack.database().await?;
    // As if it had been paused for a day, and had fired a moment ago.
    sqlx::query("UPDATE schedules SET created_at = now() - interval '1 day', last_fire = now()")
        .execute(&mut db)
        .await?;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(wakeups(&stack).await?, Vec::<Value>::new());
    run.call("schedule_resume", own).await?;
    let until: f64 = sqlx::query_scalar(
        "SELECT extract(epoch FROM next_fire - last_fire)::double precision FROM schedules",
    )
    .fetch_one(&mut db)
    .await?;
    assert!((300.0..600.0).contains(&until), "{until}");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(wakeups(&stack).await?, Vec::<Value>::new());
    Ok(())
}

#[tokio::test]
async fn an_idle_replica_looks_at_most_once_a_second() -> Result<()> {
    let stack = Stack::storage().await?;
    // Made in a session that ends here: the server counts the scans of one that is kept,
    // such as a replica's after a call, only a while after they were.
    sqlx::query(
        "INSERT INTO schedules (id, organisation, agent, kind, description, instruction, next_fire, cron)
         VALUES (gen_random_uuid(), $1, $2, 'cron', 'd', 'i', now() + interval '1 day', '0 9 * * *')",
    )
    .bind(ORGANISATION)
    .bind(&stack.ada.id)
    .execute(&mut stack.database().await?)
    .await?;
    let mut db = stack.database().await?;
    let looks = async |db: &mut PgConnection| -> Result<i64> {
        Ok(sqlx::query_scalar(
            "SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0)
             FROM pg_stat_user_tables WHERE relname = 'schedules'",
        )
        .fetch_one(db)
        .await?)
    };
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let (before, begun) = (looks(&mut db).await?, Instant::now());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (after, elapsed) = (looks(&mut db).await?, begun.elapsed());
    // What the server held back at the beginning may come in addition.
    let most = i64::try_from(elapsed.as_secs())? + 4;
    assert!(
        (2..=most).contains(&(after - before)),
        "{} in {elapsed:?}",
        after - before
    );
    Ok(())
}

#[tokio::test]
async fn the_last_fires_are_kept_and_no_more() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let id = create(&run, "0 12 29 2 *").await?;
    let mut db = stack.database().await?;
    sqlx::query(
        "INSERT INTO schedule_fires (schedule, due_at, fired_at, late)
         SELECT $1, now() - make_interval(hours => n), now() - make_interval(hours => n), false
         FROM generate_series(1, 30) n",
    )
    .bind(id)
    .execute(&mut db)
    .await?;
    sqlx::query("UPDATE schedules SET next_fire = now() - interval '61 seconds'")
        .execute(&mut db)
        .await?;
    until_told(&stack, 1).await?;
    let path = format!("/v1/operator/schedules/{id}");
    let shown = stack.operator.get(&path).await?.expect(200)?;
    let fires = shown["recent_fires"].as_array().context("recent_fires")?;
    assert_eq!(fires.len(), 20);
    assert_eq!(fires[0]["late"], true);
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM schedule_fires")
        .fetch_one(&mut db)
        .await?;
    assert_eq!(kept, 20);
    Ok(())
}

#[tokio::test]
async fn a_schedule_that_cannot_be_read_is_set_aside_and_others_go_on() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let (bad, good) = (
        create(&run, "0 12 29 2 *").await?,
        create(&run, "0 12 29 2 *").await?,
    );
    let mut db = stack.database().await?;
    sqlx::query("UPDATE schedules SET next_fire = now(), cron = CASE WHEN id = $1 THEN 'never' ELSE cron END")
        .bind(bad)
        .execute(&mut db)
        .await?;
    let told = until_told(&stack, 1).await?;
    assert_eq!((told.len(), &told[0]["schedule_id"]), (1, &json!(good)));
    assert!(
        stack
            .control_plane
            .log()
            .contains(&format!("schedule {bad} can't fire"))
    );
    let due: i64 = sqlx::query_scalar("SELECT count(*) FROM schedules WHERE next_fire <= now()")
        .fetch_one(&mut db)
        .await?;
    assert_eq!(due, 0);
    Ok(())
}
