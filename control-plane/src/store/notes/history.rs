//! The past of notes: what each was before a write, a deletion or a restore, and the way back.

use serde::Serialize;
use sqlx::PgConnection;

use super::{Level, Place};
use crate::store::time::rfc3339;
use crate::store::{agents, memory, words};

/// Most revisions kept of a note.
pub const KEPT_REVISIONS: i64 = 50;

/// Keeps what a note is now, before `actor` changes it; the newest
/// [`KEPT_REVISIONS`] stay. An empty note that nobody wrote yet is no revision.
///
/// # Errors
/// When the database does not answer.
pub async fn keep(db: &mut PgConnection, artifact: i64, actor: &str) -> sqlx::Result<()> {
    let kept = sqlx::query(
        "INSERT INTO note_revisions (artifact, body, deleted, actor)
         SELECT id, body, deleted_at IS NOT NULL, $2 FROM artifacts
         WHERE id = $1 AND (body <> '' OR updated_at > created_at OR deleted_at IS NOT NULL)",
    )
    .bind(artifact)
    .bind(actor)
    .execute(&mut *db)
    .await?;
    if kept.rows_affected() > 0 {
        sqlx::query(
            "DELETE FROM note_revisions WHERE artifact = $1 AND id <= (
               SELECT id FROM note_revisions WHERE artifact = $1 ORDER BY id DESC OFFSET $2 LIMIT 1)",
        )
        .bind(artifact)
        .bind(KEPT_REVISIONS)
        .execute(db)
        .await?;
    }
    Ok(())
}

/// The place that a display path names in an organisation; none for what is no path.
#[must_use]
pub fn place(organisation: &str, path: &str) -> Option<Place> {
    let parts: Vec<&str> = path.split('/').collect();
    let (level, owner, key) = match parts.as_slice() {
        ["agent", owner, key] => (Level::Agent, *owner, *key),
        ["guild", owner, key] => (Level::Guild, *owner, *key),
        ["org", key] => (Level::Org, organisation, *key),
        _ => return None,
    };
    agents::is_id(owner).then(|| Place {
        level,
        owner: owner.to_owned(),
        key: key.to_owned(),
    })
}

/// A note as an operator finds it, whoever may read it.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Present {
    /// Row id.
    pub id: i64,
    /// `note` or `memory`.
    pub kind: String,
    /// Markdown.
    pub body: String,
    /// Whether it is a tombstone.
    pub deleted: bool,
}

impl Present {
    /// Whether it is an agent's Memory, whose past is a table of its own.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        self.kind == "memory"
    }
}

/// The note or tombstone at a place of an organisation.
///
/// # Errors
/// When the database does not answer.
pub async fn find(
    db: &mut PgConnection,
    organisation: &str,
    place: &Place,
) -> sqlx::Result<Option<Present>> {
    find_by(
        db,
        organisation,
        place,
        "SELECT id, kind, body, deleted_at IS NOT NULL AS deleted FROM artifacts
         WHERE organisation = $1 AND level = $2 AND owner = $3 AND key = $4
           AND kind IN ('note', 'memory')",
    )
    .await
}

/// As [`find`], and holds it against other writers until the transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn hold(
    db: &mut PgConnection,
    organisation: &str,
    place: &Place,
) -> sqlx::Result<Option<Present>> {
    find_by(
        db,
        organisation,
        place,
        "SELECT id, kind, body, deleted_at IS NOT NULL AS deleted FROM artifacts
         WHERE organisation = $1 AND level = $2 AND owner = $3 AND key = $4
           AND kind IN ('note', 'memory') FOR UPDATE",
    )
    .await
}

async fn find_by(
    db: &mut PgConnection,
    organisation: &str,
    place: &Place,
    sql: &'static str,
) -> sqlx::Result<Option<Present>> {
    sqlx::query_as(sql)
        .bind(organisation)
        .bind(place.level.as_str())
        .bind(&place.owner)
        .bind(&place.key)
        .fetch_optional(db)
        .await
}

