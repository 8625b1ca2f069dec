//! Messages: the stored calls of a run, in the order of their sequence.

use futures_util::TryStreamExt as _;
use sqlx::PgConnection;
use uuid::Uuid;

use super::time::rfc3339;

/// Most bytes of content in one page; one message always fits.
const PAGE_BYTES: usize = 16 * 1024 * 1024;

/// A message as a reader sees it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its id.
    pub id: Uuid,
    /// The chat backend's id of the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// JSON text of the redacted arguments.
    pub arguments: String,
    /// The stamped string.
    pub content: String,
    /// JSON text.
    pub metadata: String,
    /// When it was stored.
    pub at: String,
}

/// The sequence of a message of this run.
///
/// # Errors
/// When the database does not answer.
pub async fn sequence(
    db: &mut PgConnection,
    run: Uuid,
    message: Uuid,
) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar("SELECT sequence FROM calls WHERE run = $1 AND message = $2")
        .bind(run)
        .bind(message)
        .fetch_optional(db)
        .await
}

type Row = (Uuid, String, String, String, String, String, i64);

/// Up to `limit` messages after a sequence, and whether there are more.
///
/// # Errors
/// When the database does not answer.
pub async fn page(
    db: &mut PgConnection,
    run: Uuid,
    after: i64,
    limit: usize,
) -> sqlx::Result<(Vec<Listed>, bool)> {
    let mut rows = sqlx::query_as::<_, Row>(
        "SELECT message, call_id, name, arguments::text, content, metadata::text,
                floor(extract(epoch FROM stored_at) * 1000)::bigint
         FROM calls WHERE run = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
    )
    .bind(run)
    .bind(after)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))
    .fetch(db);
    let mut page = Vec::new();
    let mut bytes = 0;
    while let Some((id, call_id, name, arguments, content, metadata, at)) = rows.try_next().await? {
        bytes += arguments.len() + content.len() + metadata.len();
        if page.len() == limit || (bytes > PAGE_BYTES && !page.is_empty()) {
            return Ok((page, true));
        }
        page.push(Listed {
            id,
            call_id,
            name,
            arguments,
            content,
            metadata,
            at: rfc3339(at),
        });
    }
    Ok((page, false))
}
