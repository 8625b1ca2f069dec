//! Fires that meet others: replicas, one that dies, a pause, a removal, a new secret.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sqlx::PgConnection;
use tests::Stack;
use tests::control_plane::ControlPlane;
use tests::shared::ORGANISATION;
use uuid::Uuid;

use super::schedules_fires::{create, until_told};

/// Takes the lock under which events are numbered: as long as this session has it, every
/// fire waits before its commit, with its claim in its hands.
async fn hold_fires(mut session: PgConnection) -> Result<PgConnection> {
    sqlx::query("SELECT pg_advisory_lock(1702258030, 29811)")
        .execute(&mut session)
        .await?;
    Ok(session)
}

/// Waits until so many sessions wait for that lock, and answers what each of them claimed.
async fn claims(db: &mut PgConnection, sessions: usize) -> Result<Vec<Vec<Uuid>>> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        // A claimed row has the number of the claiming transaction in `xmax`.
        let claims: Vec<Vec<Uuid>> = sqlx::query_scalar(
            "SELECT array_agg(s.id) FROM pg_locks w JOIN pg_stat_activity a ON a.pid = w.pid
             JOIN schedules s ON s.xmax = a.backend_xid
             WHERE w.locktype = 'advisory' AND NOT w.granted AND a.datname = current_database()
             GROUP BY a.pid",
        )
        .fetch_all(&mut *db)
        .await?;
        if claims.len() == sessions {
            return Ok(claims);
        }
        ensure!(Instant::now() < deadline, "{} of {sessions}", claims.len());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// How many times these schedules have fired.
async fn fires(db: &mut PgConnection, ids: &[Uuid]) -> Result<usize> {
    let fires: i64 =
        sqlx::query_scalar("SELECT count(*) FROM schedule_fires WHERE schedule = ANY($1)")
            .bind(ids)
            .fetch_one(db)
            .await?;
    Ok(usize::try_from(fires)?)
}

/// Makes schedules that are due in this minute.
async fn due_at_once(stack: &Stack, count: i64) -> Result<()> {
    sqlx::query(
        "INSERT INTO schedules (id, organisation, agent, kind, description, instruction, next_fire, cron)
         SELECT gen_random_uuid(), $1, $2, 'cron', 'n' || n, 'i', date_trunc('minute', now()), '30 4 * * *'
         FROM generate_series(1, $3) n",
    )
    .bind(ORGANISATION)
    .bind(&stack.ada.id)
    .bind(count)
    .execute(&mut stack.database().await?)
    .await?;
    Ok(())
}

#[tokio::test]
async fn ten_thousand_due_at_once_fire_once_each_although_a_replica_dies() -> Result<()> {
    const COUNT: i64 = 10_000;
    let mut stack = Stack::storage().await?;
    let (shared, directory) = (stack.shared, stack.directory.path().to_owned());
    let database = stack.database_name().to_owned();
    let start = || ControlPlane::start(shared, &directory, &database, "");
    let mut dying = start().await?;
    stack.control_plane.stop()?;
    let mut db = stack.database().await?;
    let held = hold_fires(stack.database().await?).await?;
    due_at_once(&stack, COUNT).await?;
    // Alone, it fires what it has claimed first, and is stopped again with its next claim.
    let first = claims(&mut db, 1).await?.concat();
    let next = tokio::spawn(hold_fires(stack.database().await?));
    waiting(&mut db, 2).await?;
    drop(held);
    let held = next.await??;
    let second = claims(&mut db, 1).await?.concat();
    assert_eq!(fires(&mut db, &first).await?, first.len());
    assert!(!first.is_empty() && !second.is_empty());
    // Two more come, each with a claim of its own; then it dies with what it has claimed.
    let (_other, again) = tokio::join!(start(), stack.control_plane.start_again());
    again?;
    let claimed = claims(&mut db, 3).await?;
    let distinct: BTreeSet<Uuid> = claimed.iter().flatten().copied().collect();
    assert_eq!(distinct.len(), claimed.iter().map(Vec::len).sum::<usize>());
    assert!(claimed.iter().any(|claim| claim.contains(&second[0])));
    dying.kill()?;
    assert_eq!(fires(&mut db, &second).await?, 0);
    drop(held);
    all_fired(&stack, &mut db, COUNT).await?;
    assert_eq!(fires(&mut db, &second).await?, second.len());
    Ok(())
}

