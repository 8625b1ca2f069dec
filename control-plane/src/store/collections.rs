//! Collections: typed tables that operators define; their records have a store of their own.

pub mod fit;

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::access::list::{self, Row, access_list_sql};
use super::page::Page;
use super::time::rfc3339;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// Text.
    Text,
    /// An exact decimal.
    Number,
    /// An instant.
    Datetime,
    /// A list of texts.
    Array,
    /// True or false.
    Boolean,
}

impl ColumnType {
    /// Every type, in the order of the documents.
    pub const ALL: [Self; 5] = [
        Self::Text,
        Self::Number,
        Self::Datetime,
        Self::Array,
        Self::Boolean,
    ];

    /// The word in documents and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Datetime => "datetime",
            Self::Array => "array",
            Self::Boolean => "boolean",
        }
    }

    /// Whether a column of it may list the values it allows.
    #[must_use]
    pub const fn takes_values(self) -> bool {
        matches!(self, Self::Text | Self::Array)
    }

    /// Whether a column of it may be the unique one: a list has no one value, and two
    /// records with a boolean would be all there are.
    #[must_use]
    pub const fn may_be_unique(self) -> bool {
        matches!(self, Self::Text | Self::Number | Self::Datetime)
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, unique in the collection.
    pub name: String,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// Whether each record has a value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// The values it allows; any, without a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// A collection as its organisation keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Collection {
    /// Its name, unique in the organisation.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The column whose value no two live records share.
    pub unique: Option<String>,
    /// Its columns, in the order of the document.
    pub columns: Vec<Column>,
    /// Who reaches it.
    pub access: Vec<Row>,
    /// Row id of the definition; none before it is stored.
    #[serde(skip)]
    pub row: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct Detail<C> {
    unique: Option<String>,
    columns: C,
}

#[derive(sqlx::FromRow)]
struct Stored {
    id: i64,
    key: String,
    body: String,
    detail: Json<Detail<Vec<Column>>>,
    access: Json<Vec<(String, String, String)>>,
}

impl From<Stored> for Collection {
    fn from(row: Stored) -> Self {
        Self {
            name: row.key,
            description: row.body,
            unique: row.detail.0.unique,
            columns: row.detail.0.columns,
            access: list::rows(row.access.0),
            row: Some(row.id),
        }
    }
}

/// Collections of an organisation by name: those named, or all.
///
/// # Errors
/// When the database does not answer.
pub async fn load(
    db: &mut PgConnection,
    organisation: &str,
    names: Option<&[String]>,
) -> sqlx::Result<Vec<Collection>> {
    let rows: Vec<Stored> = sqlx::query_as(concat!(
        "SELECT a.id, a.key, a.body, a.detail, ",
        access_list_sql!(),
        " AS access FROM artifacts a
         WHERE a.organisation = $1 AND a.kind = 'collection' AND a.deleted_at IS NULL
           AND ($2::text[] IS NULL OR a.key = ANY($2))
         ORDER BY a.key"
    ))
    .bind(organisation)
    .bind(names)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Collection::from).collect())
}

/// Writes a definition, in place of the one there is; its access list is left alone.
///
/// # Errors
/// When the database does not answer.
pub async fn put(
    db: &mut PgConnection,
    organisation: &str,
    collection: &Collection,
) -> sqlx::Result<i64> {
    let detail = Detail {
        unique: collection.unique.clone(),
        columns: &collection.columns,
    };
    sqlx::query_scalar(
        "INSERT INTO artifacts (organisation, kind, level, owner, key, body, detail)
         VALUES ($1, 'collection', 'org', $1, $2, $3, $4)
         ON CONFLICT ON CONSTRAINT artifacts_place_key DO UPDATE SET
           body = excluded.body, detail = excluded.detail, updated_at = clock_timestamp()
         RETURNING id",
    )
    .bind(organisation)
    .bind(&collection.name)
    .bind(&collection.description)
    .bind(Json(detail))
    .fetch_one(db)
    .await
}

/// Deletes a collection with all of its records.
///
/// # Errors
/// When the database does not answer.
pub async fn delete(db: &mut PgConnection, organisation: &str, name: &str) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM artifacts WHERE organisation = $1 AND kind = 'collection' AND key = $2",
    )
    .bind(organisation)
    .bind(name)
    .execute(db)
    .await?;
    Ok(())
}

/// A collection as operators read it.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// The definition.
    #[serde(flatten)]
    pub collection: Collection,
    /// How many live records it has.
    pub records: i64,
    /// When it was made.
    pub created_at: String,
    /// When its definition last changed.
    pub updated_at: String,
}

#[derive(sqlx::FromRow)]
struct ListedRow {
    #[sqlx(flatten)]
    stored: Stored,
    records: i64,
    created_ms: i64,
    updated_ms: i64,
}

/// A page of an organisation's collections.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    organisation: &str,
    page: &Page<'_>,
) -> sqlx::Result<Vec<Listed>> {
    let rows: Vec<ListedRow> = sqlx::query_as(concat!(
        "SELECT a.id, a.key, a.body, a.detail, ",
        access_list_sql!(),
        " AS access,
          (SELECT count(*) FROM records r WHERE r.collection = a.id AND r.deleted_at IS NULL) AS records,
          floor(extract(epoch FROM a.created_at) * 1000)::bigint AS created_ms,
          floor(extract(epoch FROM a.updated_at) * 1000)::bigint AS updated_ms
         FROM artifacts a
         WHERE a.organisation = $1 AND a.kind = 'collection' AND a.deleted_at IS NULL
           AND ($2::text IS NULL OR a.key > $2) AND ($3::text IS NULL OR a.key = $3)
         ORDER BY a.key LIMIT $4"
    ))
    .bind(organisation)
    .bind(page.after)
    .bind(page.only)
    .bind(page.limit)
    .fetch_all(db)
    .await?;
    let listed = |row: ListedRow| Listed {
        collection: row.stored.into(),
        records: row.records,
        created_at: rfc3339(row.created_ms),
        updated_at: rfc3339(row.updated_ms),
    };
    Ok(rows.into_iter().map(listed).collect())
}

/// Live and removed records of a collection.
///
/// # Errors
/// When the database does not answer.
pub async fn records(db: &mut PgConnection, collection: i64) -> sqlx::Result<(i64, i64)> {
    sqlx::query_as(
        "SELECT count(*) FILTER (WHERE deleted_at IS NULL), count(*) FILTER (WHERE deleted_at IS NOT NULL)
         FROM records WHERE collection = $1",
    )
    .bind(collection)
    .fetch_one(db)
    .await
}
