//! What narrows a search or a list of records, as SQL that an index of tokens serves.

use std::fmt::Write as _;

use futures_util::TryStreamExt as _;
use sqlx::{PgConnection, Postgres, QueryBuilder};

use super::decimal::Decimal;
use super::instant::Instant;
use super::token::{self, Kind};
use super::{index, spelling, stretch};
use crate::store::collections::ColumnType;
use crate::store::words;

/// One column and what its value has to be.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The column's name.
    pub column: String,
    /// What is asked of it.
    pub term: Term,
}

/// What is asked of a column.
#[derive(Debug, Clone)]
pub enum Term {
    /// The record has no value there.
    Missing,
    /// The text, or an item of the array, holds this text or a word spelt like it.
    Part {
        /// The term as it was given.
        text: String,
        /// Whether the column is an array.
        array: bool,
    },
    /// The text is this value, or the array has this item.
    Exactly {
        /// The value.
        value: String,
        /// Whether the column is an array.
        array: bool,
    },
    /// The number is this one.
    Number(Decimal),
    /// The number lies between these, which count too.
    Numbers(Option<Decimal>, Option<Decimal>),
    /// The time lies between these, which count too.
    Times(Option<Instant>, Option<Instant>),
    /// The boolean is this one.
    Boolean(bool),
    /// The record's own id.
    Id(i64),
    /// The record was made or changed, by whole milliseconds, between these.
    Stamped(Option<Instant>, Option<Instant>),
    /// Nothing is like that.
    Nothing,
}

/// What a column's value sorts by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A column of the record itself: `id`, `created_at`, `updated_at`.
    Own(&'static str),
    /// A declared column.
    Column(String, ColumnType),
}

/// A condition, and the similar words that a look into the dictionary found for it.
#[derive(Debug)]
pub struct Ready {
    condition: Condition,
    similar: Vec<String>,
}

/// Looks up what conditions need to know besides.
///
/// # Errors
/// When the database does not answer.
pub async fn ready(
    db: &mut PgConnection,
    collection: i64,
    conditions: &[Condition],
) -> sqlx::Result<Vec<Ready>> {
    let mut all = Vec::new();
    for condition in conditions {
        let similar = match &condition.term {
            Term::Part { text, .. } => similar(db, collection, &words::fold(text)).await?,
            _ => Vec::new(),
        };
        all.push(Ready {
            condition: condition.clone(),
            similar,
        });
    }
    Ok(all)
}

/// Words of a collection that are spelt like a folded term.
async fn similar(db: &mut PgConnection, collection: i64, term: &str) -> sqlx::Result<Vec<String>> {
    let Some(edits) = spelling::edits(term) else {
        return Ok(Vec::new());
    };
    let length = i32::try_from(term.chars().count()).unwrap_or(i32::MAX);
    let most = i32::try_from(edits).unwrap_or(0);
    let mut near = sqlx::query_scalar::<_, String>(
        "SELECT word FROM record_words
         WHERE collection = $1 AND deletions && $2 AND char_length(word) BETWEEN $3 AND $4",
    )
    .bind(collection)
    .bind(spelling::looked_up(collection, term, edits))
    .bind(length - most)
    .bind(length + most)
    .persistent(false)
    .fetch(db);
    let mut similar = Vec::new();
    while let Some(word) = near.try_next().await? {
        if spelling::within(term, &word, edits) {
            similar.push(word);
        }
    }
    Ok(similar)
}

/// SQL under construction.
pub(super) type Sql = QueryBuilder<Postgres>;

/// A condition on the tokens: each of these is there.
pub(super) fn all_of(sql: &mut Sql, mut tokens: Vec<i32>) {
    tokens.sort_unstable();
    tokens.dedup();
    sql.push("r.tokens @> ").push_bind(tokens);
}

/// A condition on the tokens: one of these is there.
fn any_of(sql: &mut Sql, tokens: Vec<i32>) {
    sql.push("r.tokens && ").push_bind(tokens);
}

/// The tokens of the stretches of a folded text, in one column.
pub(super) fn grams(collection: i64, column: &str, text: &str) -> Vec<i32> {
    token::grams(text)
        .map(|gram| token::of(collection, Kind::Gram, column, gram))
        .collect()
}

/// Writes ` AND …` for each condition.
pub(super) fn write(sql: &mut Sql, collection: i64, conditions: &[Ready]) {
    for Ready { condition, similar } in conditions {
        sql.push(" AND ");
        let at = At {
            collection,
            column: &condition.column,
        };
        at.term(sql, &condition.term, similar);
    }
}

struct At<'a> {
    collection: i64,
    column: &'a str,
}

