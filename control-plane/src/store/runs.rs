//! Runs and the snapshot of each turn.

pub mod reading;

use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::agents::{Agent, AgentConfig};
use super::time::rfc3339;

/// A run as it is stored.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its id.
    pub id: Uuid,
    /// Its organisation's id.
    pub organisation: String,
    /// Its agent's id.
    pub agent: String,
    /// `direct`, `group_chat` or `schedule`.
    pub kind: String,
    /// `open` or `ended`.
    pub state: String,
    /// The turn, from 1.
    pub turn: i32,
    /// Calls that remain.
    pub remaining: i32,
    /// What the start said about things left out.
    pub notices: Vec<String>,
    /// When it started.
    pub created_at: String,
}

impl Run {
    /// Whether calls are taken.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == "open"
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organisation: String,
    agent: String,
    kind: String,
    state: String,
    turn: i32,
    remaining: i32,
    notices: Json<Vec<String>>,
    created_ms: i64,
}

impl From<Row> for Run {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            organisation: row.organisation,
            agent: row.agent,
            kind: row.kind,
            state: row.state,
            turn: row.turn,
            remaining: row.remaining,
            notices: row.notices.0,
            created_at: rfc3339(row.created_ms),
        }
    }
}

/// A new run.
#[derive(Debug)]
pub struct NewRun<'a> {
    /// Its id.
    pub id: Uuid,
    /// Its agent.
    pub agent: &'a Agent,
    /// `direct`, `group_chat` or `schedule`.
    pub kind: &'a str,
    /// Its budget.
    pub max_tool_calls: i32,
    /// What was left out and why.
    pub notices: &'a [String],
}

/// Inserts a run; false when its id is taken.
///
/// # Errors
/// When the database does not answer.
pub async fn insert(db: &mut PgConnection, run: &NewRun<'_>) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "INSERT INTO runs (id, organisation, guild, agent, kind, max_tool_calls, remaining, notices)
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7) ON CONFLICT (id) DO NOTHING",
    )
    .bind(run.id)
    .bind(&run.agent.organisation)
    .bind(&run.agent.guild)
    .bind(&run.agent.id)
    .bind(run.kind)
    .bind(run.max_tool_calls)
    .bind(Json(run.notices))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The run of that id.
///
/// # Errors
/// When the database does not answer.
pub async fn find(db: &mut PgConnection, id: Uuid) -> sqlx::Result<Option<Run>> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT id, organisation, agent, kind, state, turn, remaining, notices,
                floor(extract(epoch FROM created_at) * 1000)::bigint AS created_ms
         FROM runs WHERE id = $1",
    )
    .bind(id)
    .fetch_optional(db)
    .await?;
    Ok(row.map(Run::from))
}

/// The run of that id, noted as used when that was not noted in the last minute.
///
/// # Errors
/// When the database does not answer.
pub async fn touch(db: &mut PgConnection, id: Uuid) -> sqlx::Result<Option<Run>> {
    sqlx::query(
        "UPDATE runs SET last_request_at = now()
         WHERE id = $1 AND state = 'open' AND last_request_at < now() - interval '1 minute'",
    )
    .bind(id)
    .execute(&mut *db)
    .await?;
    find(db, id).await
}

/// The run of that id, locked until the transaction ends and noted as just
/// used. The lock lets foreign keys through, so that a call's own statements
/// never wait for it.
///
/// # Errors
/// When the database does not answer.
pub async fn lock(db: &mut PgConnection, id: Uuid) -> sqlx::Result<Option<Run>> {
    let row: Option<Row> = sqlx::query_as(
        "UPDATE runs SET last_request_at = now() WHERE id = $1
         RETURNING id, organisation, agent, kind, state, turn, remaining, notices,
                   floor(extract(epoch FROM created_at) * 1000)::bigint AS created_ms",
    )
    .bind(id)
    .fetch_optional(db)
    .await?;
    Ok(row.map(Run::from))
}

