//! Scripts: what an agent stored, and the snapshot that a run works with.

pub mod reading;

use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::agents::Agent;

/// A script.
#[derive(Debug, Clone)]
pub struct Script {
    /// Name without `.py`.
    pub name: String,
    /// Why it exists.
    pub description: String,
    /// Python source.
    pub source: String,
    /// Lower-case hexadecimal SHA-256 of `source`.
    pub sha256: String,
    /// JSON Schema of its arguments.
    pub parameters: Option<Box<RawValue>>,
}

/// A script as a run holds it.
#[derive(Debug, Clone)]
pub struct SnapshotScript {
    /// The script.
    pub script: Script,
    /// False for one made in this run: its own tool comes with the next run.
    pub as_tool: bool,
}

#[derive(sqlx::FromRow)]
struct Row {
    name: String,
    description: String,
    source: String,
    sha256: String,
    parameters: Option<Json<Box<RawValue>>>,
}

impl From<Row> for Script {
    fn from(row: Row) -> Self {
        Self {
            name: row.name,
            description: row.description,
            source: row.source,
            sha256: row.sha256,
            parameters: row.parameters.map(|Json(raw)| raw),
        }
    }
}

#[derive(sqlx::FromRow)]
struct SnapshotRow {
    #[sqlx(flatten)]
    script: Row,
    as_tool: bool,
}

impl From<SnapshotRow> for SnapshotScript {
    fn from(row: SnapshotRow) -> Self {
        Self {
            script: row.script.into(),
            as_tool: row.as_tool,
        }
    }
}

/// The agent's stored scripts, by name.
///
/// # Errors
/// When the database does not answer.
pub async fn all(db: &mut PgConnection, agent: &Agent) -> sqlx::Result<Vec<Script>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT key AS name, detail->>'description' AS description, body AS source,
                detail->>'sha256' AS sha256, detail->'parameters' AS parameters
         FROM artifacts
         WHERE organisation = $1 AND kind = 'script' AND level = 'agent' AND owner = $2
           AND deleted_at IS NULL
         ORDER BY key, id",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Script::from).collect())
}

/// Copies the agent's scripts into a run that starts, and answers them by name.
///
/// # Errors
/// When the database does not answer, or the run has a snapshot already.
pub async fn snapshot(
    db: &mut PgConnection,
    run: Uuid,
    agent: &Agent,
) -> sqlx::Result<Vec<SnapshotScript>> {
    let mut rows: Vec<SnapshotRow> = sqlx::query_as(
        "INSERT INTO run_scripts (run, name, description, source, sha256, parameters, as_tool)
         SELECT $1, key, detail->>'description', body, detail->>'sha256', detail->'parameters', true
         FROM artifacts
         WHERE organisation = $2 AND kind = 'script' AND level = 'agent' AND owner = $3
           AND deleted_at IS NULL
         RETURNING name, description, source, sha256, parameters, as_tool",
    )
    .bind(run)
    .bind(&agent.organisation)
    .bind(&agent.id)
    .fetch_all(db)
    .await?;
    rows.sort_by(|a, b| a.script.name.cmp(&b.script.name));
    Ok(rows.into_iter().map(SnapshotScript::from).collect())
}

/// The scripts a run holds, by name.
///
/// # Errors
/// When the database does not answer.
pub async fn of_run(db: &mut PgConnection, run: Uuid) -> sqlx::Result<Vec<SnapshotScript>> {
    let rows: Vec<SnapshotRow> = sqlx::query_as(
        "SELECT name, description, source, sha256, parameters, as_tool
         FROM run_scripts WHERE run = $1 ORDER BY name",
    )
    .bind(run)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(SnapshotScript::from).collect())
}

/// One script that a run holds.
///
/// # Errors
/// When the database does not answer.
pub async fn find_in_run(
    db: &mut PgConnection,
    run: Uuid,
    name: &str,
) -> sqlx::Result<Option<SnapshotScript>> {
    let row: Option<SnapshotRow> = sqlx::query_as(
        "SELECT name, description, source, sha256, parameters, as_tool
         FROM run_scripts WHERE run = $1 AND name = $2",
    )
    .bind(run)
    .bind(name)
    .fetch_optional(db)
    .await?;
    Ok(row.map(SnapshotScript::from))
}

/// One of the agent's stored scripts.
///
/// # Errors
/// When the database does not answer.
pub async fn find(
    db: &mut PgConnection,
    agent: &Agent,
    name: &str,
) -> sqlx::Result<Option<Script>> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT key AS name, detail->>'description' AS description, body AS source,
                detail->>'sha256' AS sha256, detail->'parameters' AS parameters
         FROM artifacts
         WHERE organisation = $1 AND kind = 'script' AND level = 'agent' AND owner = $2
           AND key = $3 AND deleted_at IS NULL",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .bind(name)
    .fetch_optional(db)
    .await?;
    Ok(row.map(Script::from))
}

