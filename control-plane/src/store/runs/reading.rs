//! Runs as operators read them: newest first with their counts, and one run's calls in time.

use serde::Serialize;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::time::rfc3339;

/// A run with its counts.
#[derive(Debug, Serialize)]
pub struct RunRow {
    /// Its id.
    pub id: Uuid,
    agent: String,
    guild: String,
    kind: String,
    state: String,
    turn: i32,
    max_tool_calls: i32,
    remaining_tool_calls: i32,
    calls: i64,
    errors: i64,
    created_at: String,
    last_request_at: String,
    ended_at: Option<String>,
}

/// Which runs are wanted.
#[derive(Debug, Default)]
pub struct Filter {
    /// Those of this agent.
    pub agent: Option<String>,
    /// `open` or `ended`.
    pub state: Option<&'static str>,
    /// The one of this id.
    pub only: Option<Uuid>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    agent: String,
    guild: String,
    kind: String,
    state: String,
    turn: i32,
    max_tool_calls: i32,
    remaining: i32,
    calls: i64,
    errors: i64,
    created_ms: i64,
    last_request_ms: i64,
    ended_ms: Option<i64>,
}

impl From<Row> for RunRow {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            agent: row.agent,
            guild: row.guild,
            kind: row.kind,
            state: row.state,
            turn: row.turn,
            max_tool_calls: row.max_tool_calls,
            remaining_tool_calls: row.remaining,
            calls: row.calls,
            errors: row.errors,
            created_at: rfc3339(row.created_ms),
            last_request_at: rfc3339(row.last_request_ms),
            ended_at: row.ended_ms.map(rfc3339),
        }
    }
}

/// Up to `limit` runs of an organisation, newest first, after the run `after`.
///
/// # Errors
/// When the database does not answer.
pub async fn page(
    db: &mut PgConnection,
    organisation: &str,
    filter: &Filter,
    after: Option<Uuid>,
    limit: i64,
) -> sqlx::Result<Vec<RunRow>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT r.id, r.agent, r.guild, r.kind, r.state, r.turn, r.max_tool_calls, r.remaining,
                c.calls, c.errors,
                floor(extract(epoch FROM r.created_at) * 1000)::bigint AS created_ms,
                floor(extract(epoch FROM r.last_request_at) * 1000)::bigint AS last_request_ms,
                floor(extract(epoch FROM r.ended_at) * 1000)::bigint AS ended_ms
         FROM (
           SELECT * FROM runs
           WHERE organisation = $1 AND ($2::text IS NULL OR agent = $2)
             AND ($3::text IS NULL OR state = $3) AND ($4::uuid IS NULL OR id = $4)
             AND ($5::uuid IS NULL OR (created_at, id) < (
               SELECT created_at, id FROM runs WHERE id = $5 AND organisation = $1))
           ORDER BY created_at DESC, id DESC LIMIT $6
         ) r
         CROSS JOIN LATERAL (
           SELECT count(*) AS calls, count(metadata->>'error') AS errors
           FROM calls WHERE run = r.id
         ) c
         ORDER BY r.created_at DESC, r.id DESC",
    )
    .bind(organisation)
    .bind(&filter.agent)
    .bind(filter.state)
    .bind(filter.only)
    .bind(after)
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(RunRow::from).collect())
}

/// Whether an organisation has or had a run of this agent.
///
/// # Errors
/// When the database does not answer.
pub async fn has_run_of(
    db: &mut PgConnection,
    organisation: &str,
    agent: &str,
) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM runs WHERE organisation = $1 AND agent = $2)")
        .bind(organisation)
        .bind(agent)
        .fetch_one(db)
        .await
}

/// One call of a run, without what it said.
#[derive(Debug, Serialize)]
pub struct TimelineCall {
    /// The chat backend's id.
    pub call_id: String,
    name: String,
    turn: i32,
    state: String,
    at: String,
    duration_ms: Option<i64>,
    error: Option<String>,
    exit_code: Option<i32>,
    truncated: Option<bool>,
    original_bytes: Option<i64>,
    stored_bytes: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct CallRow {
    call_id: String,
    name: String,
    turn: i32,
    state: String,
    at_ms: i64,
    duration_ms: Option<i64>,
    error: Option<String>,
    exit_code: Option<i32>,
    truncated: Option<bool>,
    original_bytes: Option<i64>,
    stored_bytes: Option<i64>,
}

impl From<CallRow> for TimelineCall {
    fn from(row: CallRow) -> Self {
        Self {
            call_id: row.call_id,
            name: row.name,
            turn: row.turn,
            state: row.state,
            at: rfc3339(row.at_ms),
            duration_ms: row.duration_ms,
            error: row.error,
            exit_code: row.exit_code,
            truncated: row.truncated,
            original_bytes: row.original_bytes,
            stored_bytes: row.stored_bytes,
        }
    }
}

/// Whether the run has a call of that id.
///
/// # Errors
/// When the database does not answer.
pub async fn has_call(db: &mut PgConnection, run: Uuid, call_id: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM calls WHERE run = $1 AND call_id = $2)")
        .bind(run)
        .bind(call_id)
        .fetch_one(db)
        .await
}

/// Up to `limit` calls of a run as they were made, after the call `after`.
///
/// # Errors
/// When the database does not answer.
pub async fn timeline(
    db: &mut PgConnection,
    run: Uuid,
    after: Option<&str>,
    limit: i64,
) -> sqlx::Result<Vec<TimelineCall>> {
    let rows: Vec<CallRow> = sqlx::query_as(
        "SELECT call_id, name, turn, state,
                floor(extract(epoch FROM claimed_at) * 1000)::bigint AS at_ms,
                (metadata->>'duration_ms')::bigint AS duration_ms, metadata->>'error' AS error,
                (metadata->>'exit_code')::int AS exit_code,
                (metadata->>'truncated')::bool AS truncated,
                (metadata->>'original_bytes')::bigint AS original_bytes,
                (metadata->>'stored_bytes')::bigint AS stored_bytes
         FROM calls
         WHERE run = $1 AND ($2::text IS NULL OR (claimed_at, call_id) > (
           SELECT claimed_at, call_id FROM calls WHERE run = $1 AND call_id = $2))
         ORDER BY claimed_at, call_id LIMIT $3",
    )
    .bind(run)
    .bind(after)
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(TimelineCall::from).collect())
}
