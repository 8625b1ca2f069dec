//! Guilds: the teams of an organisation and the repositories they work on.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;

/// A guild as its organisation keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Guild {
    /// Guild id, unique in its organisation.
    pub id: String,
    /// Repositories that its coding runs may name.
    pub repositories: Vec<Repository>,
}

/// A repository of a guild.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// What the guild calls it.
    pub name: String,
    /// Where git finds it.
    pub url: String,
}

/// Every guild of an organisation, by id.
///
/// # Errors
/// When the database does not answer.
pub async fn of_organisation(
    db: &mut PgConnection,
    organisation: &str,
) -> sqlx::Result<Vec<Guild>> {
    let rows: Vec<(String, Json<Vec<Repository>>)> =
        sqlx::query_as("SELECT id, repositories FROM guilds WHERE organisation = $1 ORDER BY id")
            .bind(organisation)
            .fetch_all(db)
            .await?;
    let guild = |(id, Json(repositories))| Guild { id, repositories };
    Ok(rows.into_iter().map(guild).collect())
}

/// Writes a guild, in place of the one there is.
///
/// # Errors
/// When the database does not answer.
pub async fn put(db: &mut PgConnection, organisation: &str, guild: &Guild) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO guilds (id, organisation, repositories) VALUES ($1, $2, $3)
         ON CONFLICT ON CONSTRAINT guilds_pkey DO UPDATE SET repositories = excluded.repositories",
    )
    .bind(&guild.id)
    .bind(organisation)
    .bind(Json(&guild.repositories))
    .execute(db)
    .await?;
    Ok(())
}
