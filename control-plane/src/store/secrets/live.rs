//! What is to be kept out of an organisation's texts: its secrets and the keys of its logins.

use sqlx::PgConnection;
use uuid::Uuid;

use crate::vault::Sealed;

/// Everything to be kept out, at one version.
#[derive(Debug)]
pub struct Live {
    /// The version: any change gives another, and none comes twice.
    pub version: i64,
    /// The values, sealed.
    pub values: Vec<LiveValue>,
}

/// One value.
#[derive(Debug)]
pub struct LiveValue {
    /// A secret's name, or the id of a login's connector.
    pub name: String,
    /// Id of the row that holds it.
    pub row: Uuid,
    /// The value.
    pub sealed: Sealed,
}

type Row = (
    i64,
    Option<String>,
    Option<Uuid>,
    Option<String>,
    Option<Vec<u8>>,
);

/// Everything to be kept out of an organisation's texts. One statement, so that version and
/// values belong together.
///
/// # Errors
/// When the database does not answer or there is no such organisation.
pub async fn read(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Live> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT o.secrets_version, v.name, v.id, v.key_id, v.sealed
         FROM organisations o LEFT JOIN (
           SELECT organisation, name, id, key_id, sealed FROM secrets
           UNION ALL
           SELECT organisation, connector, id, key_id, sealed FROM logins WHERE sealed IS NOT NULL
         ) v ON v.organisation = o.id
         WHERE o.id = $1 ORDER BY v.name, v.id",
    )
    .bind(organisation)
    .fetch_all(db)
    .await?;
    let version = rows.first().ok_or(sqlx::Error::RowNotFound)?.0;
    let values = rows
        .into_iter()
        .filter_map(|(_, name, row, key_id, sealed)| {
            Some(LiveValue {
                name: name?,
                row: row?,
                sealed: Sealed {
                    key_id: key_id?,
                    sealed: sealed?,
                },
            })
        })
        .collect();
    Ok(Live { version, values })
}

/// The secrets that an agent may use, in the order of their names.
///
/// # Errors
/// When the database does not answer.
pub async fn granted(db: &mut PgConnection, agent: &str) -> sqlx::Result<Vec<LiveValue>> {
    let rows: Vec<(String, Uuid, String, Vec<u8>)> = sqlx::query_as(
        "SELECT s.name, s.id, s.key_id, s.sealed
         FROM secret_grants g JOIN secrets s ON s.id = g.secret
         WHERE g.agent = $1 ORDER BY s.name",
    )
    .bind(agent)
    .fetch_all(db)
    .await?;
    let value = |(name, row, key_id, sealed)| LiveValue {
        name,
        row,
        sealed: Sealed { key_id, sealed },
    };
    Ok(rows.into_iter().map(value).collect())
}

/// The version alone.
///
/// # Errors
/// When the database does not answer or there is no such organisation.
pub async fn version(db: &mut PgConnection, organisation: &str) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT secrets_version FROM organisations WHERE id = $1")
        .bind(organisation)
        .fetch_one(db)
        .await
}

/// Keeps everybody else from changing an organisation's secrets until the transaction ends:
/// each change writes the row of the organisation.
///
/// # Errors
/// When the database does not answer, or others held the row for too long.
pub async fn hold(db: &mut PgConnection, organisation: &str) -> sqlx::Result<()> {
    sqlx::query("SELECT FROM organisations WHERE id = $1 FOR SHARE")
        .bind(organisation)
        .execute(db)
        .await?;
    Ok(())
}
