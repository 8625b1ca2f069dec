//! Guilds: the teams of an organisation and the repositories they work on.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::page::Page;
use super::time::rfc3339;

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

/// Guilds of an organisation by id: those named, or all.
///
/// # Errors
/// When the database does not answer.
pub async fn load(
    db: &mut PgConnection,
    organisation: &str,
    ids: Option<&[String]>,
) -> sqlx::Result<Vec<Guild>> {
    let rows: Vec<(String, Json<Vec<Repository>>)> = sqlx::query_as(
        "SELECT id, repositories FROM guilds
         WHERE organisation = $1 AND ($2::text[] IS NULL OR id = ANY($2)) ORDER BY id",
    )
    .bind(organisation)
    .bind(ids)
    .fetch_all(db)
    .await?;
    let guild = |(id, Json(repositories))| Guild { id, repositories };
    Ok(rows.into_iter().map(guild).collect())
}

/// Ids of all guilds of an organisation.
///
/// # Errors
/// When the database does not answer.
pub async fn names(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("SELECT id FROM guilds WHERE organisation = $1 ORDER BY id")
        .bind(organisation)
        .fetch_all(db)
        .await
}

/// A guild as operators read it.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Guild id.
    pub id: String,
    /// Repositories that its coding runs may name.
    pub repositories: Vec<Repository>,
    /// How many agents it has.
    pub agents: i64,
    /// When it was made.
    pub created_at: String,
}

/// A page of an organisation's guilds.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    organisation: &str,
    page: &Page<'_>,
) -> sqlx::Result<Vec<Listed>> {
    let rows: Vec<(String, Json<Vec<Repository>>, i64, i64)> = sqlx::query_as(
        "SELECT g.id, g.repositories,
                (SELECT count(*) FROM agents a WHERE a.organisation = g.organisation AND a.guild = g.id),
                floor(extract(epoch FROM g.created_at) * 1000)::bigint
         FROM guilds g
         WHERE g.organisation = $1 AND ($2::text IS NULL OR g.id > $2) AND ($3::text IS NULL OR g.id = $3)
         ORDER BY g.id LIMIT $4",
    )
    .bind(organisation)
    .bind(page.after)
    .bind(page.only)
    .bind(page.limit)
    .fetch_all(db)
    .await?;
    let listed = |(id, Json(repositories), agents, created_ms)| Listed {
        id,
        repositories,
        agents,
        created_at: rfc3339(created_ms),
    };
    Ok(rows.into_iter().map(listed).collect())
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

/// What a guild's deletion takes with it, counted.
#[derive(Debug, Clone, Copy, sqlx::FromRow)]
pub struct Belongings {
    /// Notes at its level, tombstones too.
    pub notes: i64,
    /// Issues that its agents reported.
    pub issues: i64,
}

/// Counts what belongs to a guild alone.
///
/// # Errors
/// When the database does not answer.
pub async fn belongings(
    db: &mut PgConnection,
    organisation: &str,
    id: &str,
) -> sqlx::Result<Belongings> {
    sqlx::query_as(
        "SELECT (SELECT count(*) FROM artifacts WHERE organisation = $1 AND level = 'guild' AND owner = $2) AS notes,
                (SELECT count(*) FROM issues WHERE organisation = $1 AND guild = $2) AS issues",
    )
    .bind(organisation)
    .bind(id)
    .fetch_one(db)
    .await
}

/// Deletes a guild without agents, its notes and its issues.
///
/// # Errors
/// When the database does not answer, or agents are in it.
pub async fn delete(db: &mut PgConnection, organisation: &str, id: &str) -> sqlx::Result<()> {
    for sql in [
        "DELETE FROM artifacts WHERE organisation = $1 AND level = 'guild' AND owner = $2",
        "DELETE FROM issues WHERE organisation = $1 AND guild = $2",
        "DELETE FROM guilds WHERE organisation = $1 AND id = $2",
    ] {
        sqlx::query(sql)
            .bind(organisation)
            .bind(id)
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}
