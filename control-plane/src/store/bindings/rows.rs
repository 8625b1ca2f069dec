//! The bindings of an organisation as operators set them up and read them.

use serde::Serialize;
use sqlx::PgConnection;

use crate::store::page::Page;
use crate::store::time::rfc3339;

/// What a binding switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A native tool or a family of them.
    Tool,
    /// A connector.
    Connector,
}

impl Subject {
    /// The word in the database and in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Connector => "connector",
        }
    }
}

/// A row as its organisation keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// `<level>:<owner>:<tool or connector>`.
    pub id: String,
    /// `agent`, `guild` or `organisation`.
    pub level: String,
    /// The agent's, guild's or organisation's id.
    pub owner: String,
    /// A tool's name or a family's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A connector's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<String>,
    /// What it says.
    pub enabled: bool,
}

/// The id of a row.
#[must_use]
pub fn id(level: &str, owner: &str, name: &str) -> String {
    format!("{level}:{owner}:{name}")
}

impl Row {
    /// A row that switches something at a level.
    #[must_use]
    pub fn new(level: &str, owner: &str, subject: Subject, name: &str, enabled: bool) -> Self {
        let named = |wanted: Subject| (subject == wanted).then(|| name.to_owned());
        Self {
            id: id(level, owner, name),
            level: level.to_owned(),
            owner: owner.to_owned(),
            tool: named(Subject::Tool),
            connector: named(Subject::Connector),
            enabled,
        }
    }

    /// What it switches.
    #[must_use]
    pub const fn subject(&self) -> Subject {
        if self.connector.is_some() {
            Subject::Connector
        } else {
            Subject::Tool
        }
    }

    /// The tool's, family's or connector's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.connector
            .as_deref()
            .or(self.tool.as_deref())
            .unwrap_or_default()
    }
}

/// The id of the row `b` as SQL, in the order of lists.
macro_rules! id_sql {
    () => {
        "(b.level || ':' || b.owner || ':' || b.tool) COLLATE \"C\""
    };
}

#[derive(sqlx::FromRow)]
struct Stored {
    level: String,
    owner: String,
    tool: String,
    subject: String,
    enabled: bool,
}

impl From<Stored> for Row {
    fn from(row: Stored) -> Self {
        let subject = if row.subject == Subject::Connector.as_str() {
            Subject::Connector
        } else {
            Subject::Tool
        };
        Self::new(&row.level, &row.owner, subject, &row.tool, row.enabled)
    }
}

/// Rows of an organisation by id: those named, or all.
///
/// # Errors
/// When the database does not answer.
pub async fn load(
    db: &mut PgConnection,
    organisation: &str,
    ids: Option<&[String]>,
) -> sqlx::Result<Vec<Row>> {
    let rows: Vec<Stored> = sqlx::query_as(concat!(
        "SELECT b.level, b.owner, b.tool, b.subject, b.enabled FROM bindings b
         WHERE b.organisation = $1 AND ($2::text[] IS NULL OR ",
        id_sql!(),
        " = ANY($2)) ORDER BY ",
        id_sql!()
    ))
    .bind(organisation)
    .bind(ids)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Row::from).collect())
}

/// Rows that stand at one level's owner, and those that switch one name.
///
/// # Errors
/// When the database does not answer.
pub async fn of_owner(
    db: &mut PgConnection,
    organisation: &str,
    level: &str,
    owner: &str,
) -> sqlx::Result<Vec<Row>> {
    let rows: Vec<Stored> = sqlx::query_as(
        "SELECT level, owner, tool, subject, enabled FROM bindings
         WHERE organisation = $1 AND level = $2 AND owner = $3 ORDER BY tool",
    )
    .bind(organisation)
    .bind(level)
    .bind(owner)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Row::from).collect())
}

/// Rows that switch one of these names, nearest level first.
///
/// # Errors
/// When the database does not answer.
pub async fn of_names(
    db: &mut PgConnection,
    organisation: &str,
    names: &[String],
) -> sqlx::Result<Vec<Row>> {
    let rows: Vec<Stored> = sqlx::query_as(
        "SELECT level, owner, tool, subject, enabled FROM bindings
         WHERE organisation = $1 AND tool = ANY($2) ORDER BY level COLLATE \"C\", owner, tool",
    )
    .bind(organisation)
    .bind(names)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Row::from).collect())
}

/// Writes a row, in place of the one there is.
///
/// # Errors
/// When the database does not answer.
pub async fn put(db: &mut PgConnection, organisation: &str, row: &Row) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO bindings (organisation, level, owner, tool, subject, enabled)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT ON CONSTRAINT bindings_pkey DO UPDATE SET
           subject = excluded.subject, enabled = excluded.enabled, updated_at = clock_timestamp()",
    )
    .bind(organisation)
    .bind(&row.level)
    .bind(&row.owner)
    .bind(row.name())
    .bind(row.subject().as_str())
    .bind(row.enabled)
    .execute(db)
    .await?;
    Ok(())
}

/// Deletes the rows of these ids.
///
/// # Errors
/// When the database does not answer.
pub async fn delete(db: &mut PgConnection, organisation: &str, ids: &[String]) -> sqlx::Result<()> {
    sqlx::query(concat!(
        "DELETE FROM bindings b WHERE b.organisation = $1 AND ",
        id_sql!(),
        " = ANY($2)"
    ))
    .bind(organisation)
    .bind(ids)
    .execute(db)
    .await?;
    Ok(())
}

/// A row as operators read it.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// The row.
    #[serde(flatten)]
    pub row: Row,
    /// Last write.
    pub updated_at: String,
}

#[derive(sqlx::FromRow)]
struct ListedRow {
    #[sqlx(flatten)]
    row: Stored,
    updated_ms: i64,
}

/// A page of an organisation's rows.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    organisation: &str,
    page: &Page<'_>,
) -> sqlx::Result<Vec<Listed>> {
    let rows: Vec<ListedRow> = sqlx::query_as(concat!(
        "SELECT b.level, b.owner, b.tool, b.subject, b.enabled,
                floor(extract(epoch FROM b.updated_at) * 1000)::bigint AS updated_ms
         FROM bindings b WHERE b.organisation = $1 AND ($2::text IS NULL OR ",
        id_sql!(),
        " > $2) AND ($3::text IS NULL OR ",
        id_sql!(),
        " = $3) ORDER BY ",
        id_sql!(),
        " LIMIT $4"
    ))
    .bind(organisation)
    .bind(page.after)
    .bind(page.only)
    .bind(page.limit)
    .fetch_all(db)
    .await?;
    let listed = |row: ListedRow| Listed {
        row: row.row.into(),
        updated_at: rfc3339(row.updated_ms),
    };
    Ok(rows.into_iter().map(listed).collect())
}
