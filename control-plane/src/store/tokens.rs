//! Bearer tokens: who may use the API. Only their SHA-256 is stored.

use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::time::rfc3339;

/// What a token opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// A chat backend: runs of every organisation.
    Backend,
    /// An operator of one organisation.
    Operator {
        /// Its id.
        organisation: String,
    },
}

/// A live token.
#[derive(Debug, Clone)]
pub struct Token {
    /// Its id, which an operator sees and revokes.
    pub id: Uuid,
    /// What it opens.
    pub role: Role,
}

/// A token as `token list` shows it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its id.
    pub id: Uuid,
    /// `backend` or `operator`.
    pub role: String,
    /// An operator's organisation.
    pub organisation: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// When it was revoked.
    pub revoked_at: Option<String>,
}

/// The live token with this SHA-256.
///
/// # Errors
/// When the database does not answer.
pub async fn find(pool: &PgPool, sha256: &[u8]) -> sqlx::Result<Option<Token>> {
    let row: Option<(Uuid, String, Option<String>)> = sqlx::query_as(
        "SELECT id, role, organisation FROM tokens WHERE sha256 = $1 AND revoked_at IS NULL",
    )
    .bind(sha256)
    .fetch_optional(pool)
    .await?;
    Ok(row.map(|(id, _, organisation)| Token {
        id,
        role: organisation.map_or(Role::Backend, |organisation| Role::Operator {
            organisation,
        }),
    }))
}

/// Stores a new token's SHA-256 and answers its id. An operator's organisation
/// is made when it is new.
///
/// # Errors
/// When the database does not answer.
pub async fn create(db: &mut PgConnection, role: &Role, sha256: &[u8]) -> sqlx::Result<Uuid> {
    let id = Uuid::now_v7();
    let (word, organisation) = match role {
        Role::Backend => ("backend", None),
        Role::Operator { organisation } => {
            sqlx::query("INSERT INTO organisations (id) VALUES ($1) ON CONFLICT (id) DO NOTHING")
                .bind(organisation)
                .execute(&mut *db)
                .await?;
            ("operator", Some(organisation))
        }
    };
    sqlx::query("INSERT INTO tokens (id, sha256, role, organisation) VALUES ($1, $2, $3, $4)")
        .bind(id)
        .bind(sha256)
        .bind(word)
        .bind(organisation)
        .execute(db)
        .await?;
    Ok(id)
}

/// Every token, oldest first.
///
/// # Errors
/// When the database does not answer.
pub async fn list(db: &mut PgConnection) -> sqlx::Result<Vec<Listed>> {
    type Row = (Uuid, String, Option<String>, i64, Option<i64>);
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, role, organisation, floor(extract(epoch FROM created_at) * 1000)::bigint,
                floor(extract(epoch FROM revoked_at) * 1000)::bigint
         FROM tokens ORDER BY created_at, id",
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|(id, role, organisation, created, revoked)| Listed {
            id,
            role,
            organisation,
            created_at: rfc3339(created),
            revoked_at: revoked.map(rfc3339),
        })
        .collect())
}

/// Revokes a token; false when no token has that id. Revoking twice keeps the first time.
///
/// # Errors
/// When the database does not answer.
pub async fn revoke(db: &mut PgConnection, id: Uuid) -> sqlx::Result<bool> {
    let done =
        sqlx::query("UPDATE tokens SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1")
            .bind(id)
            .execute(db)
            .await?;
    Ok(done.rows_affected() == 1)
}