/// Waits until so many sessions wait for the lock.
async fn waiting(db: &mut PgConnection, sessions: i64) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let waiting: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_locks w JOIN pg_stat_activity a ON a.pid = w.pid
             WHERE w.locktype = 'advisory' AND NOT w.granted AND a.datname = current_database()",
        )
        .fetch_one(&mut *db)
        .await?;
        if waiting == sessions {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{waiting} of {sessions} wait");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until as many have fired, then looks for one that fired twice or is still due.
async fn all_fired(stack: &Stack, db: &mut PgConnection, count: i64) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let fired: i64 = sqlx::query_scalar("SELECT count(*) FROM schedule_fires")
            .fetch_one(&mut *db)
            .await?;
        if fired >= count {
            break;
        }
        ensure!(
            Instant::now() < deadline,
            "{fired} fired: {}",
            stack.control_plane.log()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Another look of every replica.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let found: (i64, i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM schedule_fires), count(*), count(DISTINCT detail->>'schedule_id'),
                (SELECT count(*) FROM schedules WHERE next_fire <= now())
         FROM events WHERE type = 'wakeup'",
    )
    .fetch_one(db)
    .await?;
    assert_eq!(found, (count, count, count, 0));
    Ok(())
}

#[tokio::test]
async fn a_secret_that_comes_while_a_fire_waits_is_not_told() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let arguments = json!({ "cron": "0 12 29 2 *", "description": "say hunter2-late",
        "instruction": "Say hunter2-late." });
    run.call("schedule_create_cron", arguments).await?;
    let mut db = stack.database().await?;
    let held = hold_fires(stack.database().await?).await?;
    sqlx::query("UPDATE schedules SET next_fire = now()")
        .execute(&mut db)
        .await?;
    claims(&mut db, 1).await?;
    stack
        .apply(&json!({ "organisation": ORGANISATION,
            "secrets": [{ "name": "LATE", "value": "hunter2-late" }] }))
        .await?;
    drop(held);
    let told = until_told(&stack, 1).await?;
    assert_eq!(told[0]["description"], "say [redacted:LATE]");
    assert_eq!(told[0]["instruction"], "Say [redacted:LATE].");
    let stored: i64 =
        sqlx::query_scalar("SELECT count(*) FROM events WHERE detail::text LIKE '%hunter2-late%'")
            .fetch_one(&mut db)
            .await?;
    assert_eq!(stored, 0);
    Ok(())
}

/// What a call answers that comes while its schedule fires, and the wake-ups that were told.
async fn during_a_fire(tool: &str) -> Result<(Stack, Value, Vec<Value>)> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let id = create(&run, "0 12 29 2 *").await?;
    let mut db = stack.database().await?;
    let held = hold_fires(stack.database().await?).await?;
    sqlx::query("UPDATE schedules SET next_fire = now()")
        .execute(&mut db)
        .await?;
    claims(&mut db, 1).await?;
    let release = async {
        // The call waits for the row that the fire has.
        locked_out(&mut db).await?;
        drop(held);
        anyhow::Ok(())
    };
    let call = run.call(tool, json!({ "schedule_id": id }));
    let (answer, ()) = tokio::try_join!(call, release)?;
    until_told(&stack, 1).await?;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let told = until_told(&stack, 1).await?;
    Ok((stack, answer.json(), told))
}

/// Waits until a session waits for a row of another.
async fn locked_out(db: &mut PgConnection) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let waiting: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM pg_locks w JOIN pg_stat_activity a ON a.pid = w.pid
             WHERE w.locktype IN ('transactionid', 'tuple') AND NOT w.granted
               AND a.datname = current_database())",
        )
        .fetch_one(&mut *db)
        .await?;
        if waiting {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "nobody waits for a row");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_pause_in_the_middle_of_a_fire_comes_after_it() -> Result<()> {
    let (stack, answer, told) = during_a_fire("schedule_pause").await?;
    assert_eq!(answer["schedule"]["state"], "paused");
    assert_eq!(answer["schedule"]["next_fire"], Value::Null);
    assert_eq!(told.len(), 1);
    let due: i64 = sqlx::query_scalar("SELECT count(*) FROM schedules WHERE next_fire IS NOT NULL")
        .fetch_one(&mut stack.database().await?)
        .await?;
    assert_eq!(due, 0);
    Ok(())
}

#[tokio::test]
async fn a_resume_in_the_middle_of_a_fire_changes_nothing() -> Result<()> {
    let (_stack, answer, told) = during_a_fire("schedule_resume").await?;
    assert_eq!(answer["schedule"]["state"], "active");
    // The one after the fire, no longer the one that was due.
    let next = answer["schedule"]["next_fire"].as_str().unwrap_or_default();
    assert!(next.ends_with("-02-29T12:00:00Z"), "{next}");
    assert_eq!(told.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_removal_in_the_middle_of_a_fire_comes_after_it() -> Result<()> {
    let (stack, answer, told) = during_a_fire("schedule_delete").await?;
    assert_eq!(answer["deleted"], true);
    assert_eq!(told.len(), 1);
    let left: (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM schedules), (SELECT count(*) FROM schedule_fires)",
    )
    .fetch_one(&mut stack.database().await?)
    .await?;
    assert_eq!(left, (0, 0));
    Ok(())
}