/// What a note was, until somebody changed it.
#[derive(Debug, Serialize)]
pub struct Revision {
    /// Its number, larger than that of every earlier one.
    pub id: i64,
    /// When it was no more.
    at: String,
    /// Who ended it; null for a Memory, which its agent writes.
    actor: Option<String>,
    deleted: bool,
    bytes: i32,
    /// Markdown; only where one revision is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    at_ms: i64,
    actor: Option<String>,
    deleted: bool,
    bytes: i32,
    content: Option<String>,
}

impl From<Row> for Revision {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            at: rfc3339(row.at_ms),
            actor: row.actor,
            deleted: row.deleted,
            bytes: row.bytes,
            content: row.content,
        }
    }
}

/// Both tables as one, which `$1` chooses from: an artifact is in one of them only.
macro_rules! past_sql {
    () => {
        "(SELECT id, artifact, at, actor, deleted, body FROM note_revisions WHERE artifact = $1
          UNION ALL
          SELECT id, artifact, at, NULL, false, body FROM memory_revisions WHERE artifact = $1) p"
    };
}

/// Up to `limit` revisions without their content, newest first, older than `after`.
///
/// # Errors
/// When the database does not answer.
pub async fn page(
    db: &mut PgConnection,
    artifact: i64,
    after: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<Revision>> {
    let rows: Vec<Row> = sqlx::query_as(concat!(
        "SELECT id, floor(extract(epoch FROM at) * 1000)::bigint AS at_ms, actor, deleted,
                octet_length(body) AS bytes, NULL::text AS content
         FROM ",
        past_sql!(),
        " WHERE $2::bigint IS NULL OR id < $2 ORDER BY id DESC LIMIT $3"
    ))
    .bind(artifact)
    .bind(after)
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Revision::from).collect())
}

/// One revision with its content; without a number the newest.
///
/// # Errors
/// When the database does not answer.
pub async fn revision(
    db: &mut PgConnection,
    artifact: i64,
    id: Option<i64>,
) -> sqlx::Result<Option<Revision>> {
    let row: Option<Row> = sqlx::query_as(concat!(
        "SELECT id, floor(extract(epoch FROM at) * 1000)::bigint AS at_ms, actor, deleted,
                octet_length(body) AS bytes, body AS content
         FROM ",
        past_sql!(),
        " WHERE $2::bigint IS NULL OR id = $2 ORDER BY id DESC LIMIT 1"
    ))
    .bind(artifact)
    .bind(id)
    .fetch_optional(db)
    .await?;
    Ok(row.map(Revision::from))
}

/// Makes a held note live with this content, and keeps what it was.
///
/// # Errors
/// When the database does not answer.
pub async fn bring_back(
    db: &mut PgConnection,
    note: &Present,
    key: &str,
    body: &str,
    actor: &str,
) -> sqlx::Result<()> {
    if note.is_memory() {
        memory::keep(db, note.id).await?;
    } else {
        keep(db, note.id, actor).await?;
    }
    sqlx::query(
        "UPDATE artifacts SET body = $2, words = $3, updated_at = clock_timestamp(), deleted_at = NULL
         WHERE id = $1",
    )
    .bind(note.id)
    .bind(body)
    .bind(words::of_note(key, body))
    .execute(db)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_path_names_a_place() {
        let shown = |path: &str| place("acme", path).map(|place| (place.owner, place.key));
        let named = |owner: &str, key: &str| Some((owner.to_owned(), key.to_owned()));
        assert_eq!(shown("agent/ada/a.md"), named("ada", "a.md"));
        assert_eq!(shown("guild/core/a b.md"), named("core", "a b.md"));
        assert_eq!(shown("org/a.md"), named("acme", "a.md"));
        for none in ["", "a.md", "org/a/b.md", "agent/Ada/a.md", "record/x/1"] {
            assert_eq!(shown(none), None, "{none}");
        }
    }
}
