//! The agents of an organisation as operators set them up and read them.

use serde::Serialize;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::AgentConfig;
use crate::store::page::Page;
use crate::store::time::rfc3339;

/// An agent as its organisation keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stored {
    /// Agent id.
    pub id: String,
    /// Its guild.
    pub guild: String,
    /// Its machine.
    pub machine: String,
    /// Its slot on the machine.
    pub slot: i16,
    /// Its configuration.
    pub config: AgentConfig,
}

/// Agents of an organisation by id: those named, or all.
///
/// # Errors
/// When the database does not answer.
pub async fn load(
    db: &mut PgConnection,
    organisation: &str,
    ids: Option<&[String]>,
) -> sqlx::Result<Vec<Stored>> {
    let rows: Vec<(String, String, String, i16, Json<AgentConfig>)> = sqlx::query_as(
        "SELECT id, guild, machine, slot, config FROM agents
         WHERE organisation = $1 AND ($2::text[] IS NULL OR id = ANY($2)) ORDER BY id",
    )
    .bind(organisation)
    .bind(ids)
    .fetch_all(db)
    .await?;
    let stored = |(id, guild, machine, slot, Json(config))| Stored {
        id,
        guild,
        machine,
        slot,
        config,
    };
    Ok(rows.into_iter().map(stored).collect())
}

/// Ids of all agents of an organisation.
///
/// # Errors
/// When the database does not answer.
pub async fn names(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("SELECT id FROM agents WHERE organisation = $1 ORDER BY id")
        .bind(organisation)
        .fetch_all(db)
        .await
}

/// Id, guild, machine and slot of every agent of an organisation.
///
/// # Errors
/// When the database does not answer.
pub async fn seats(
    db: &mut PgConnection,
    organisation: &str,
) -> sqlx::Result<Vec<(String, String, String, i16)>> {
    sqlx::query_as(
        "SELECT id, guild, machine, slot FROM agents WHERE organisation = $1 ORDER BY id",
    )
    .bind(organisation)
    .fetch_all(db)
    .await
}

/// An agent as operators read it.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Agent id.
    pub id: String,
    /// Its guild.
    pub guild: String,
    /// Its machine.
    pub machine: String,
    /// Its slot on the machine.
    pub slot: i16,
    /// Its configuration.
    pub config: AgentConfig,
    /// How many of its runs are open.
    pub open_runs: i64,
    /// When its newest run began.
    pub last_run_at: Option<String>,
    /// When it was made.
    pub created_at: String,
}

/// A page of an organisation's agents.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    organisation: &str,
    page: &Page<'_>,
) -> sqlx::Result<Vec<Listed>> {
    type Row = (
        String,
        String,
        String,
        i16,
        Json<AgentConfig>,
        i64,
        Option<i64>,
        i64,
    );
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT a.id, a.guild, a.machine, a.slot, a.config,
                (SELECT count(*) FROM runs r WHERE r.agent = a.id AND r.state = 'open'),
                (SELECT floor(extract(epoch FROM max(r.created_at)) * 1000)::bigint FROM runs r WHERE r.agent = a.id),
                floor(extract(epoch FROM a.created_at) * 1000)::bigint
         FROM agents a
         WHERE a.organisation = $1 AND ($2::text IS NULL OR a.id > $2) AND ($3::text IS NULL OR a.id = $3)
         ORDER BY a.id LIMIT $4",
    )
    .bind(organisation)
    .bind(page.after)
    .bind(page.only)
    .bind(page.limit)
    .fetch_all(db)
    .await?;
    let listed =
        |(id, guild, machine, slot, Json(config), open_runs, last_ms, created_ms): Row| Listed {
            id,
            guild,
            machine,
            slot,
            config,
            open_runs,
            last_run_at: last_ms.map(rfc3339),
            created_at: rfc3339(created_ms),
        };
    Ok(rows.into_iter().map(listed).collect())
}

/// Which of these ids another organisation's agents have.
///
/// # Errors
/// When the database does not answer.
pub async fn taken(
    db: &mut PgConnection,
    organisation: &str,
    ids: &[String],
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT id FROM agents WHERE id = ANY($2) AND organisation <> $1 ORDER BY id",
    )
    .bind(organisation)
    .bind(ids)
    .fetch_all(db)
    .await
}

/// The open runs of these agents, as agent and run. The agents' rows are held, so
/// that no run starts for them before the transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn hold_and_find_open(
    db: &mut PgConnection,
    ids: &[&str],
) -> sqlx::Result<Vec<(String, Uuid)>> {
    sqlx::query("SELECT id FROM agents WHERE id = ANY($1) ORDER BY id FOR UPDATE")
        .bind(ids)
        .execute(&mut *db)
        .await?;
    sqlx::query_as(
        "SELECT agent, id FROM runs WHERE agent = ANY($1) AND state = 'open' ORDER BY agent, id",
    )
    .bind(ids)
    .fetch_all(db)
    .await
}

/// Writes an agent, in place of the one there is.
///
/// # Errors
/// When the database does not answer, or when another organisation's agent of
/// that id appeared in the meantime.
pub async fn put(db: &mut PgConnection, organisation: &str, agent: &Stored) -> sqlx::Result<()> {
    let written = sqlx::query(
        "INSERT INTO agents (id, organisation, guild, machine, slot, config)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT ON CONSTRAINT agents_pkey DO UPDATE SET
           guild = excluded.guild, machine = excluded.machine, slot = excluded.slot,
           config = excluded.config
         WHERE agents.organisation = excluded.organisation",
    )
    .bind(&agent.id)
    .bind(organisation)
    .bind(&agent.guild)
    .bind(&agent.machine)
    .bind(agent.slot)
    .bind(Json(&agent.config))
    .execute(db)
    .await?;
    if written.rows_affected() == 0 {
        return Err(sqlx::Error::RowNotFound);
    }
    Ok(())
}

/// What an agent's deletion takes with it, counted.
#[derive(Debug, Clone, Copy, sqlx::FromRow)]
pub struct Belongings {
    /// Notes at its level, its memory and tombstones too.
    pub notes: i64,
    /// Live scripts.
    pub scripts: i64,
    /// Schedules.
    pub schedules: i64,
    /// Requests for secrets, decided ones too.
    pub requests: i64,
}

/// Counts what belongs to an agent alone.
///
/// # Errors
/// When the database does not answer.
pub async fn belongings(
    db: &mut PgConnection,
    organisation: &str,
    id: &str,
) -> sqlx::Result<Belongings> {
    sqlx::query_as(
        "SELECT count(*) FILTER (WHERE kind IN ('note', 'memory')) AS notes,
                count(*) FILTER (WHERE kind = 'script' AND deleted_at IS NULL) AS scripts,
                (SELECT count(*) FROM schedules WHERE agent = $2) AS schedules,
                (SELECT count(*) FROM secret_requests WHERE agent = $2) AS requests
         FROM artifacts WHERE organisation = $1 AND level = 'agent' AND owner = $2",
    )
    .bind(organisation)
    .bind(id)
    .fetch_one(db)
    .await
}

/// Deletes an agent and its artifacts; its runs stay.
///
/// # Errors
/// When the database does not answer.
pub async fn delete(db: &mut PgConnection, organisation: &str, id: &str) -> sqlx::Result<()> {
    for sql in [
        "DELETE FROM artifacts WHERE organisation = $1 AND level = 'agent' AND owner = $2",
        "DELETE FROM agents WHERE organisation = $1 AND id = $2",
    ] {
        sqlx::query(sql)
            .bind(organisation)
            .bind(id)
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}