/// How many scripts the agent stores beside the one of that name, and whether
/// that one exists. Holds off every other change to its scripts until the
/// transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn hold(db: &mut PgConnection, agent: &Agent, name: &str) -> sqlx::Result<(i64, bool)> {
    // The agent's row is the lock: without a script there is no other to hold.
    sqlx::query("SELECT id FROM agents WHERE id = $1 FOR NO KEY UPDATE")
        .bind(&agent.id)
        .fetch_optional(&mut *db)
        .await?;
    sqlx::query_as(
        "SELECT count(*) FILTER (WHERE key <> $3), count(*) FILTER (WHERE key = $3) > 0
         FROM artifacts
         WHERE organisation = $1 AND kind = 'script' AND level = 'agent' AND owner = $2
           AND deleted_at IS NULL",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .bind(name)
    .fetch_one(db)
    .await
}

#[derive(Serialize)]
struct Detail<'a> {
    description: &'a str,
    sha256: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a RawValue>,
}

/// Stores a script, in place of the one of its name.
///
/// # Errors
/// When the database does not answer.
pub async fn put(db: &mut PgConnection, agent: &Agent, script: &Script) -> sqlx::Result<()> {
    let detail = serde_json::to_string(&Detail {
        description: &script.description,
        sha256: &script.sha256,
        parameters: script.parameters.as_deref(),
    })
    .map_err(|error| sqlx::Error::Encode(error.into()))?;
    sqlx::query(
        "INSERT INTO artifacts (organisation, kind, level, owner, key, body, detail)
         VALUES ($1, 'script', 'agent', $2, $3, $4, $5::json)
         ON CONFLICT ON CONSTRAINT artifacts_place_key DO UPDATE SET
           body = excluded.body, detail = excluded.detail, updated_at = clock_timestamp(),
           deleted_at = NULL",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .bind(&script.name)
    .bind(&script.source)
    .bind(detail)
    .execute(db)
    .await?;
    Ok(())
}

/// Adds a script to a run that holds none of its name; false when it does.
///
/// # Errors
/// When the database does not answer.
pub async fn join_run(db: &mut PgConnection, run: Uuid, script: &Script) -> sqlx::Result<bool> {
    let added = sqlx::query(
        "INSERT INTO run_scripts (run, name, description, source, sha256, parameters, as_tool)
         VALUES ($1, $2, $3, $4, $5, $6::json, false)
         ON CONFLICT ON CONSTRAINT run_scripts_pkey DO NOTHING",
    )
    .bind(run)
    .bind(&script.name)
    .bind(&script.description)
    .bind(&script.source)
    .bind(&script.sha256)
    .bind(script.parameters.as_ref().map(|raw| raw.get()))
    .execute(db)
    .await?;
    Ok(added.rows_affected() > 0)
}

/// Removes a stored script and its name from a run; false when neither held it. Its name
/// is kept as deleted until [`forget_deleted`], so that its file can be removed too.
///
/// # Errors
/// When the database does not answer.
pub async fn delete(
    db: &mut PgConnection,
    agent: &Agent,
    run: Uuid,
    name: &str,
) -> sqlx::Result<bool> {
    let stored = sqlx::query(
        "UPDATE artifacts SET body = '', detail = NULL, deleted_at = clock_timestamp()
         WHERE organisation = $1 AND kind = 'script' AND level = 'agent' AND owner = $2
           AND key = $3 AND deleted_at IS NULL",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .bind(name)
    .execute(&mut *db)
    .await?;
    let held = sqlx::query("DELETE FROM run_scripts WHERE run = $1 AND name = $2")
        .bind(run)
        .bind(name)
        .execute(db)
        .await?;
    Ok(stored.rows_affected() + held.rows_affected() > 0)
}

/// Names of scripts that were deleted and whose files may still be on the machine, in order.
///
/// # Errors
/// When the database does not answer.
pub async fn deleted(db: &mut PgConnection, agent: &Agent) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT key FROM artifacts
         WHERE organisation = $1 AND kind = 'script' AND level = 'agent' AND owner = $2
           AND deleted_at IS NOT NULL ORDER BY key",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .fetch_all(db)
    .await
}

/// Forgets a deleted script whose file is gone. One that was created again stays.
///
/// # Errors
/// When the database does not answer.
pub async fn forget_deleted(db: &mut PgConnection, agent: &Agent, name: &str) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM artifacts
         WHERE organisation = $1 AND kind = 'script' AND level = 'agent' AND owner = $2
           AND key = $3 AND deleted_at IS NOT NULL",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .bind(name)
    .execute(db)
    .await?;
    Ok(())
}
