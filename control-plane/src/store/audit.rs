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
    /// `create`, `update`, `delete` and the words of other changes.
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

/// One change of many.
#[derive(Debug)]
pub struct Owned {
    /// `create`, `update` or `delete`.
    pub action: &'static str,
    /// Plural word of the object's kind.
    pub kind: &'static str,
    /// The object's id.
    pub object: String,
    /// As it was, without any secret.
    pub before: Option<Box<RawValue>>,
    /// As it is now, without any secret.
    pub after: Option<Box<RawValue>>,
}

/// Records changes in the transaction that makes them, in their order.
///
/// # Errors
/// When the database does not answer.
pub async fn record_all(
    db: &mut PgConnection,
    organisation: &str,
    actor: &str,
    entries: &[Owned],
) -> sqlx::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let texts = |part: fn(&Owned) -> Option<&RawValue>| -> Vec<Option<&str>> {
        entries
            .iter()
            .map(|entry| part(entry).map(RawValue::get))
            .collect()
    };
    let words = |part: fn(&Owned) -> &str| -> Vec<&str> { entries.iter().map(part).collect() };
    sqlx::query(
        "INSERT INTO audit (organisation, actor, action, kind, object, before, after)
         SELECT $1, $2, e.action, e.kind, e.object, e.before::jsonb, e.after::jsonb
         FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
              WITH ORDINALITY AS e (action, kind, object, before, after, nth)
         ORDER BY e.nth",
    )
    .bind(organisation)
    .bind(actor)
    .bind(words(|entry| entry.action))
    .bind(words(|entry| entry.kind))
    .bind(words(|entry| &entry.object))
    .bind(texts(|entry| entry.before.as_deref()))
    .bind(texts(|entry| entry.after.as_deref()))
    .execute(db)
    .await?;
    Ok(())
}
