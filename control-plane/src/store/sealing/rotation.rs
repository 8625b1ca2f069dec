//! The rotation of the key: every sealed value under the new key, and the others retired.

use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::SealError;
use crate::store::organisations;
use crate::vault::{Sealed, Vault};

/// Number of the lock that lets one rotation at a time through.
const LOCK: i64 = 0x6775_696c_6473_0001;
/// Values sealed again in one transaction.
const BATCH: i64 = 100;

/// A table with sealed values, and the column that names a row to an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// `secrets`
    Secrets,
    /// `logins`
    Logins,
}

impl Table {
    /// Every table with sealed values.
    pub const ALL: [Self; 2] = [Self::Secrets, Self::Logins];

    const fn name(self) -> &'static str {
        match self {
            Self::Secrets => "secrets",
            Self::Logins => "logins",
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Secrets => "'secret ' || name",
            Self::Logins => "'login ' || level || ':' || owner || ':' || connector",
        }
    }
}

/// A key that the database knows.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct KnownKey {
    /// Its id.
    pub id: String,
    /// Whether nothing is sealed with it any more.
    pub retired: bool,
}

/// A value that was not sealed again.
#[derive(Debug)]
pub struct Closed {
    /// What it is: kind, name and organisation.
    pub what: String,
    /// Why.
    pub error: crate::vault::VaultError,
}

/// Takes the lock of rotations for as long as the connection lives; false when another
/// rotation holds it.
///
/// # Errors
/// When the database does not answer.
pub async fn lock(db: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
        .bind(LOCK)
        .fetch_one(db)
        .await
}

/// Every key the database knows, oldest first.
///
/// # Errors
/// When the database does not answer.
pub async fn known(db: &mut PgConnection) -> sqlx::Result<Vec<KnownKey>> {
    sqlx::query_as(
        "SELECT id, retired_at IS NOT NULL AS retired FROM sealing_keys ORDER BY since, id",
    )
    .fetch_all(db)
    .await
}

/// Makes a key one that seals.
///
/// # Errors
/// When the database does not answer.
pub async fn join(db: &mut PgConnection, id: &str) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO sealing_keys (id) VALUES ($1)
         ON CONFLICT ON CONSTRAINT sealing_keys_pkey DO NOTHING",
    )
    .bind(id)
    .execute(db)
    .await?;
    Ok(())
}

/// How many values are sealed with another key than this.
///
/// # Errors
/// When the database does not answer.
pub async fn left(db: &mut PgConnection, key_id: &str) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM secrets WHERE key_id <> $1)
              + (SELECT count(*) FROM logins WHERE key_id <> $1)",
    )
    .bind(key_id)
    .fetch_one(db)
    .await
}

/// What one transaction of a rotation did.
#[derive(Debug, Default)]
pub struct Batch {
    /// Values sealed again.
    pub sealed: u64,
    /// Those that were not.
    pub closed: Vec<Closed>,
    /// The last row looked at; `None` when there is none after it.
    pub last: Option<(String, Uuid)>,
}

/// Seals again up to a hundred values of a table, of one organisation, that are under
/// another key, after the row `after`. One transaction: interrupted, it did not happen.
///
/// # Errors
/// When the database does not answer, or nothing can be sealed.
pub async fn batch(
    pool: &PgPool,
    vault: &Vault,
    table: Table,
    key_id: &str,
    after: Option<&(String, Uuid)>,
) -> Result<Batch, SealError> {
    let mut tx = pool.begin().await?;
    let next = next_organisation(&mut tx, table, key_id, after).await?;
    let Some(organisation) = next else {
        return Ok(Batch::default());
    };
    // As operators do, so that the two wait for each other in one order; the trigger on the
    // rows takes the same row afterwards.
    organisations::hold(&mut tx, &organisation).await?;
    let row = after
        .filter(|(last, _)| *last == organisation)
        .map(|(_, row)| *row);
    let rows = rows(&mut tx, table, key_id, &organisation, row).await?;
    let mut batch = Batch {
        last: rows.last().map(|row| (organisation.clone(), row.0)),
        ..Batch::default()
    };
    // Another writer may have sealed the last one meanwhile; the next batch looks again.
    if batch.last.is_none() {
        batch.last = Some((organisation.clone(), Uuid::max()));
    }
    for (id, old_key, old, label) in rows {
        let sealed = Sealed {
            key_id: old_key,
            sealed: old,
        };
        match vault.open(id, &sealed).await {
            Ok(value) => {
                let new = vault.seal_with(key_id, id, &value)?;
                write(&mut tx, table, id, &new).await?;
                batch.sealed += 1;
            }
            Err(error) => batch.closed.push(Closed {
                what: format!("{label} of organisation {organisation}"),
                error,
            }),
        }
    }
    tx.commit().await?;
    Ok(batch)
}

async fn next_organisation(
    db: &mut PgConnection,
    table: Table,
    key_id: &str,
    after: Option<&(String, Uuid)>,
) -> sqlx::Result<Option<String>> {
    let (organisation, row) = match after {
        Some((organisation, row)) => (Some(organisation.as_str()), Some(*row)),
        None => (None, None),
    };
    let statement = sqlx::AssertSqlSafe(format!(
        "SELECT organisation FROM {} WHERE key_id <> $1
           AND ($2::text IS NULL OR (organisation, id) > ($2, $3::uuid))
         ORDER BY organisation, id LIMIT 1",
        table.name()
    ));
    sqlx::query_scalar(statement)
        .bind(key_id)
        .bind(organisation)
        .bind(row)
        .fetch_optional(db)
        .await
}

type Row = (Uuid, String, Vec<u8>, String);

async fn rows(
    db: &mut PgConnection,
    table: Table,
    key_id: &str,
    organisation: &str,
    after: Option<Uuid>,
) -> sqlx::Result<Vec<Row>> {
    let statement = sqlx::AssertSqlSafe(format!(
        "SELECT id, key_id, sealed, {} FROM {}
         WHERE organisation = $1 AND key_id <> $2 AND ($3::uuid IS NULL OR id > $3)
         ORDER BY id LIMIT $4 FOR NO KEY UPDATE",
        table.label(),
        table.name()
    ));
    sqlx::query_as(statement)
        .bind(organisation)
        .bind(key_id)
        .bind(after)
        .bind(BATCH)
        .fetch_all(db)
        .await
}

/// The value is the same, so `updated_at` stays.
async fn write(db: &mut PgConnection, table: Table, id: Uuid, sealed: &Sealed) -> sqlx::Result<()> {
    let statement = sqlx::AssertSqlSafe(format!(
        "UPDATE {} SET key_id = $2, sealed = $3 WHERE id = $1",
        table.name()
    ));
    sqlx::query(statement)
        .bind(id)
        .bind(&sealed.key_id)
        .bind(&sealed.sealed)
        .execute(db)
        .await?;
    Ok(())
}

/// Retires every key but this one, if no value is under another. False, and nothing was
/// changed, when one is: whoever was sealing meanwhile held its key, so the retirement
/// waited for it and then found its row.
///
/// # Errors
/// When the database does not answer.
pub async fn retire_others(pool: &PgPool, key_id: &str) -> sqlx::Result<bool> {
    let mut tx = pool.begin().await?;
    sqlx::query("UPDATE sealing_keys SET retired_at = now() WHERE id <> $1 AND retired_at IS NULL")
        .bind(key_id)
        .execute(&mut *tx)
        .await?;
    let none_left = left(&mut tx, key_id).await? == 0;
    if none_left {
        tx.commit().await?;
    } else {
        tx.rollback().await?;
    }
    Ok(none_left)
}
