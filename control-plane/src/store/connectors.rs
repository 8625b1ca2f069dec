//! Connectors: services whose tools a login brings into runs.

use std::collections::BTreeMap;

use serde::Serialize;
use sqlx::PgConnection;
use sqlx::types::Json;

use super::page::Page;
use super::time::rfc3339;

/// A connector as its organisation keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Connector {
    /// Connector id, unique in its organisation.
    pub id: String,
    /// `tavily`, `mcp` or `github`.
    pub kind: String,
    /// Where it is reached.
    pub url: String,
    /// Tool name to the filter of its results.
    pub filters: BTreeMap<String, String>,
}

type Row = (String, String, String, Json<BTreeMap<String, String>>);

/// Connectors of an organisation by id: those named, or all.
///
/// # Errors
/// When the database does not answer.
pub async fn load(
    db: &mut PgConnection,
    organisation: &str,
    ids: Option<&[String]>,
) -> sqlx::Result<Vec<Connector>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, kind, url, filters FROM connectors
         WHERE organisation = $1 AND ($2::text[] IS NULL OR id = ANY($2)) ORDER BY id",
    )
    .bind(organisation)
    .bind(ids)
    .fetch_all(db)
    .await?;
    let connector = |(id, kind, url, Json(filters))| Connector {
        id,
        kind,
        url,
        filters,
    };
    Ok(rows.into_iter().map(connector).collect())
}

/// Ids of all connectors of an organisation.
///
/// # Errors
/// When the database does not answer.
pub async fn names(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("SELECT id FROM connectors WHERE organisation = $1 ORDER BY id")
        .bind(organisation)
        .fetch_all(db)
        .await
}

/// Writes a connector, in place of the one there is.
///
/// # Errors
/// When the database does not answer.
pub async fn put(
    db: &mut PgConnection,
    organisation: &str,
    connector: &Connector,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO connectors (organisation, id, kind, url, filters) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT ON CONSTRAINT connectors_pkey DO UPDATE SET
           kind = excluded.kind, url = excluded.url, filters = excluded.filters",
    )
    .bind(organisation)
    .bind(&connector.id)
    .bind(&connector.kind)
    .bind(&connector.url)
    .bind(Json(&connector.filters))
    .execute(db)
    .await?;
    Ok(())
}

/// Deletes a connector without logins.
///
/// # Errors
/// When the database does not answer, or logins name it (`logins_connector_fkey`).
pub async fn delete(db: &mut PgConnection, organisation: &str, id: &str) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM connectors WHERE organisation = $1 AND id = $2")
        .bind(organisation)
        .bind(id)
        .execute(db)
        .await?;
    Ok(())
}

/// A connector as operators read it.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// The connector.
    #[serde(flatten)]
    pub connector: Connector,
    /// How many logins it has.
    pub logins: i64,
    /// When it was made.
    pub created_at: String,
}

/// A page of an organisation's connectors.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    organisation: &str,
    page: &Page<'_>,
) -> sqlx::Result<Vec<Listed>> {
    type Row = (
        String,
        String,
        String,
        Json<BTreeMap<String, String>>,
        i64,
        i64,
    );
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT c.id, c.kind, c.url, c.filters,
                (SELECT count(*) FROM logins l WHERE l.organisation = c.organisation AND l.connector = c.id),
                floor(extract(epoch FROM c.created_at) * 1000)::bigint
         FROM connectors c
         WHERE c.organisation = $1 AND ($2::text IS NULL OR c.id > $2) AND ($3::text IS NULL OR c.id = $3)
         ORDER BY c.id LIMIT $4",
    )
    .bind(organisation)
    .bind(page.after)
    .bind(page.only)
    .bind(page.limit)
    .fetch_all(db)
    .await?;
    let listed = |(id, kind, url, Json(filters), logins, created_ms): Row| Listed {
        connector: Connector {
            id,
            kind,
            url,
            filters,
        },
        logins,
        created_at: rfc3339(created_ms),
    };
    Ok(rows.into_iter().map(listed).collect())
}
