//! Machines: where agents live.

use serde::Serialize;
use sqlx::PgConnection;

/// A machine as its organisation keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct Machine {
    /// Machine id, unique in the control plane.
    pub id: String,
    /// `https://host:port` of its machine agent.
    pub address: String,
}

/// Every machine of an organisation, by id.
///
/// # Errors
/// When the database does not answer.
pub async fn of_organisation(
    db: &mut PgConnection,
    organisation: &str,
) -> sqlx::Result<Vec<Machine>> {
    sqlx::query_as("SELECT id, address FROM machines WHERE organisation = $1 ORDER BY id")
        .bind(organisation)
        .fetch_all(db)
        .await
}

/// Which of these ids another organisation's machines have.
///
/// # Errors
/// When the database does not answer.
pub async fn taken(
    db: &mut PgConnection,
    organisation: &str,
    ids: &[&str],
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
