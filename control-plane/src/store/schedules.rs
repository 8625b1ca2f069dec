//! Schedules as they are read: an agent's own, and all of an organisation.

pub mod firing;
pub mod stored;
pub mod writing;

use serde::Serialize;
use sqlx::PgConnection;
use uuid::Uuid;

use super::time::rfc3339;

/// A schedule, as `schedule_list` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct Schedule {
    /// Its id.
    pub schedule_id: Uuid,
    kind: String,
    /// A one-line label.
    pub description: String,
    state: String,
    /// When it fires next; null while it is paused.
    next_fire: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_wakes: Option<i32>,
}

/// A schedule with its agent, and what only an operator reads.
#[derive(Debug)]
pub struct Owned {
    /// As its agent sees it.
    pub schedule: Schedule,
    /// Whose it is.
    pub agent: String,
    /// What the wake-up says.
    pub instruction: String,
    /// When it was made.
    pub created_at: String,
}

/// Which schedules are wanted.
#[derive(Debug, Default, Clone, Copy)]
pub struct Filter<'a> {
    /// Those of this agent.
    pub agent: Option<&'a str>,
    /// `active` or `paused`.
    pub state: Option<&'a str>,
    /// The one of this id.
    pub only: Option<Uuid>,
    /// Those after this id.
    pub after: Option<Uuid>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    agent: String,
    kind: String,
    description: String,
    instruction: String,
    state: String,
    next_fire_ms: Option<i64>,
    cron: Option<String>,
    timezone: Option<String>,
    starts: Option<String>,
    ends: Option<String>,
    max_wakes: Option<i32>,
    created_ms: i64,
}

impl From<Row> for Owned {
    fn from(row: Row) -> Self {
        let paused = row.state == "paused";
        Self {
            schedule: Schedule {
                schedule_id: row.id,
                kind: row.kind,
                description: row.description,
                state: row.state,
                next_fire: row.next_fire_ms.filter(|_| !paused).map(rfc3339),
                cron: row.cron,
                timezone: row.timezone,
                start: row.starts,
                end: row.ends,
                max_wakes: row.max_wakes,
            },
            agent: row.agent,
            instruction: row.instruction,
            created_at: rfc3339(row.created_ms),
        }
    }
}

/// Up to `limit` schedules of an organisation, by id.
///
/// # Errors
/// When the database does not answer.
pub async fn page(
    db: &mut PgConnection,
    organisation: &str,
    filter: Filter<'_>,
    limit: i64,
) -> sqlx::Result<Vec<Owned>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, agent, kind, description, instruction, state,
                floor(extract(epoch FROM next_fire) * 1000)::bigint AS next_fire_ms,
                cron, timezone, starts, ends, max_wakes,
                floor(extract(epoch FROM created_at) * 1000)::bigint AS created_ms
         FROM schedules
         WHERE organisation = $1 AND ($2::text IS NULL OR agent = $2)
           AND ($3::text IS NULL OR state = $3) AND ($4::uuid IS NULL OR id = $4)
           AND ($5::uuid IS NULL OR id > $5)
         ORDER BY id LIMIT $6",
    )
    .bind(organisation)
    .bind(filter.agent)
    .bind(filter.state)
    .bind(filter.only)
    .bind(filter.after)
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Owned::from).collect())
}
