//! The Memory of an agent and its past, which no tool reaches.

use sqlx::PgConnection;

use super::agents::Agent;
use super::words;

/// Key of the note through which the Memory is also reached.
pub const KEY: &str = "memory.md";
/// Most characters (Unicode scalar values) of a Memory.
pub const MAX_CHARACTERS: usize = 12_000;
/// Most revisions kept.
pub const KEPT_REVISIONS: i64 = 50;

/// The agent's Memory; empty before the first write.
///
/// # Errors
/// When the database does not answer.
pub async fn read(db: &mut PgConnection, agent: &Agent) -> sqlx::Result<String> {
    let body: Option<String> = sqlx::query_scalar(
        "SELECT body FROM artifacts
         WHERE organisation = $1 AND kind = 'memory' AND level = 'agent' AND owner = $2 AND key = $3",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .bind(KEY)
    .fetch_optional(db)
    .await?;
    Ok(body.unwrap_or_default())
}

/// The agent's Memory and when it was last written, in milliseconds of the Unix
/// clock: before the first write, when it was made.
///
/// # Errors
/// When the database does not answer.
pub async fn read_dated(
    db: &mut PgConnection,
    agent: &Agent,
) -> sqlx::Result<Option<(String, i64)>> {
    sqlx::query_as(
        "SELECT body, floor(extract(epoch FROM updated_at) * 1000)::bigint FROM artifacts
         WHERE organisation = $1 AND kind = 'memory' AND level = 'agent' AND owner = $2 AND key = $3",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .bind(KEY)
    .fetch_optional(db)
    .await
}

/// What a write left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Characters of the Memory now.
    pub characters: usize,
    /// Earlier versions kept.
    pub revisions: i64,
}

/// Replaces the whole Memory and keeps the version before, the newest
/// [`KEPT_REVISIONS`] in all. What was there before the first write is no version.
///
/// # Errors
/// When the database does not answer, or the agent is gone.
pub async fn write(db: &mut PgConnection, agent: &Agent, body: &str) -> sqlx::Result<Written> {
    let id: i64 = sqlx::query_scalar(
        "SELECT id FROM artifacts
         WHERE organisation = $1 AND kind = 'memory' AND level = 'agent' AND owner = $2 AND key = $3
         FOR UPDATE",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .bind(KEY)
    .fetch_one(&mut *db)
    .await?;
    keep(&mut *db, id).await?;
    let revisions = sqlx::query_scalar(
        "UPDATE artifacts SET body = $2, words = $3, updated_at = clock_timestamp() WHERE id = $1
         RETURNING (SELECT count(*) FROM memory_revisions WHERE artifact = $1)",
    )
    .bind(id)
    .bind(body)
    .bind(words::of_note(KEY, body))
    .fetch_one(db)
    .await?;
    Ok(Written {
        characters: body.chars().count(),
        revisions,
    })
}

/// Keeps what a Memory is now, before it changes; the newest [`KEPT_REVISIONS`] stay.
///
/// # Errors
/// When the database does not answer.
pub async fn keep(db: &mut PgConnection, id: i64) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO memory_revisions (artifact, body)
         SELECT id, body FROM artifacts WHERE id = $1 AND updated_at > created_at",
    )
    .bind(id)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "DELETE FROM memory_revisions WHERE artifact = $1 AND id NOT IN (
           SELECT id FROM memory_revisions WHERE artifact = $1 ORDER BY id DESC LIMIT $2)",
    )
    .bind(id)
    .bind(KEPT_REVISIONS)
    .execute(&mut *db)
    .await?;
    Ok(())
}
