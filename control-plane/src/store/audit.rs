//! Audit: who changed what, when, with what was there before and after.

pub mod reading;

use serde_json::value::RawValue;
use sqlx::PgConnection;
use sqlx::types::Json;

/// One change of one object.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Who.
    pub actor: &'a str,
    /// `create` or `update`.
    pub action: &'a str,
    /// Plural word of the object's kind.
    pub kind: &'a str,
    /// The object's id.
    pub object: &'a str,
    /// As it was, without any secret.
    pub before: Option<&'a RawValue>,
    /// As it is now, without any secret.
    pub after: Option<&'a RawValue>,
}

/// Records a change in the transaction that makes it.
///
/// # Errors
/// When the database does not answer.
pub async fn record(
    db: &mut PgConnection,
    organisation: &str,
    entry: &Entry<'_>,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO audit (organisation, actor, action, kind, object, before, after)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(organisation)
    .bind(entry.actor)
    .bind(entry.action)
    .bind(entry.kind)
    .bind(entry.object)
    .bind(entry.before.map(Json))
    .bind(entry.after.map(Json))
    .execute(db)
    .await?;
    Ok(())
}
