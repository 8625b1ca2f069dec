//! The audit as operators read it: newest first, and who last changed an object.

use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::store::time::rfc3339;

/// One change.
#[derive(Debug, Serialize)]
pub struct Change {
    /// Its number, larger than that of every earlier change.
    pub id: i64,
    at: String,
    actor: String,
    action: String,
    /// Plural word of the object's kind.
    pub kind: String,
    /// The object's id.
    pub object: String,
    /// What it was.
    pub before: Option<Box<RawValue>>,
    /// What it became.
    pub after: Option<Box<RawValue>>,
}

/// Which changes are wanted.
#[derive(Debug, Default)]
pub struct Filter {
    /// Plural word of the object's kind.
    pub kind: Option<&'static str>,
    /// The object's id.
    pub object: Option<String>,
    /// Who.
    pub actor: Option<String>,
    /// Not before this, in milliseconds of the Unix clock.
    pub since_ms: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    at_ms: i64,
    actor: String,
    action: String,
    kind: String,
    object: String,
    before: Option<Json<Box<RawValue>>>,
    after: Option<Json<Box<RawValue>>>,
}

impl From<Row> for Change {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            at: rfc3339(row.at_ms),
            actor: row.actor,
            action: row.action,
            kind: row.kind,
            object: row.object,
            before: row.before.map(|Json(raw)| raw),
            after: row.after.map(|Json(raw)| raw),
        }
    }
}

/// Up to `limit` changes, newest first, older than the change `after`.
///
/// # Errors
/// When the database does not answer.
pub async fn page(
    db: &mut PgConnection,
    organisation: &str,
    filter: &Filter,
    after: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<Change>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, floor(extract(epoch FROM at) * 1000)::bigint AS at_ms, actor, action, kind,
                object, before, after
         FROM audit
         WHERE organisation = $1 AND ($2::text IS NULL OR kind = $2)
           AND ($3::text IS NULL OR object = $3) AND ($4::text IS NULL OR actor = $4)
           AND ($5::bigint IS NULL OR at >= to_timestamp($5 / 1000.0))
           AND ($6::bigint IS NULL OR id < $6)
         ORDER BY id DESC LIMIT $7",
    )
    .bind(organisation)
    .bind(filter.kind)
    .bind(&filter.object)
    .bind(&filter.actor)
    .bind(filter.since_ms)
    .bind(after)
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Change::from).collect())
}

/// Who changed an object last.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct LastChange {
    /// The object's id.
    pub object: String,
    /// Who.
    pub actor: String,
    /// When, in milliseconds of the Unix clock.
    pub at_ms: i64,
}

/// The last change of each of these objects that was ever changed.
///
/// # Errors
/// When the database does not answer.
pub async fn last_changes(
    db: &mut PgConnection,
    organisation: &str,
    kind: &str,
    objects: &[String],
) -> sqlx::Result<Vec<LastChange>> {
    sqlx::query_as(
        "SELECT o.object, c.actor, c.at_ms
         FROM unnest($3::text[]) AS o (object)
         CROSS JOIN LATERAL (
           SELECT actor, floor(extract(epoch FROM at) * 1000)::bigint AS at_ms FROM audit
           WHERE organisation = $1 AND kind = $2 AND object = o.object ORDER BY id DESC LIMIT 1) c
         ORDER BY o.object",
    )
    .bind(organisation)
    .bind(kind)
    .bind(objects)
    .fetch_all(db)
    .await
}
