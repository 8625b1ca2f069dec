//! What the tokens of runs are made and checked with; the tokens themselves are stored nowhere.

use sqlx::PgConnection;
use uuid::Uuid;

/// A run's part of its token.
#[derive(Debug, Clone, Copy)]
pub struct Salted {
    /// Random for each run, so that its id and the key alone make no token.
    pub salt: Uuid,
    /// Whether the run is open, and its token with it.
    pub is_open: bool,
}

/// A run's part of its token; `None` when there is no such run.
///
/// # Errors
/// When the database does not answer.
pub async fn salted(db: &mut PgConnection, run: Uuid) -> sqlx::Result<Option<Salted>> {
    let row: Option<(Uuid, bool)> =
        sqlx::query_as("SELECT token_salt, state = 'open' FROM runs WHERE id = $1")
            .bind(run)
            .fetch_optional(db)
            .await?;
    Ok(row.map(|(salt, is_open)| Salted { salt, is_open }))
}
