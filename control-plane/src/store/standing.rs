//! Where runs stand: open or ended, and which tools they offer; and who is told when that changes.

pub mod followers;

use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

/// Channel on which a commit names the run that changed.
const CHANNEL: &str = "guilds_runs";

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Whether calls are taken.
    pub is_open: bool,
    /// Digest of what its turn offers: another one is another offer.
    pub offer: String,
}

/// How each of these runs stands; one that is not there is left out.
///
/// # Errors
/// When the database does not answer.
pub async fn of(pool: &PgPool, runs: &[Uuid]) -> sqlx::Result<Vec<(Uuid, Standing)>> {
    let rows: Vec<(Uuid, bool, String)> = sqlx::query_as(
        "SELECT r.id, r.state = 'open', encode(sha256(convert_to(t.tools::text, 'UTF8')), 'hex')
         FROM runs r JOIN run_turns t ON t.run = r.id AND t.turn = r.turn
         WHERE r.id = ANY($1) ORDER BY r.id",
    )
    .bind(runs)
    .fetch_all(pool)
    .await?;
    let standing = |(run, is_open, offer)| (run, Standing { is_open, offer });
    Ok(rows.into_iter().map(standing).collect())
}

/// Tells every replica that a run stands differently once this transaction has committed.
/// Only for what is rare: a commit that tells waits for others that do.
///
/// # Errors
/// When the database does not answer.
pub async fn tell(db: &mut PgConnection, run: Uuid) -> sqlx::Result<()> {
    sqlx::query("SELECT pg_notify($1, $2)")
        .bind(CHANNEL)
        .bind(run.to_string())
        .execute(db)
        .await?;
    Ok(())
}
