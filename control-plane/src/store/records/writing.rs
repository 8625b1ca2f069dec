//! Writing records: the one way in, whoever writes.
//!
//! The definition is held by the caller's transaction, and the body fits it.

use serde_json::value::{RawValue, to_raw_value};
use sqlx::types::Json;
use sqlx::{Connection, PgConnection};

use super::body::Body;
use super::index::{self, Index};
use super::reach::Definition;
use super::{keep, spelling};
use crate::store::collections::{Column, ColumnType};

/// A live record.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Live {
    /// Its id.
    pub id: i64,
    /// When it was made, in milliseconds of the Unix clock.
    pub created_ms: i64,
    /// When it last changed, in milliseconds of the Unix clock.
    pub updated_ms: i64,
    /// Its columns.
    #[sqlx(json)]
    pub body: Body,
}

macro_rules! live_sql {
    () => {
        "id, floor(extract(epoch FROM created_at) * 1000)::bigint AS created_ms,
         floor(extract(epoch FROM updated_at) * 1000)::bigint AS updated_ms, body"
    };
}

/// What became of a write.
#[derive(Debug)]
pub enum Written {
    /// It is stored.
    Stored(Box<Live>),
    /// Another live record has this unique value.
    Taken(i64),
    /// The value was taken and is free again, or the other way round: try again.
    Again,
}

/// A record's columns as they go into its row.
struct Row {
    body: Box<RawValue>,
    folded: Box<RawValue>,
    index: Index,
    unique: Option<String>,
}

fn row(definition: &Definition, body: &Body) -> sqlx::Result<Row> {
    let index = index::of(definition.id, &definition.columns, body);
    let raw = |body: &Body| to_raw_value(body).map_err(|error| sqlx::Error::Encode(error.into()));
    Ok(Row {
        body: raw(body)?,
        folded: raw(&index.folded)?,
        unique: index::unique(&definition.columns, definition.unique.as_deref(), body),
        index,
    })
}

/// Holds the live record of that unique value until the transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn hold_unique(
    db: &mut PgConnection,
    definition: &Definition,
    body: &Body,
) -> sqlx::Result<Option<Live>> {
    let unique = index::unique(&definition.columns, definition.unique.as_deref(), body);
    let Some(unique) = unique else {
        return Ok(None);
    };
    sqlx::query_as(concat!(
        "SELECT ",
        live_sql!(),
        " FROM records WHERE collection = $1 AND unique_key = sha256(convert_to($2, 'UTF8'))
            AND deleted_at IS NULL FOR UPDATE"
    ))
    .bind(definition.id)
    .bind(unique)
    .fetch_optional(db)
    .await
}

/// The live record, another than `record`, that has the unique value of this body.
///
/// # Errors
/// When the database does not answer.
pub async fn holder(
    db: &mut PgConnection,
    definition: &Definition,
    record: i64,
    body: &Body,
) -> sqlx::Result<Option<i64>> {
    let unique = index::unique(&definition.columns, definition.unique.as_deref(), body);
    let Some(unique) = unique else {
        return Ok(None);
    };
    sqlx::query_scalar(
        "SELECT id FROM records WHERE collection = $1 AND id <> $2 AND deleted_at IS NULL
           AND unique_key = sha256(convert_to($3, 'UTF8'))",
    )
    .bind(definition.id)
    .bind(record)
    .bind(unique)
    .fetch_optional(db)
    .await
}

/// Holds a live record until the transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn hold_live(
    db: &mut PgConnection,
    definition: &Definition,
    id: i64,
) -> sqlx::Result<Option<Live>> {
    sqlx::query_as(concat!(
        "SELECT ",
        live_sql!(),
        " FROM records WHERE collection = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE"
    ))
    .bind(definition.id)
    .bind(id)
    .fetch_optional(db)
    .await
}

/// Makes a record.
///
/// # Errors
/// When the database does not answer.
pub async fn insert(
    db: &mut PgConnection,
    definition: &Definition,
    body: &Body,
) -> sqlx::Result<Written> {
    let row = row(definition, body)?;
    learn(db, definition.id, &row.index.dictionary).await?;
    let made: Option<Live> = sqlx::query_as(concat!(
        "INSERT INTO records (collection, body, folded, words, tokens, unique_key, created_at, updated_at)
         SELECT $1, $2, $3, $4, $5, sha256(convert_to($6, 'UTF8')), now, now
         FROM clock_timestamp() AS now
         ON CONFLICT (collection, unique_key) WHERE deleted_at IS NULL DO NOTHING
         RETURNING ",
        live_sql!()
    ))
    .bind(definition.id)
    .bind(Json(&row.body))
    .bind(Json(&row.folded))
    .bind(&row.index.words)
    .bind(&row.index.tokens)
    .bind(&row.unique)
    .fetch_optional(db)
    .await?;
    Ok(made.map_or(Written::Again, |live| Written::Stored(Box::new(live))))
}

