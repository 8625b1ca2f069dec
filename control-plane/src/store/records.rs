//! Records of collections as operators read them, with their past and the way back.

pub mod body;
pub mod conditions;
pub mod decimal;
mod index;
pub mod instant;
pub mod reach;
pub mod reading;
pub mod spelling;
mod stretch;
mod token;
pub mod writing;

use futures_util::TryStreamExt as _;
use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use sqlx::types::Json;

use super::time::rfc3339;

/// Most revisions kept of a record.
pub const KEPT_REVISIONS: i64 = 50;
/// Most bytes of bodies in one page; one record always fits.
const PAGE_BYTES: usize = 16 * 1024 * 1024;

/// A collection as its records need it.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Collection {
    /// Row id of its definition.
    pub id: i64,
    /// Its name.
    pub name: String,
}

/// The collection of that name.
///
/// # Errors
/// When the database does not answer.
pub async fn collection(
    db: &mut PgConnection,
    organisation: &str,
    name: &str,
) -> sqlx::Result<Option<Collection>> {
    sqlx::query_as(
        "SELECT id, key AS name FROM artifacts
         WHERE organisation = $1 AND kind = 'collection' AND key = $2 AND deleted_at IS NULL",
    )
    .bind(organisation)
    .bind(name)
    .fetch_optional(db)
    .await
}

/// A record.
#[derive(Debug, Serialize)]
pub struct Record {
    collection: String,
    /// Its id.
    pub id: i64,
    created_at: String,
    updated_at: String,
    /// When it was removed; absent while it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<String>,
    /// Its columns, each value as it was given.
    pub body: Box<RawValue>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    created_ms: i64,
    updated_ms: i64,
    deleted_ms: Option<i64>,
    body: Json<Box<RawValue>>,
}

impl Row {
    fn shown(self, collection: &Collection) -> Record {
        Record {
            collection: collection.name.clone(),
            id: self.id,
            created_at: rfc3339(self.created_ms),
            updated_at: rfc3339(self.updated_ms),
            deleted_at: self.deleted_ms.map(rfc3339),
            body: self.body.0,
        }
    }
}

macro_rules! record_sql {
    ($tail:literal) => {
        concat!(
            "SELECT id, floor(extract(epoch FROM created_at) * 1000)::bigint AS created_ms,
                    floor(extract(epoch FROM updated_at) * 1000)::bigint AS updated_ms,
                    floor(extract(epoch FROM deleted_at) * 1000)::bigint AS deleted_ms, body
             FROM records WHERE collection = $1 ",
            $tail
        )
    };
}

/// Up to `limit` records, live ones or removed ones, by id after `after`; and whether there are more.
///
/// # Errors
/// When the database does not answer.
pub async fn page(
    db: &mut PgConnection,
    collection: &Collection,
    deleted: bool,
    after: Option<i64>,
    limit: usize,
) -> sqlx::Result<(Vec<Record>, bool)> {
    let sql = if deleted {
        record_sql!(
            "AND deleted_at IS NOT NULL AND ($2::bigint IS NULL OR id > $2) ORDER BY id LIMIT $3"
        )
    } else {
        record_sql!(
            "AND deleted_at IS NULL AND ($2::bigint IS NULL OR id > $2) ORDER BY id LIMIT $3"
        )
    };
    let mut rows = sqlx::query_as::<_, Row>(sql)
        .bind(collection.id)
        .bind(after)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))
        .fetch(db);
    let mut page = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.try_next().await? {
        bytes += row.body.0.get().len();
        if page.len() == limit || (bytes > PAGE_BYTES && !page.is_empty()) {
            return Ok((page, true));
        }
        page.push(row.shown(collection));
    }
    Ok((page, false))
}

/// One record, live or removed.
///
/// # Errors
/// When the database does not answer.
pub async fn find(
    db: &mut PgConnection,
    collection: &Collection,
    id: i64,
) -> sqlx::Result<Option<Record>> {
    let row: Option<Row> = sqlx::query_as(record_sql!("AND id = $2"))
        .bind(collection.id)
        .bind(id)
        .fetch_optional(db)
        .await?;
    Ok(row.map(|row| row.shown(collection)))
}

/// What a record was, until somebody changed it.
#[derive(Debug, Serialize)]
pub struct Revision {
    /// Its number, larger than that of every earlier one.
    pub id: i64,
    at: String,
    actor: String,
    deleted: bool,
    /// Its columns then.
    pub body: Box<RawValue>,
}

#[derive(sqlx::FromRow)]
struct RevisionRow {
    id: i64,
    at_ms: i64,
    actor: String,
    deleted: bool,
    body: Json<Box<RawValue>>,
}

impl From<RevisionRow> for Revision {
    fn from(row: RevisionRow) -> Self {
        Self {
            id: row.id,
            at: rfc3339(row.at_ms),
            actor: row.actor,
            deleted: row.deleted,
            body: row.body.0,
        }
    }
}

/// Up to `limit` revisions of a record, newest first, older than `after`.
///
/// # Errors
/// When the database does not answer.
pub async fn history(
    db: &mut PgConnection,
    record: i64,
    after: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<Revision>> {
    let rows: Vec<RevisionRow> = sqlx::query_as(
        "SELECT id, floor(extract(epoch FROM at) * 1000)::bigint AS at_ms, actor, deleted, body
         FROM record_revisions WHERE record = $1 AND ($2::bigint IS NULL OR id < $2)
         ORDER BY id DESC LIMIT $3",
    )
    .bind(record)
    .bind(after)
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Revision::from).collect())
}

/// One revision of a record; without a number the newest.
///
/// # Errors
/// When the database does not answer.
pub async fn revision(
    db: &mut PgConnection,
    record: i64,
    id: Option<i64>,
) -> sqlx::Result<Option<Revision>> {
    let row: Option<RevisionRow> = sqlx::query_as(
        "SELECT id, floor(extract(epoch FROM at) * 1000)::bigint AS at_ms, actor, deleted, body
         FROM record_revisions WHERE record = $1 AND ($2::bigint IS NULL OR id = $2)
         ORDER BY id DESC LIMIT 1",
    )
    .bind(record)
    .bind(id)
    .fetch_optional(db)
    .await?;
    Ok(row.map(Revision::from))
}

/// Keeps what a record is now, before `actor` changes it; the newest
/// [`KEPT_REVISIONS`] stay.
///
/// # Errors
/// When the database does not answer.
pub async fn keep(db: &mut PgConnection, record: i64, actor: &str) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO record_revisions (record, body, deleted, actor)
         SELECT id, body, deleted_at IS NOT NULL, $2 FROM records WHERE id = $1",
    )
    .bind(record)
    .bind(actor)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "DELETE FROM record_revisions WHERE record = $1 AND id <= (
           SELECT id FROM record_revisions WHERE record = $1 ORDER BY id DESC OFFSET $2 LIMIT 1)",
    )
    .bind(record)
    .bind(KEPT_REVISIONS)
    .execute(db)
    .await?;
    Ok(())
}
