//! Which collections an agent reaches, as their definitions stand now.

use sqlx::PgConnection;
use sqlx::types::Json;

use crate::store::access::{Access, access_sql};
use crate::store::agents::Agent;
use crate::store::collections::Column;

/// A collection as whoever works with its records needs it.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Row id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// The column whose value no two live records share.
    pub unique: Option<String>,
    /// Its columns, in the order of the document.
    pub columns: Vec<Column>,
    /// What the asker may do.
    pub access: Access,
}

impl Definition {
    /// The column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

#[derive(serde::Deserialize)]
struct Detail {
    unique: Option<String>,
    columns: Vec<Column>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    key: String,
    detail: Json<Detail>,
    #[sqlx(try_from = "String")]
    access: Access,
}

impl From<Row> for Definition {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.key,
            unique: row.detail.0.unique,
            columns: row.detail.0.columns,
            access: row.access,
        }
    }
}

macro_rules! reach_sql {
    ($tail:literal) => {
        concat!(
            "SELECT id, key, detail, access FROM (
               SELECT a.id, a.key, a.detail, ",
            access_sql!(),
            " AS access FROM artifacts a
               WHERE a.organisation = $3 AND a.kind = 'collection' AND a.deleted_at IS NULL
                 AND ($4::text IS NULL OR a.key = $4)",
            $tail,
            ") c ORDER BY key"
        )
    };
}

/// The collection of that name when the agent may read it: one statement answers for what
/// is absent and what is out of reach.
///
/// # Errors
/// When the database does not answer.
pub async fn find(
    db: &mut PgConnection,
    agent: &Agent,
    name: &str,
) -> sqlx::Result<Option<Definition>> {
    let found = reached(db, agent, Some(name), reach_sql!("")).await?;
    Ok(found.into_iter().next())
}

/// As [`find`], and holds the definition until the transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn find_for_write(
    db: &mut PgConnection,
    agent: &Agent,
    name: &str,
) -> sqlx::Result<Option<Definition>> {
    let found = reached(db, agent, Some(name), reach_sql!(" FOR KEY SHARE OF a")).await?;
    Ok(found.into_iter().next())
}

/// Every collection that the agent may read, by name.
///
/// # Errors
/// When the database does not answer.
pub async fn all(db: &mut PgConnection, agent: &Agent) -> sqlx::Result<Vec<Definition>> {
    reached(db, agent, None, reach_sql!("")).await
}

async fn reached(
    db: &mut PgConnection,
    agent: &Agent,
    name: Option<&str>,
    sql: &'static str,
) -> sqlx::Result<Vec<Definition>> {
    let rows: Vec<Row> = sqlx::query_as(sql)
        .bind(&agent.id)
        .bind(&agent.guild)
        .bind(&agent.organisation)
        .bind(name)
        .fetch_all(db)
        .await?;
    let reached = rows.into_iter().filter(|row| row.access != Access::None);
    Ok(reached.map(Definition::from).collect())
}

/// The collection of that name for an operator, its definition held until the transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn for_operator(
    db: &mut PgConnection,
    organisation: &str,
    name: &str,
) -> sqlx::Result<Option<Definition>> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT a.id, a.key, a.detail, 'write' AS access FROM artifacts a
         WHERE a.organisation = $1 AND a.kind = 'collection' AND a.key = $2 AND a.deleted_at IS NULL
         FOR KEY SHARE",
    )
    .bind(organisation)
    .bind(name)
    .fetch_optional(db)
    .await?;
    Ok(row.map(Definition::from))
}
