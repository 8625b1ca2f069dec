//! Machines: where agents live.

use serde::Serialize;
use sqlx::PgConnection;

use super::page::Page;
use super::time::rfc3339;

/// A machine as its organisation keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct Machine {
    /// Machine id, unique in the control plane.
    pub id: String,
    /// `https://host:port` of its machine agent.
    pub address: String,
}

/// Machines of an organisation by id: those named, or all.
///
/// # Errors
/// When the database does not answer.
pub async fn load(
    db: &mut PgConnection,
    organisation: &str,
    ids: Option<&[String]>,
) -> sqlx::Result<Vec<Machine>> {
    sqlx::query_as(
        "SELECT id, address FROM machines
         WHERE organisation = $1 AND ($2::text[] IS NULL OR id = ANY($2)) ORDER BY id",
    )
    .bind(organisation)
    .bind(ids)
    .fetch_all(db)
    .await
}

/// Ids of all machines of an organisation.
///
/// # Errors
/// When the database does not answer.
pub async fn names(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("SELECT id FROM machines WHERE organisation = $1 ORDER BY id")
        .bind(organisation)
        .fetch_all(db)
        .await
}

/// A machine as operators read it; whether it answers is asked elsewhere.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Machine id.
    pub id: String,
    /// `https://host:port` of its machine agent.
    pub address: String,
    /// How many agents live there.
    pub agents: i64,
    /// How many runs of them are open.
    pub open_runs: i64,
    /// When it was made.
    pub created_at: String,
}

/// A page of an organisation's machines.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    organisation: &str,
    page: &Page<'_>,
) -> sqlx::Result<Vec<Listed>> {
    let rows: Vec<(String, String, i64, i64, i64)> = sqlx::query_as(
        "SELECT m.id, m.address,
                (SELECT count(*) FROM agents a WHERE a.machine = m.id),
                (SELECT count(*) FROM runs r JOIN agents a ON a.id = r.agent
                  WHERE a.machine = m.id AND r.state = 'open'),
                floor(extract(epoch FROM m.created_at) * 1000)::bigint
         FROM machines m
         WHERE m.organisation = $1 AND ($2::text IS NULL OR m.id > $2) AND ($3::text IS NULL OR m.id = $3)
         ORDER BY m.id LIMIT $4",
    )
    .bind(organisation)
    .bind(page.after)
    .bind(page.only)
    .bind(page.limit)
    .fetch_all(db)
    .await?;
    let listed = |(id, address, agents, open_runs, created_ms)| Listed {
        id,
        address,
        agents,
        open_runs,
        created_at: rfc3339(created_ms),
    };
    Ok(rows.into_iter().map(listed).collect())
}

/// Which of these ids another organisation's machines have.
///
/// # Errors
/// When the database does not answer.
pub async fn taken(
    db: &mut PgConnection,
    organisation: &str,
    ids: &[String],
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT id FROM machines WHERE id = ANY($2) AND organisation <> $1 ORDER BY id",
    )
    .bind(organisation)
    .bind(ids)
    .fetch_all(db)
    .await
}

/// Writes a machine, in place of the one there is.
///
/// # Errors
/// When the database does not answer, or another organisation's machine of that
/// id appeared in the meantime.
pub async fn put(db: &mut PgConnection, organisation: &str, machine: &Machine) -> sqlx::Result<()> {
    let written = sqlx::query(
        "INSERT INTO machines (id, organisation, address) VALUES ($1, $2, $3)
         ON CONFLICT ON CONSTRAINT machines_pkey DO UPDATE SET address = excluded.address
         WHERE machines.organisation = excluded.organisation",
    )
    .bind(&machine.id)
    .bind(organisation)
    .bind(&machine.address)
    .execute(db)
    .await?;
    if written.rows_affected() == 0 {
        return Err(sqlx::Error::RowNotFound);
    }
    Ok(())
}

/// Deletes a machine without agents.
///
/// # Errors
/// When the database does not answer, or agents live there.
pub async fn delete(db: &mut PgConnection, organisation: &str, id: &str) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM machines WHERE organisation = $1 AND id = $2")
        .bind(organisation)
        .bind(id)
        .execute(db)
        .await?;
    Ok(())
}
