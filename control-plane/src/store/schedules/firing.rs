//! Fires: what is due is claimed, advanced and kept in one transaction, by any number of replicas.

use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::stored::{COLUMNS, Row, Stored};
use crate::schedule::{Next, Plan};
use crate::store::time::rfc3339;

/// Fires of a schedule that are kept.
pub const KEPT_FIRES: i64 = 20;

/// A fire that was.
#[derive(Debug, Clone, Serialize)]
pub struct Fire {
    due_at: String,
    fired_at: String,
    late: bool,
}

/// What becomes of a schedule that fires.
#[derive(Debug)]
pub struct Advance {
    /// The schedule.
    pub id: Uuid,
    /// When it was due, in milliseconds since 1970.
    pub due_ms: i64,
    /// When it fires, in milliseconds since 1970.
    pub fired_ms: i64,
    /// Whether it comes late.
    pub late: bool,
    /// From when the next fire keeps its distance, in milliseconds since 1970.
    pub last_ms: i64,
    /// When it fires next; never again when there is none.
    pub next: Option<Next>,
}

/// Whether anything is due, by the database's clock.
///
/// # Errors
/// When the database does not answer.
pub async fn any_due(pool: &PgPool) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM schedules WHERE state = 'active' AND next_fire <= now())",
    )
    .fetch_one(pool)
    .await
}

/// Takes up to `limit` due schedules that nobody else is firing, the longest due first;
/// those of the organisations `without` stay.
///
/// # Errors
/// When the database does not answer.
pub async fn claim(
    db: &mut PgConnection,
    without: &[String],
    limit: i64,
) -> sqlx::Result<Vec<Stored>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM schedules s JOIN agents a ON a.id = s.agent
         WHERE s.state = 'active' AND s.next_fire <= now() AND s.organisation <> ALL($1)
         ORDER BY s.next_fire, s.id LIMIT $2
         FOR NO KEY UPDATE OF s SKIP LOCKED"
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(without)
        .bind(limit)
        .fetch_all(db)
        .await?;
    Ok(rows.into_iter().map(Stored::from).collect())
}

/// Moves claimed schedules on to their next fires and keeps these ones, the last
/// [`KEPT_FIRES`] of each.
///
/// # Errors
/// When the database does not answer.
pub async fn advance(db: &mut PgConnection, fired: &[Advance]) -> sqlx::Result<()> {
    let ids: Vec<Uuid> = fired.iter().map(|fire| fire.id).collect();
    let seconds = |ms: i64| ms as f64 / 1_000.0;
    let plan = |fire: &Advance| -> Option<Plan> { fire.next.as_ref()?.plan.clone() };
    let next = |fire: &Advance| Some(fire.next.as_ref()?.at as f64 * 60.0);
    sqlx::query(
        "UPDATE schedules s SET next_fire = to_timestamp(f.next), last_fire = to_timestamp(f.last),
                plan_day = f.plan_day, plan_minutes = f.plan_minutes::bigint[]
         FROM unnest($1::uuid[], $2::double precision[], $3::double precision[], $4::integer[], $5::text[])
           AS f(id, next, last, plan_day, plan_minutes)
         WHERE s.id = f.id",
    )
    .bind(&ids)
    .bind(fired.iter().map(next).collect::<Vec<_>>())
    .bind(fired.iter().map(|fire| seconds(fire.last_ms)).collect::<Vec<_>>())
    .bind(fired.iter().map(|fire| plan(fire).map(|plan| plan.day)).collect::<Vec<_>>())
    .bind(fired.iter().map(|fire| plan(fire).map(|plan| array(&plan.minutes))).collect::<Vec<_>>())
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "INSERT INTO schedule_fires (schedule, due_at, fired_at, late)
         SELECT f.id, to_timestamp(f.due), to_timestamp(f.fired), f.late
         FROM unnest($1::uuid[], $2::double precision[], $3::double precision[], $4::boolean[])
           AS f(id, due, fired, late)",
    )
    .bind(&ids)
    .bind(
        fired
            .iter()
            .map(|fire| seconds(fire.due_ms))
            .collect::<Vec<_>>(),
    )
    .bind(
        fired
            .iter()
            .map(|fire| seconds(fire.fired_ms))
            .collect::<Vec<_>>(),
    )
    .bind(fired.iter().map(|fire| fire.late).collect::<Vec<_>>())
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "DELETE FROM schedule_fires f USING (
           SELECT schedule, due_at,
                  row_number() OVER (PARTITION BY schedule ORDER BY due_at DESC) AS nth
           FROM schedule_fires WHERE schedule = ANY($1)
         ) old
         WHERE old.nth > $2 AND f.schedule = old.schedule AND f.due_at = old.due_at",
    )
    .bind(&ids)
    .bind(KEPT_FIRES)
    .execute(db)
    .await?;
    Ok(())
}

/// A PostgreSQL array as text: arrays of arrays of different lengths are none.
fn array(minutes: &[i64]) -> String {
    let words: Vec<String> = minutes.iter().map(i64::to_string).collect();
    format!("{{{}}}", words.join(","))
}

/// Takes a schedule that can't be read out of what is due.
///
/// # Errors
/// When the database does not answer.
pub async fn set_aside(db: &mut PgConnection, id: Uuid) -> sqlx::Result<()> {
    sqlx::query("UPDATE schedules SET next_fire = NULL WHERE id = $1")
        .bind(id)
        .execute(db)
        .await?;
    Ok(())
}

/// The kept fires of a schedule, newest first.
///
/// # Errors
/// When the database does not answer.
pub async fn fires(db: &mut PgConnection, id: Uuid) -> sqlx::Result<Vec<Fire>> {
    let rows: Vec<(i64, i64, bool)> = sqlx::query_as(
        "SELECT floor(extract(epoch FROM due_at) * 1000)::bigint,
                floor(extract(epoch FROM fired_at) * 1000)::bigint, late
         FROM schedule_fires WHERE schedule = $1 ORDER BY due_at DESC LIMIT $2",
    )
    .bind(id)
    .bind(KEPT_FIRES)
    .fetch_all(db)
    .await?;
    let fires = rows.into_iter().map(|(due, fired, late)| Fire {
        due_at: rfc3339(due),
        fired_at: rfc3339(fired),
        late,
    });
    Ok(fires.collect())
}
