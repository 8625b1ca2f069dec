//! Organisations: the holders of everything else.

use sqlx::PgConnection;

/// Holds an organisation against other operators until the transaction ends; runs
/// go on meanwhile.
///
/// # Errors
/// When the database does not answer, or there is no such organisation.
pub async fn hold(db: &mut PgConnection, organisation: &str) -> sqlx::Result<()> {
    let _: String =
        sqlx::query_scalar("SELECT id FROM organisations WHERE id = $1 FOR NO KEY UPDATE")
            .bind(organisation)
            .fetch_one(db)
            .await?;
    Ok(())
}
