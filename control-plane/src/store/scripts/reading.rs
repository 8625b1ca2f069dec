//! Scripts as operators read them: all of an organisation, one with its source, and when they ran.

use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::store::time::rfc3339;

/// A script in a list.
#[derive(Debug, Serialize)]
pub struct ScriptRow {
    /// Whose it is.
    pub agent: String,
    /// Name without `.py`.
    pub name: String,
    /// Why it exists.
    pub description: String,
    bytes: i32,
    sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Box<RawValue>>,
    updated_at: String,
    last_run_at: Option<String>,
}

/// Which scripts are wanted.
#[derive(Debug, Default, Clone, Copy)]
pub struct Filter<'a> {
    /// Those of this agent.
    pub agent: Option<&'a str>,
    /// The one of this name.
    pub only: Option<&'a str>,
    /// Those after this agent's script of this name.
    pub after: Option<(&'a str, &'a str)>,
}

#[derive(sqlx::FromRow)]
struct Row {
    agent: String,
    name: String,
    description: String,
    bytes: i32,
    sha256: String,
    parameters: Option<Json<Box<RawValue>>>,
    updated_ms: i64,
    last_run_ms: Option<i64>,
}

impl From<Row> for ScriptRow {
    fn from(row: Row) -> Self {
        Self {
            agent: row.agent,
            name: row.name,
            description: row.description,
            bytes: row.bytes,
            sha256: row.sha256,
            parameters: row.parameters.map(|Json(raw)| raw),
            updated_at: rfc3339(row.updated_ms),
            last_run_at: row.last_run_ms.map(rfc3339),
        }
    }
}

/// Up to `limit` scripts of an organisation, by agent and name. A script ran when a
/// call of it was sent to the machine.
///
/// # Errors
/// When the database does not answer.
pub async fn page(
    db: &mut PgConnection,
    organisation: &str,
    filter: Filter<'_>,
    limit: i64,
) -> sqlx::Result<Vec<ScriptRow>> {
    let rows: Vec<Row> = sqlx::query_as(
        "WITH page AS MATERIALIZED (
           SELECT owner, key, detail, octet_length(body) AS bytes, updated_at FROM artifacts
           WHERE organisation = $1 AND kind = 'script' AND level = 'agent' AND deleted_at IS NULL
             AND ($2::text IS NULL OR owner = $2) AND ($3::text IS NULL OR key = $3)
             AND ($4::text IS NULL OR (owner, key) > ($4, $5))
           ORDER BY owner, key LIMIT $6
         ), ran AS (
           SELECT r.agent, c.script, max(c.sent_at) AS at
           FROM runs r JOIN (
             SELECT run, sent_at,
                    CASE WHEN name = 'script_run' THEN arguments->>'name' ELSE name END AS script
             FROM calls
             WHERE sent_at IS NOT NULL AND (name = 'script_run' OR name IN (SELECT key FROM page))
           ) c ON c.run = r.id
           WHERE r.organisation = $1 AND r.agent IN (SELECT owner FROM page)
           GROUP BY r.agent, c.script
         )
         SELECT p.owner AS agent, p.key AS name, p.detail->>'description' AS description, p.bytes,
                p.detail->>'sha256' AS sha256, p.detail->'parameters' AS parameters,
                floor(extract(epoch FROM p.updated_at) * 1000)::bigint AS updated_ms,
                floor(extract(epoch FROM ran.at) * 1000)::bigint AS last_run_ms
         FROM page p LEFT JOIN ran ON ran.agent = p.owner AND ran.script = p.key
         ORDER BY p.owner, p.key",
    )
    .bind(organisation)
    .bind(filter.agent)
    .bind(filter.only)
    .bind(filter.after.map(|(agent, _)| agent))
    .bind(filter.after.map(|(_, name)| name))
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(ScriptRow::from).collect())
}

/// The source of a script.
///
/// # Errors
/// When the database does not answer.
pub async fn source(
    db: &mut PgConnection,
    organisation: &str,
    agent: &str,
    name: &str,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT body FROM artifacts
         WHERE organisation = $1 AND kind = 'script' AND level = 'agent' AND owner = $2
           AND key = $3 AND deleted_at IS NULL",
    )
    .bind(organisation)
    .bind(agent)
    .bind(name)
    .fetch_optional(db)
    .await
}

/// One time a script ran.
#[derive(Debug, Serialize)]
pub struct ScriptUse {
    run: Uuid,
    call_id: String,
    at: String,
    duration_ms: Option<i64>,
    exit_code: Option<i32>,
    error: Option<String>,
}

#[derive(sqlx::FromRow)]
struct UseRow {
    run: Uuid,
    call_id: String,
    at_ms: i64,
    duration_ms: Option<i64>,
    exit_code: Option<i32>,
    error: Option<String>,
}

/// The last times an agent's script of that name ran, newest first.
///
/// # Errors
/// When the database does not answer.
pub async fn uses(
    db: &mut PgConnection,
    organisation: &str,
    agent: &str,
    name: &str,
    limit: i64,
) -> sqlx::Result<Vec<ScriptUse>> {
    let rows: Vec<UseRow> = sqlx::query_as(
        "SELECT c.run, c.call_id, floor(extract(epoch FROM c.sent_at) * 1000)::bigint AS at_ms,
                (c.metadata->>'duration_ms')::bigint AS duration_ms,
                (c.metadata->>'exit_code')::int AS exit_code, c.metadata->>'error' AS error
         FROM runs r JOIN calls c ON c.run = r.id
         WHERE r.organisation = $1 AND r.agent = $2 AND c.sent_at IS NOT NULL
           AND (c.name = $3 OR (c.name = 'script_run' AND c.arguments->>'name' = $3))
         ORDER BY c.sent_at DESC, c.run DESC, c.call_id DESC LIMIT $4",
    )
    .bind(organisation)
    .bind(agent)
    .bind(name)
    .bind(limit)
    .fetch_all(db)
    .await?;
    let shown = |row: UseRow| ScriptUse {
        run: row.run,
        call_id: row.call_id,
        at: rfc3339(row.at_ms),
        duration_ms: row.duration_ms,
        exit_code: row.exit_code,
        error: row.error,
    };
    Ok(rows.into_iter().map(shown).collect())
}
