//! Lists and searches of records as agents ask for them.

use sqlx::{FromRow, PgConnection, Row as _};

use super::conditions::{self, Key, Ready, Sql};
use super::instant::Instant;
use super::reach::Definition;
use super::token::{self, Kind};
use super::writing::Live;
use crate::store::words::{Query, Term};

/// Longest time that one statement of a search may take, as PostgreSQL writes it.
const LIMIT: &str = "10s";

/// What a list asks for.
#[derive(Debug)]
pub struct Asked<'a> {
    /// What narrows it.
    pub conditions: &'a [Ready],
    /// Only what was made or changed at or after it.
    pub since: Option<Instant>,
    /// What it is sorted by, and whether the largest comes first; the id comes last.
    pub order: &'a [(Key, bool)],
    /// Most records to answer with.
    pub limit: i64,
    /// Records to pass over.
    pub offset: i64,
}

/// Bounds the statements that follow: no query of an agent holds the database.
///
/// # Errors
/// When the database does not answer.
pub async fn bound(db: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("SELECT set_config('statement_timeout', $1, true)")
        .bind(LIMIT)
        .execute(db)
        .await?;
    Ok(())
}

/// Ends [`bound`] within the transaction.
///
/// # Errors
/// When the database does not answer.
pub async fn unbound(db: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("SET LOCAL statement_timeout TO DEFAULT")
        .execute(db)
        .await?;
    Ok(())
}

/// Whether a statement was ended by [`bound`].
#[must_use]
pub fn took_too_long(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.as_deref() == Some("57014")
}

const LIVE: &str = "r.id, floor(extract(epoch FROM r.created_at) * 1000)::bigint AS created_ms,
    floor(extract(epoch FROM r.updated_at) * 1000)::bigint AS updated_ms, r.body";

/// How many records a collection has.
///
/// # Errors
/// When the database does not answer.
pub async fn count(db: &mut PgConnection, collection: i64) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT coalesce(sum(live), 0)::bigint FROM record_counts WHERE collection = $1",
    )
    .bind(collection)
    .fetch_one(db)
    .await
}

/// When a live record of a collection last changed, in milliseconds of the Unix clock.
///
/// # Errors
/// When the database does not answer.
pub async fn newest_change(db: &mut PgConnection, collection: i64) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "SELECT floor(extract(epoch FROM max(updated_at)) * 1000)::bigint FROM records
         WHERE collection = $1 AND deleted_at IS NULL",
    )
    .bind(collection)
    .fetch_one(db)
    .await
}