/// Gives a record that the transaction holds another body, and keeps what it was. A removed
/// one lives again.
///
/// # Errors
/// When the database does not answer.
pub async fn replace(
    db: &mut PgConnection,
    definition: &Definition,
    id: i64,
    body: &Body,
    actor: &str,
) -> sqlx::Result<Written> {
    let row = row(definition, body)?;
    learn(db, definition.id, &row.index.dictionary).await?;
    keep(db, id, actor).await?;
    // Behind a savepoint: a value that is taken must not end the transaction.
    let mut tx = db.begin().await?;
    let stored: sqlx::Result<Live> = sqlx::query_as(concat!(
        "UPDATE records SET body = $2, folded = $3, words = $4, tokens = $5,
                unique_key = sha256(convert_to($6, 'UTF8')), updated_at = clock_timestamp(),
                deleted_at = NULL
         WHERE id = $1 RETURNING ",
        live_sql!()
    ))
    .bind(id)
    .bind(Json(&row.body))
    .bind(Json(&row.folded))
    .bind(&row.index.words)
    .bind(&row.index.tokens)
    .bind(&row.unique)
    .fetch_one(&mut *tx)
    .await;
    match stored {
        Ok(live) => {
            tx.commit().await?;
            Ok(Written::Stored(Box::new(live)))
        }
        Err(error) if is_taken(&error) => {
            tx.rollback().await?;
            let holder = hold_unique(db, definition, body).await?;
            Ok(holder.map_or(Written::Again, |live| Written::Taken(live.id)))
        }
        Err(error) => Err(error),
    }
}

fn is_taken(error: &sqlx::Error) -> bool {
    let constraint = error
        .as_database_error()
        .and_then(|error| error.constraint());
    constraint == Some("records_unique_key")
}

/// Removes a live record, and keeps what it was; false when there is none.
///
/// # Errors
/// When the database does not answer.
pub async fn remove(
    db: &mut PgConnection,
    definition: &Definition,
    id: i64,
    actor: &str,
) -> sqlx::Result<bool> {
    if hold_live(db, definition, id).await?.is_none() {
        return Ok(false);
    }
    keep(db, id, actor).await?;
    sqlx::query("UPDATE records SET deleted_at = clock_timestamp() WHERE id = $1")
        .bind(id)
        .execute(db)
        .await?;
    Ok(true)
}

/// Adds the words that the collection's dictionary lacks.
async fn learn(db: &mut PgConnection, collection: i64, words: &[String]) -> sqlx::Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    // In one order for all writers, so that none waits for one that waits for it.
    let unknown: Vec<String> = sqlx::query_scalar(
        "SELECT w.word FROM unnest($2::text[]) AS w (word)
         WHERE NOT EXISTS (SELECT FROM record_words k WHERE k.collection = $1 AND k.word = w.word)
         ORDER BY w.word COLLATE \"C\"",
    )
    .bind(collection)
    .bind(words)
    .fetch_all(&mut *db)
    .await?;
    if unknown.is_empty() {
        return Ok(());
    }
    let (mut tokens, mut ends) = (Vec::new(), Vec::new());
    for word in &unknown {
        tokens.extend(spelling::kept_under(collection, word));
        ends.push(i32::try_from(tokens.len()).unwrap_or(i32::MAX));
    }
    sqlx::query(
        "INSERT INTO record_words (collection, word, deletions)
         SELECT $1, word, ($4::int[])[1 + lag(ends, 1, 0) OVER (ORDER BY nth) : ends]
         FROM unnest($2::text[], $3::int[]) WITH ORDINALITY AS w (word, ends, nth)
         ORDER BY nth
         ON CONFLICT ON CONSTRAINT record_words_pkey DO NOTHING",
    )
    .bind(collection)
    .bind(&unknown)
    .bind(ends)
    .bind(tokens)
    .execute(db)
    .await?;
    Ok(())
}

/// Makes another column the unique one of the live records, which the transaction holds; or
/// none. Their values differ.
///
/// # Errors
/// When the database does not answer.
pub async fn change_unique(
    db: &mut PgConnection,
    collection: i64,
    column: Option<&Column>,
) -> sqlx::Result<()> {
    // As `index::unique` writes a value.
    let sql = match column.map(|column| column.kind) {
        Some(ColumnType::Number) => {
            "UPDATE records SET unique_key =
               sha256(convert_to($2 || '=' || trim_scale((body -> $2)::numeric), 'UTF8'))
             WHERE collection = $1 AND deleted_at IS NULL"
        }
        Some(ColumnType::Text | ColumnType::Datetime) => {
            "UPDATE records SET unique_key = sha256(convert_to($2 || '=' || (body ->> $2), 'UTF8'))
             WHERE collection = $1 AND deleted_at IS NULL"
        }
        Some(ColumnType::Array | ColumnType::Boolean) | None => {
            "UPDATE records SET unique_key = NULL
             WHERE collection = $1 AND deleted_at IS NULL AND $2 IS DISTINCT FROM ''"
        }
    };
    sqlx::query(sql)
        .bind(collection)
        .bind(column.map(|column| &column.name))
        .execute(db)
        .await?;
    Ok(())
}
