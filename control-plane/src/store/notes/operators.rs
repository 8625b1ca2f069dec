//! Notes as operators write and read them, whoever may reach them.

use serde::Serialize;
use sqlx::PgConnection;
use sqlx::types::Json;

use super::{Place, history};
use crate::store::access::list::{self, Row, access_list_sql};
use crate::store::page::Page;
use crate::store::time::rfc3339;
use crate::store::words;

/// A live note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Its display path.
    pub path: String,
    /// Markdown.
    pub content: String,
    /// Who reaches it, beside the agent whose own it is.
    pub access: Vec<Row>,
    /// Whether it is one of the operators' document.
    #[serde(skip)]
    pub by_operator: bool,
}

/// The display path of the artifact `a` as SQL.
macro_rules! path_sql {
    () => {
        "(CASE a.level WHEN 'org' THEN 'org/' || a.key
               ELSE a.level || '/' || a.owner || '/' || a.key END) COLLATE \"C\""
    };
}

macro_rules! live_sql {
    ($which:expr) => {
        concat!(
            "SELECT ",
            path_sql!(),
            " AS path, a.body, ",
            access_list_sql!(),
            " AS access, a.by_operator FROM artifacts a
             WHERE a.organisation = $1 AND a.kind IN ('note', 'memory') AND a.deleted_at IS NULL AND ",
            $which,
            " ORDER BY 1"
        )
    };
}

#[derive(sqlx::FromRow)]
struct Stored {
    path: String,
    body: String,
    access: Json<Vec<(String, String, String)>>,
    by_operator: bool,
}

/// Live notes of an organisation by path: those named, or all of the operators' document.
///
/// # Errors
/// When the database does not answer.
pub async fn load(
    db: &mut PgConnection,
    organisation: &str,
    paths: Option<&[String]>,
) -> sqlx::Result<Vec<Note>> {
    // Two statements, so that each has an index to walk.
    let rows: Vec<Stored> = match paths {
        Some(paths) => {
            sqlx::query_as(live_sql!(concat!(path_sql!(), " = ANY($2)")))
                .bind(organisation)
                .bind(paths)
                .fetch_all(db)
                .await?
        }
        None => {
            sqlx::query_as(live_sql!("a.by_operator"))
                .bind(organisation)
                .fetch_all(db)
                .await?
        }
    };
    let note = |row: Stored| Note {
        path: row.path,
        content: row.body,
        access: list::rows(row.access.0),
        by_operator: row.by_operator,
    };
    Ok(rows.into_iter().map(note).collect())
}

/// Writes a note's content, and keeps what was there. A tombstone becomes a live note
/// again. Answers the row's id.
///
/// # Errors
/// When the database does not answer.
pub async fn write(
    db: &mut PgConnection,
    organisation: &str,
    place: &Place,
    content: &str,
    actor: &str,
) -> sqlx::Result<i64> {
    let made: Option<i64> = sqlx::query_scalar(
        "INSERT INTO artifacts (organisation, kind, level, owner, key, body, words, by_operator)
         SELECT $1, 'note', $2, $3, $4, $5, $6, true
          WHERE NOT EXISTS (SELECT FROM artifacts WHERE organisation = $1 AND level = $2 AND owner = $3
                               AND key = $4 AND kind = 'memory')
         ON CONFLICT ON CONSTRAINT artifacts_place_key DO NOTHING RETURNING id",
    )
    .bind(organisation)
    .bind(place.level.as_str())
    .bind(&place.owner)
    .bind(&place.key)
    .bind(content)
    .bind(words::of_note(&place.key, content))
    .fetch_optional(&mut *db)
    .await?;
    if let Some(id) = made {
        return Ok(id);
    }
    let note = history::hold(db, organisation, place)
        .await?
        .ok_or(sqlx::Error::RowNotFound)?;
    history::bring_back(db, &note, &place.key, content, actor).await?;
    Ok(note.id)
}

/// Replaces the access list of a note.
///
/// # Errors
/// When the database does not answer, or there is no such note.
pub async fn share(
    db: &mut PgConnection,
    organisation: &str,
    place: &Place,
    access: &[Row],
) -> sqlx::Result<()> {
    let note = history::hold(db, organisation, place)
        .await?
        .ok_or(sqlx::Error::RowNotFound)?;
    list::replace(db, note.id, access).await
}

/// Makes notes part of the operators' document.
///
/// # Errors
/// When the database does not answer.
pub async fn adopt(db: &mut PgConnection, organisation: &str, paths: &[&str]) -> sqlx::Result<()> {
    sqlx::query(concat!(
        "UPDATE artifacts a SET by_operator = true
         WHERE a.organisation = $1 AND a.kind IN ('note', 'memory') AND NOT a.by_operator AND ",
        path_sql!(),
        " = ANY($2)"
    ))
    .bind(organisation)
    .bind(paths)
    .execute(db)
    .await?;
    Ok(())
}

/// Leaves a tombstone that is no part of the document any more; its past stays.
///
/// # Errors
/// When the database does not answer.
pub async fn delete(
    db: &mut PgConnection,
    organisation: &str,
    place: &Place,
    actor: &str,
) -> sqlx::Result<()> {
    let Some(note) = history::hold(db, organisation, place).await? else {
        return Ok(());
    };
    history::keep(db, note.id, actor).await?;
    sqlx::query(
        "UPDATE artifacts SET deleted_at = clock_timestamp(), by_operator = false WHERE id = $1",
    )
    .bind(note.id)
    .execute(db)
    .await?;
    Ok(())
}

/// A note as operators read it.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Its display path.
    pub path: String,
    level: String,
    bytes: i32,
    access: Vec<Row>,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<String>,
    /// Only where one note is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

#[derive(sqlx::FromRow)]
struct ListedRow {
    path: String,
    level: String,
    bytes: i32,
    access: Json<Vec<(String, String, String)>>,
    updated_ms: i64,
    deleted_ms: Option<i64>,
    content: Option<String>,
}

/// A page of an organisation's notes, those of agents, memories and tombstones among them.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    organisation: &str,
    page: &Page<'_>,
) -> sqlx::Result<Vec<Listed>> {
    let rows: Vec<ListedRow> = sqlx::query_as(concat!(
        "SELECT ",
        path_sql!(),
        " AS path, a.level, octet_length(a.body) AS bytes, ",
        access_list_sql!(),
        " AS access,
          floor(extract(epoch FROM a.updated_at) * 1000)::bigint AS updated_ms,
          floor(extract(epoch FROM a.deleted_at) * 1000)::bigint AS deleted_ms,
          CASE WHEN $3::text IS NOT NULL THEN a.body END AS content
         FROM artifacts a
         WHERE a.organisation = $1 AND a.kind IN ('note', 'memory')
           AND ($2::text IS NULL OR ",
        path_sql!(),
        " > $2) AND ($3::text IS NULL OR ",
        path_sql!(),
        " = $3) ORDER BY 1 LIMIT $4"
    ))
    .bind(organisation)
    .bind(page.after)
    .bind(page.only)
    .bind(page.limit)
    .fetch_all(db)
    .await?;
    let listed = |row: ListedRow| Listed {
        path: row.path,
        level: row.level,
        bytes: row.bytes,
        access: list::rows(row.access.0),
        updated_at: rfc3339(row.updated_ms),
        deleted_at: row.deleted_ms.map(rfc3339),
        content: row.content,
    };
    Ok(rows.into_iter().map(listed).collect())
}