/// Newest first, after the run `after`.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    agent: Option<&str>,
    state: Option<&str>,
    after: Option<Uuid>,
    limit: i64,
) -> sqlx::Result<Vec<Run>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, organisation, agent, kind, state, turn, remaining, notices,
                floor(extract(epoch FROM created_at) * 1000)::bigint AS created_ms
         FROM runs
         WHERE ($1::text IS NULL OR agent = $1) AND ($2::text IS NULL OR state = $2)
           AND ($3::uuid IS NULL OR (created_at, id) < (SELECT created_at, id FROM runs WHERE id = $3))
         ORDER BY created_at DESC, id DESC LIMIT $4",
    )
    .bind(agent)
    .bind(state)
    .bind(after)
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Run::from).collect())
}

/// Ends a run that nobody asked anything for 24 hours; false when it is none, such
/// as one that was asked something since it was found.
///
/// # Errors
/// When the database does not answer.
pub async fn end_if_idle(db: &mut PgConnection, id: Uuid) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE runs SET state = 'ended', ended_at = now()
         WHERE id = $1 AND state = 'open' AND last_request_at < now() - interval '24 hours'",
    )
    .bind(id)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends a run; does nothing to an ended one.
///
/// # Errors
/// When the database does not answer.
pub async fn end(db: &mut PgConnection, id: Uuid) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE runs SET state = 'ended', ended_at = now() WHERE id = $1 AND state = 'open'",
    )
    .bind(id)
    .execute(db)
    .await?;
    Ok(())
}

/// Takes `calls` off the budget without going below nothing.
///
/// # Errors
/// When the database does not answer.
pub async fn spend(db: &mut PgConnection, id: Uuid, calls: i32) -> sqlx::Result<()> {
    sqlx::query("UPDATE runs SET remaining = greatest(remaining - $2, 0) WHERE id = $1")
        .bind(id)
        .bind(calls)
        .execute(db)
        .await?;
    Ok(())
}

/// Runs that nobody asked anything for 24 hours.
///
/// # Errors
/// When the database does not answer.
pub async fn idle(db: &mut PgConnection) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM runs WHERE state = 'open' AND last_request_at < now() - interval '24 hours'
         ORDER BY last_request_at, id LIMIT 100",
    )
    .fetch_all(db)
    .await
}

/// How many runs are open.
///
/// # Errors
/// When the database does not answer.
pub async fn count_open(db: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM runs WHERE state = 'open'")
        .fetch_one(db)
        .await
}

/// What a turn offered, as stored.
#[derive(Debug)]
pub struct Turn {
    /// JSON text of the list of tools.
    pub tools: String,
    /// The agent's configuration as the turn read it.
    pub config: AgentConfig,
}

/// Stores the snapshot of a turn.
///
/// # Errors
/// When the database does not answer, or the turn has a snapshot.
pub async fn insert_turn(
    db: &mut PgConnection,
    run: Uuid,
    turn: i32,
    tools: &str,
    config: &AgentConfig,
) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO run_turns (run, turn, tools, config) VALUES ($1, $2, $3::json, $4)")
        .bind(run)
        .bind(turn)
        .bind(tools)
        .bind(Json(config))
        .execute(db)
        .await?;
    Ok(())
}

/// Makes `turn` the run's turn and drops the snapshots that no call in flight needs.
///
/// # Errors
/// When the database does not answer.
pub async fn begin_turn(db: &mut PgConnection, run: Uuid, turn: i32) -> sqlx::Result<()> {
    sqlx::query("UPDATE runs SET turn = $2 WHERE id = $1")
        .bind(run)
        .bind(turn)
        .execute(&mut *db)
        .await?;
    sqlx::query(
        "DELETE FROM run_turns t WHERE run = $1 AND turn < $2 AND NOT EXISTS (
           SELECT FROM calls c WHERE c.run = t.run AND c.turn = t.turn AND c.state <> 'stored')",
    )
    .bind(run)
    .bind(turn)
    .execute(db)
    .await?;
    Ok(())
}

/// The snapshot of a turn.
///
/// # Errors
/// When the database does not answer.
pub async fn turn(db: &mut PgConnection, run: Uuid, turn: i32) -> sqlx::Result<Option<Turn>> {
    let row: Option<(String, Json<AgentConfig>)> =
        sqlx::query_as("SELECT tools::text, config FROM run_turns WHERE run = $1 AND turn = $2")
            .bind(run)
            .bind(turn)
            .fetch_optional(db)
            .await?;
    Ok(row.map(|(tools, config)| Turn {
        tools,
        config: config.0,
    }))
}
