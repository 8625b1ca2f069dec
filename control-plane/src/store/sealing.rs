//! Sealing: the key that every replica agrees on, and the rows under another.

pub mod rotation;

use secrecy::SecretString;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::vault::{Sealed, Vault, VaultError};

/// Why a sealed value was not written or read.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The database did not do its part.
    #[error("the database did not answer")]
    Store(#[from] sqlx::Error),
    /// The key file or the sealed value did not.
    #[error("a sealed value can't be used")]
    Vault(#[from] VaultError),
}

/// Seals a value for a row, in the transaction that writes the row.
///
/// The newest key of the file that is in use seals. It is held until the transaction
/// ends, so that a rotation that retires it waits for the row and then finds it.
///
/// # Errors
/// When the database does not answer, or none of the file's keys may seal.
pub async fn seal(
    db: &mut PgConnection,
    vault: &Vault,
    row: Uuid,
    value: &SecretString,
) -> Result<Sealed, SealError> {
    // Sealing is rare, and a replica whose file was rotated must not go on with old keys.
    let ring = vault.read_again().await?;
    let ids: Vec<&str> = ring.ids().collect();
    let key_id = match hold_newest(db, &ids).await? {
        Some(key_id) => key_id,
        None => {
            // Nothing was sealed yet. The oldest key begins: a newer one may be
            // prepared here and not be known to the other replicas.
            join(db, ids.last().copied().unwrap_or_default()).await?;
            match hold_newest(db, &ids).await? {
                Some(key_id) => key_id,
                None => return Err(retired(db, vault).await?.into()),
            }
        }
    };
    Ok(vault.seal_with(&key_id, row, value)?)
}

/// The first of these keys that is in use, its row held against being retired.
async fn hold_newest(db: &mut PgConnection, ids: &[&str]) -> sqlx::Result<Option<String>> {
    let in_use: Vec<String> = sqlx::query_scalar(
        "SELECT id FROM sealing_keys WHERE id = ANY($1) AND retired_at IS NULL
         ORDER BY array_position($1, id::text) FOR SHARE",
    )
    .bind(ids)
    .fetch_all(db)
    .await?;
    Ok(in_use.into_iter().next())
}

/// Makes a key the one in use when none is.
async fn join(db: &mut PgConnection, id: &str) -> sqlx::Result<()> {
    // Two first writers may each bring a key of their own: one of them waits here.
    sqlx::query("LOCK TABLE sealing_keys IN SHARE ROW EXCLUSIVE MODE")
        .execute(&mut *db)
        .await?;
    sqlx::query(
        "INSERT INTO sealing_keys (id)
         SELECT $1 WHERE NOT EXISTS (SELECT FROM sealing_keys WHERE retired_at IS NULL)
         ON CONFLICT ON CONSTRAINT sealing_keys_pkey DO NOTHING",
    )
    .bind(id)
    .execute(db)
    .await?;
    Ok(())
}

async fn retired(db: &mut PgConnection, vault: &Vault) -> sqlx::Result<VaultError> {
    let in_use: Vec<String> = sqlx::query_scalar(
        "SELECT id FROM sealing_keys WHERE retired_at IS NULL ORDER BY since, id",
    )
    .fetch_all(db)
    .await?;
    Ok(VaultError::Retired {
        path: vault.path().to_owned(),
        in_use: in_use.join(", "),
    })
}
