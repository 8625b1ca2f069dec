//! Calls that came over MCP, found by the request that made them.

use sqlx::PgConnection;
use uuid::Uuid;

/// Ids of a run's calls without a message that begin with `prefix`, which ends in `_`.
///
/// # Errors
/// When the database does not answer.
pub async fn unfinished(
    db: &mut PgConnection,
    run: Uuid,
    prefix: &str,
) -> sqlx::Result<Vec<String>> {
    // The column is collated "C", so the primary key finds a prefix as a range; '`' follows '_'.
    let beyond = format!("{}`", prefix.trim_end_matches('_'));
    sqlx::query_scalar(
        "SELECT call_id FROM calls
         WHERE run = $1 AND call_id >= $2 AND call_id < $3 AND state <> 'stored' ORDER BY call_id",
    )
    .bind(run)
    .bind(prefix)
    .bind(beyond)
    .fetch_all(db)
    .await
}