impl At<'_> {
    fn value_token(&self, value: &str) -> Vec<i32> {
        let token = token::of(self.collection, Kind::Value, self.column, value);
        vec![token]
    }

    /// `r.body -> 'column'`, or with `->>` its text.
    fn value(&self, sql: &mut Sql, arrow: &str) {
        let _ = write!(SqlText(sql), "r.body {arrow} ");
        sql.push_bind(self.column.to_owned());
    }

    fn term(&self, sql: &mut Sql, term: &Term, similar: &[String]) {
        match term {
            Term::Missing => {
                sql.push("NOT jsonb_exists(r.body, ")
                    .push_bind(self.column.to_owned())
                    .push(")");
            }
            Term::Part { text, array } => self.part(sql, &words::fold(text), *array, similar),
            Term::Exactly { value, array } => {
                all_of(sql, self.value_token(value));
                sql.push(" AND ");
                self.value(sql, if *array { "->" } else { "->>" });
                if *array {
                    sql.push(" @> to_jsonb(")
                        .push_bind(value.clone())
                        .push("::text)");
                } else {
                    sql.push(" = ").push_bind(value.clone());
                }
            }
            Term::Number(number) => {
                all_of(sql, self.value_token(&number.canonical));
                sql.push(" AND (");
                self.value(sql, "->");
                sql.push(")::numeric = ")
                    .push_bind(number.canonical.clone())
                    .push("::text::numeric");
            }
            Term::Numbers(low, high) => {
                let range = (low.as_ref(), high.as_ref());
                any_of(sql, stretch::numbers(self.collection, self.column, range));
                let text = |end: &Option<Decimal>| end.as_ref().map(|end| end.canonical.clone());
                for (sign, end) in [(">=", text(low)), ("<=", text(high))] {
                    self.bound(sql, ("->", "numeric"), sign, end);
                }
            }
            Term::Times(low, high) => {
                let range = (*low, *high);
                any_of(sql, stretch::times(self.collection, self.column, range));
                for (sign, end) in [(">=", low), ("<=", high)] {
                    let end = end.map(|end| end.to_string());
                    self.bound(sql, ("->>", "timestamptz"), sign, end);
                }
            }
            Term::Boolean(value) => {
                all_of(sql, self.value_token(if *value { "true" } else { "false" }));
                sql.push(" AND ");
                self.value(sql, "->");
                sql.push(" = to_jsonb(").push_bind(*value).push(")");
            }
            Term::Id(id) => {
                sql.push("r.id = ").push_bind(*id);
            }
            Term::Stamped(low, high) => self.stamped(sql, *low, *high),
            Term::Nothing => {
                sql.push("false");
            }
        }
    }

    /// ` AND` a bound on the value read as a type.
    fn bound(&self, sql: &mut Sql, (arrow, kind): (&str, &str), sign: &str, end: Option<String>) {
        if let Some(end) = end {
            sql.push(" AND (");
            self.value(sql, arrow);
            let _ = write!(SqlText(sql), ")::{kind} {sign} ");
            sql.push_bind(end);
            let _ = write!(SqlText(sql), "::text::{kind}");
        }
    }

    /// Times of the record itself are told by whole milliseconds and compared so.
    fn stamped(&self, sql: &mut Sql, low: Option<Instant>, high: Option<Instant>) {
        let own = if self.column == "created_at" {
            "r.created_at"
        } else {
            "r.updated_at"
        };
        sql.push("true");
        if let Some(low) = low {
            let _ = write!(SqlText(sql), " AND {own} >= ");
            // The first instant whose millisecond is not before the bound.
            sql.push_bind(low.plus_micros(999).floor_to_millisecond().to_string());
            sql.push("::text::timestamptz");
        }
        if let Some(high) = high {
            let _ = write!(SqlText(sql), " AND {own} < ");
            sql.push_bind(high.floor_to_millisecond().plus_micros(1_000).to_string());
            sql.push("::text::timestamptz");
        }
    }

    fn part(&self, sql: &mut Sql, folded: &str, array: bool, similar: &[String]) {
        let grams = grams(self.collection, self.column, folded);
        sql.push("((");
        if grams.is_empty() {
            sql.push("true");
        } else {
            all_of(sql, grams);
        }
        sql.push(" AND ");
        if array {
            sql.push("EXISTS (SELECT FROM jsonb_array_elements_text(");
            self.folded(sql, "->");
            sql.push(") AS item WHERE position(")
                .push_bind(folded.to_owned())
                .push(" IN item) > 0)");
        } else {
            sql.push("position(")
                .push_bind(folded.to_owned())
                .push(" IN ");
            self.folded(sql, "->>");
            sql.push(") > 0");
        }
        sql.push(")");
        if !similar.is_empty() {
            let tokens = similar
                .iter()
                .map(|word| token::of(self.collection, Kind::ColumnWord, self.column, word));
            sql.push(" OR (");
            any_of(sql, tokens.collect());
            // Two pieces may share a token: the words decide.
            sql.push(" AND EXISTS (SELECT FROM unnest(")
                .push_bind(similar.to_vec())
                .push(") AS near WHERE position(' ' || near || ' ' IN split_part(split_part(r.words, ")
                .push_bind(index::mark(self.column))
                .push(", 2), ")
                .push_bind(index::end_of_column().to_string())
                .push(", 1)) > 0))");
        }
        sql.push(")");
    }

    /// The folded value, which is stored only where folding changes it.
    fn folded(&self, sql: &mut Sql, arrow: &str) {
        let _ = write!(SqlText(sql), "coalesce(r.folded {arrow} ");
        sql.push_bind(self.column.to_owned());
        sql.push(", ");
        self.value(sql, arrow);
        sql.push(")");
    }
}

/// Writes words of the program's own into SQL.
struct SqlText<'a>(&'a mut Sql);

impl std::fmt::Write for SqlText<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.push(text);
        Ok(())
    }
}

/// Writes what a key sorts by.
pub(super) fn sort_by(sql: &mut Sql, key: &Key) {
    match key {
        Key::Own(name) => {
            sql.push("r.").push(*name);
        }
        Key::Column(name, kind) => {
            let (arrow, cast) = match kind {
                ColumnType::Text | ColumnType::Array => ("->>", " COLLATE \"C\""),
                ColumnType::Number => ("->", "::numeric"),
                ColumnType::Datetime => ("->>", "::timestamptz"),
                ColumnType::Boolean => ("->", "::boolean"),
            };
            sql.push("(r.body ")
                .push(arrow)
                .push(" ")
                .push_bind(name.clone())
                .push(")")
                .push(cast);
        }
    }
}
