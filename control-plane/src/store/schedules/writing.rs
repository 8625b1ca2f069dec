//! Schedules as they are made, paused, resumed and removed.

use sqlx::PgConnection;
use uuid::Uuid;

use super::stored::{self, Stored};
use crate::schedule::Next;
use crate::store::agents::Agent;

/// When a new schedule fires.
#[derive(Debug, Clone, Copy)]
pub enum When<'a> {
    /// A cron expression in UTC.
    Cron(&'a str),
    /// A window of local time.
    Window {
        /// Name of the time zone.
        timezone: &'a str,
        /// `HH:MM`
        start: &'a str,
        /// `HH:MM`
        end: &'a str,
        /// Wake-ups a window.
        max_wakes: i32,
    },
}

/// Schedules that an agent has, with the agent held against others who make some.
///
/// # Errors
/// When the database does not answer.
pub async fn count_held(db: &mut PgConnection, agent: &Agent) -> sqlx::Result<i64> {
    // The agent's row is the lock: without a schedule there is no other to hold.
    sqlx::query("SELECT id FROM agents WHERE id = $1 FOR NO KEY UPDATE")
        .bind(&agent.id)
        .fetch_optional(&mut *db)
        .await?;
    sqlx::query_scalar("SELECT count(*) FROM schedules WHERE agent = $1")
        .bind(&agent.id)
        .fetch_one(db)
        .await
}

/// Stores a new schedule that has no next fire yet. Its texts are redacted.
///
/// # Errors
/// When the database does not answer.
pub async fn insert(
    db: &mut PgConnection,
    agent: &Agent,
    (description, instruction): (&str, &str),
    when: When<'_>,
) -> sqlx::Result<Stored> {
    let id = Uuid::now_v7();
    let (kind, cron, window) = match when {
        When::Cron(cron) => ("cron", Some(cron), None),
        When::Window {
            timezone,
            start,
            end,
            max_wakes,
        } => ("window", None, Some((timezone, start, end, max_wakes))),
    };
    sqlx::query(
        "INSERT INTO schedules (id, organisation, agent, kind, description, instruction, cron,
                                timezone, starts, ends, max_wakes)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(id)
    .bind(&agent.organisation)
    .bind(&agent.id)
    .bind(kind)
    .bind(description)
    .bind(instruction)
    .bind(cron)
    .bind(window.map(|window| window.0))
    .bind(window.map(|window| window.1))
    .bind(window.map(|window| window.2))
    .bind(window.map(|window| window.3))
    .execute(&mut *db)
    .await?;
    stored::hold(db, &agent.organisation, Some(&agent.id), id)
        .await?
        .ok_or(sqlx::Error::RowNotFound)
}

/// Lets a schedule fire next at a time.
///
/// # Errors
/// When the database does not answer.
pub async fn activate(db: &mut PgConnection, id: Uuid, next: Option<&Next>) -> sqlx::Result<()> {
    let plan = next.and_then(|next| next.plan.as_ref());
    sqlx::query(
        "UPDATE schedules SET state = 'active', next_fire = to_timestamp($2::double precision),
                plan_day = $3, plan_minutes = $4 WHERE id = $1",
    )
    .bind(id)
    .bind(next.map(|next| next.at * 60))
    .bind(plan.map(|plan| plan.day))
    .bind(plan.map(|plan| &plan.minutes))
    .execute(db)
    .await?;
    Ok(())
}

/// Stops a schedule. What was drawn stays, so that a resume on the same day draws nothing.
///
/// # Errors
/// When the database does not answer.
pub async fn pause(db: &mut PgConnection, id: Uuid) -> sqlx::Result<()> {
    sqlx::query("UPDATE schedules SET state = 'paused', next_fire = NULL WHERE id = $1")
        .bind(id)
        .execute(db)
        .await?;
    Ok(())
}

/// Removes a schedule with its fires.
///
/// # Errors
/// When the database does not answer.
pub async fn delete(db: &mut PgConnection, id: Uuid) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM schedules WHERE id = $1")
        .bind(id)
        .execute(db)
        .await?;
    Ok(())
}