/// How many records there are, before limit and offset, and those of the page.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    definition: &Definition,
    asked: &Asked<'_>,
) -> sqlx::Result<(i64, Vec<Live>)> {
    if asked.conditions.is_empty() && asked.since.is_none() {
        let total = count(db, definition.id).await?;
        return Ok((total, whole(db, definition, asked).await?));
    }
    let mut sql = Sql::new("WITH hit AS MATERIALIZED (SELECT r.id");
    sort_keys(&mut sql, asked.order);
    from(&mut sql, definition, asked);
    sql.push(") SELECT t.total, ").push(LIVE);
    sql.push(
        " FROM (SELECT count(*) AS total FROM hit) t
          LEFT JOIN (SELECT h.*, row_number() OVER (ORDER BY ",
    );
    order(&mut sql, asked.order);
    sql.push(") AS place FROM hit h ORDER BY place LIMIT ")
        .push_bind(asked.limit)
        .push(" OFFSET ")
        .push_bind(asked.offset)
        .push(") page ON true LEFT JOIN records r ON r.id = page.id ORDER BY page.place");
    let rows = sql.build().persistent(false).fetch_all(db).await?;
    let mut total = 0;
    let mut records = Vec::new();
    for row in &rows {
        total = row.try_get("total")?;
        if row.try_get::<Option<i64>, _>("id")?.is_some() {
            records.push(Live::from_row(row)?);
        }
    }
    Ok((total, records))
}

/// A page of all records.
async fn whole(
    db: &mut PgConnection,
    definition: &Definition,
    asked: &Asked<'_>,
) -> sqlx::Result<Vec<Live>> {
    let mut sql = Sql::new("SELECT ");
    sql.push(LIVE).push(" FROM (SELECT h.* FROM (SELECT r.id");
    sort_keys(&mut sql, asked.order);
    from(&mut sql, definition, asked);
    sql.push(") h ORDER BY ");
    order(&mut sql, asked.order);
    sql.push(" LIMIT ")
        .push_bind(asked.limit)
        .push(" OFFSET ")
        .push_bind(asked.offset)
        .push(") h JOIN records r ON r.id = h.id ORDER BY ");
    order(&mut sql, asked.order);
    let query = sql.build_query_as();
    query.persistent(false).fetch_all(db).await
}

fn from(sql: &mut Sql, definition: &Definition, asked: &Asked<'_>) {
    sql.push(" FROM records r WHERE r.collection = ")
        .push_bind(definition.id)
        .push(" AND r.deleted_at IS NULL");
    if let Some(since) = asked.since {
        sql.push(" AND r.updated_at >= ")
            .push_bind(since.to_string())
            .push("::text::timestamptz");
    }
    conditions::write(sql, definition.id, asked.conditions);
}

fn sort_keys(sql: &mut Sql, keys: &[(Key, bool)]) {
    for (nth, (key, _)) in keys.iter().enumerate() {
        sql.push(", ");
        conditions::sort_by(sql, key);
        sql.push(format!(" AS key{nth}"));
    }
}

/// Missing values come last in both directions.
fn order(sql: &mut Sql, keys: &[(Key, bool)]) {
    for (nth, (key, descending)) in keys.iter().enumerate() {
        // A column of the record itself is never missing, and an index has its order.
        let direction = match (descending, key) {
            (false, _) => "",
            (true, Key::Own(_)) => " DESC",
            (true, Key::Column(..)) => " DESC NULLS LAST",
        };
        sql.push(format!("h.key{nth}{direction}, "));
    }
    sql.push("h.id");
}

/// One collection of a search.
#[derive(Debug)]
pub struct Within<'a> {
    /// The collection.
    pub definition: &'a Definition,
    /// What narrows it.
    pub conditions: &'a [Ready],
}

/// A record that a search found, and the place of its collection in the list.
#[derive(Debug, sqlx::FromRow)]
pub struct Found {
    /// Its place.
    pub place: i32,
    /// The record.
    #[sqlx(flatten)]
    pub record: Live,
}

/// Records of these collections that a query finds: whole words first, then parts of
/// words, then the newest.
///
/// # Errors
/// When the database does not answer.
pub async fn search(
    db: &mut PgConnection,
    collections: &[Within<'_>],
    query: &Query,
    limit: i64,
) -> sqlx::Result<Vec<Found>> {
    if collections.is_empty() {
        return Ok(Vec::new());
    }
    let mut sql = Sql::new("SELECT h.place, ");
    sql.push(LIVE).push(" FROM (");
    for (place, within) in collections.iter().enumerate() {
        if place > 0 {
            sql.push(" UNION ALL ");
        }
        sql.push("(SELECT ")
            .push_bind(i32::try_from(place).unwrap_or(i32::MAX))
            .push("::integer AS place, r.id, r.updated_at, ");
        whole_words(&mut sql, query);
        sql.push(" AS whole FROM records r WHERE r.collection = ")
            .push_bind(within.definition.id)
            .push(" AND r.deleted_at IS NULL AND (");
        found_by(&mut sql, within.definition, query);
        sql.push(")");
        conditions::write(&mut sql, within.definition.id, within.conditions);
        sql.push(" ORDER BY whole DESC, r.updated_at DESC, r.id DESC LIMIT ")
            .push_bind(limit)
            .push(")");
    }
    sql.push(
        ") h JOIN records r ON r.id = h.id
          ORDER BY h.whole DESC, h.updated_at DESC, h.id DESC LIMIT ",
    )
    .push_bind(limit);
    let query = sql.build_query_as();
    query.persistent(false).fetch_all(db).await
}

fn position(sql: &mut Sql, words: &str, there: bool) {
    sql.push("position(")
        .push_bind(words.to_owned())
        .push(" IN r.words) ")
        .push(if there { "> 0" } else { "= 0" });
}

/// Whether the words of a record meet the query as whole words.
fn whole_words(sql: &mut Sql, query: &Query) {
    sql.push("(");
    for (nth, group) in query.groups.iter().enumerate() {
        sql.push(if nth > 0 { " OR (" } else { "(" });
        for (nth, term) in group.iter().enumerate() {
            if nth > 0 {
                sql.push(" AND ");
            }
            position(sql, &term.words, !term.excluded);
        }
        sql.push(")");
    }
    sql.push(")");
}

/// What finds the records of a query, by the index of tokens wherever a word is long enough.
fn found_by(sql: &mut Sql, definition: &Definition, query: &Query) {
    for (nth, group) in query.groups.iter().enumerate() {
        sql.push(if nth > 0 { " OR (" } else { "(" });
        conditions::all_of(sql, words_of(definition.id, group));
        for term in group {
            sql.push(" AND ");
            position(sql, &term.words, !term.excluded);
        }
        sql.push(")");
    }
    let Some(part) = &query.partial else { return };
    let stretches: Vec<Vec<i32>> = definition
        .columns
        .iter()
        .map(|column| conditions::grams(definition.id, &column.name, part))
        .collect();
    sql.push(" OR (");
    position(sql, part, true);
    if stretches.iter().all(|tokens| !tokens.is_empty()) {
        sql.push(" AND (");
        for (nth, tokens) in stretches.into_iter().enumerate() {
            if nth > 0 {
                sql.push(" OR ");
            }
            conditions::all_of(sql, tokens);
        }
        sql.push(")");
    }
    sql.push(")");
}

fn words_of(collection: i64, group: &[Term]) -> Vec<i32> {
    let there = group.iter().filter(|term| !term.excluded);
    there
        .flat_map(|term| term.words.split_whitespace())
        .map(|word| token::of(collection, Kind::Word, "", word))
        .collect()
}
