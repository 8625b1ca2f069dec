//! Logins: who signed in to a connector at which level, with a key that is sealed.

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::PgConnection;
use uuid::Uuid;

use super::agents::Agent;
use super::bindings::Level;
use super::sealing::{SealError, seal};
use super::time::rfc3339;
use crate::vault::{Sealed, Vault};

/// Most bytes of a key: more than any service gives out.
const MAX_KEY: usize = 8_192;
/// Fewest bytes of a key, for the same reason as a secret's.
const MIN_KEY: usize = super::secrets::MIN_VALUE;

/// A login without its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The row's id.
    pub id: Uuid,
    /// Id of its connector.
    pub connector: String,
    /// Where it stands.
    pub level: Level,
    /// Id of the agent, guild or organisation.
    pub owner: String,
    /// Served by a platform key.
    pub platform: bool,
    /// `pending`, `connected` or `disconnected`.
    pub status: String,
    /// JSON text of an object: tool name to whether it is on; what is not named is on.
    pub tools: String,
    /// Whether a key is stored.
    pub has_key: bool,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// Where a login stands: unique in its organisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginPlace<'a> {
    /// Its organisation.
    pub organisation: &'a str,
    /// Id of its connector.
    pub connector: &'a str,
    /// Its level.
    pub level: Level,
    /// Id of the agent, guild or organisation.
    pub owner: &'a str,
}

/// What an operator says of a login beside its key.
#[derive(Debug, Clone, Copy)]
pub struct LoginState<'a> {
    /// Served by a platform key.
    pub platform: bool,
    /// `pending`, `connected` or `disconnected`.
    pub status: &'a str,
    /// JSON text of an object: tool name to whether it is on.
    pub tools: &'a str,
}

/// Whether a text may be a login's key. It is sent in a header, so it is visible ASCII.
///
/// # Errors
/// What is wrong, to be read after the key's place. Never the key.
pub fn check_key(key: &str) -> Result<(), String> {
    if !(MIN_KEY..=MAX_KEY).contains(&key.len()) {
        return Err(format!(
            "has {} bytes, {MIN_KEY} to {MAX_KEY} are allowed",
            key.len()
        ));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("holds a space, a line break or another character that no header can carry; letters, digits and punctuation of ASCII are allowed".to_owned());
    }
    Ok(())
}

type Row = (
    Uuid,
    String,
    String,
    String,
    bool,
    String,
    String,
    bool,
    i64,
    i64,
);

const SELECT: &str =
    "SELECT id, connector, level, owner, platform, status, tools::text, sealed IS NOT NULL,
        floor(extract(epoch FROM created_at) * 1000)::bigint,
        floor(extract(epoch FROM updated_at) * 1000)::bigint
 FROM logins";

fn of_row(row: Row) -> Option<Login> {
    let (id, connector, level, owner, platform, status, tools, has_key, created, updated) = row;
    Some(Login {
        id,
        connector,
        // The table holds no other word.
        level: Level::parse(&level)?,
        owner,
        platform,
        status,
        tools,
        has_key,
        created_at: rfc3339(created),
        updated_at: rfc3339(updated),
    })
}

/// Logins of an organisation after the place `after` (level, owner, connector), in that
/// order, at most `limit`.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    organisation: &str,
    after: Option<(Level, &str, &str)>,
    limit: i64,
) -> sqlx::Result<Vec<Login>> {
    let (level, owner, connector) = match after {
        Some((level, owner, connector)) => (Some(level.as_str()), owner, connector),
        None => (None, "", ""),
    };
    let statement = sqlx::AssertSqlSafe(format!(
        "{SELECT} WHERE organisation = $1
           AND ($2::text IS NULL OR (level COLLATE \"C\", owner, connector) > ($2, $3, $4))
         ORDER BY level COLLATE \"C\", owner, connector LIMIT $5"
    ));
    let rows: Vec<Row> = sqlx::query_as(statement)
        .bind(organisation)
        .bind(level)
        .bind(owner)
        .bind(connector)
        .bind(limit)
        .fetch_all(db)
        .await?;
    Ok(rows.into_iter().filter_map(of_row).collect())
}

/// The login at a place.
///
/// # Errors
/// When the database does not answer.
pub async fn find(db: &mut PgConnection, place: LoginPlace<'_>) -> sqlx::Result<Option<Login>> {
    let statement = sqlx::AssertSqlSafe(format!(
        "{SELECT} WHERE organisation = $1 AND connector = $2 AND level = $3 AND owner = $4"
    ));
    let row: Option<Row> = sqlx::query_as(statement)
        .bind(place.organisation)
        .bind(place.connector)
        .bind(place.level.as_str())
        .bind(place.owner)
        .fetch_optional(db)
        .await?;
    Ok(row.and_then(of_row))
}

/// Makes a login without a key and answers its id.
///
/// # Errors
/// When the database does not answer, the place is taken (`logins_place_key`), or there is
/// no such connector (`logins_connector_fkey`).
pub async fn insert(
    db: &mut PgConnection,
    place: LoginPlace<'_>,
    state: LoginState<'_>,
) -> sqlx::Result<Uuid> {
    let id = Uuid::now_v7();
    sqlx::query(
        "INSERT INTO logins (id, organisation, connector, level, owner, platform, status, tools)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8::json)",
    )
    .bind(id)
    .bind(place.organisation)
    .bind(place.connector)
    .bind(place.level.as_str())
    .bind(place.owner)
    .bind(state.platform)
    .bind(state.status)
    .bind(state.tools)
    .execute(db)
    .await?;
    Ok(id)
}

/// Writes what an operator says of a login; its key stays.
///
/// # Errors
/// When the database does not answer.
pub async fn update(db: &mut PgConnection, id: Uuid, state: LoginState<'_>) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE logins SET platform = $2, status = $3, tools = $4::json, updated_at = now()
         WHERE id = $1",
    )
    .bind(id)
    .bind(state.platform)
    .bind(state.status)
    .bind(state.tools)
    .execute(db)
    .await?;
    Ok(())
}

/// Stores a login's key, in place of the one there is.
///
/// # Errors
/// When the database does not answer or nothing can be sealed.
pub async fn set_key(
    db: &mut PgConnection,
    vault: &Vault,
    id: Uuid,
    key: &SecretString,
) -> Result<(), SealError> {
    let sealed = seal(db, vault, id, key).await?;
    sqlx::query("UPDATE logins SET key_id = $2, sealed = $3, updated_at = now() WHERE id = $1")
        .bind(id)
        .bind(sealed.key_id)
        .bind(sealed.sealed)
        .execute(db)
        .await?;
    Ok(())
}

/// Removes a login with its key. False when there is none at that place.
///
/// # Errors
/// When the database does not answer.
pub async fn delete(db: &mut PgConnection, place: LoginPlace<'_>) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "DELETE FROM logins
         WHERE organisation = $1 AND connector = $2 AND level = $3 AND owner = $4",
    )
    .bind(place.organisation)
    .bind(place.connector)
    .bind(place.level.as_str())
    .bind(place.owner)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The key of a login; `None` while none is stored.
///
/// # Errors
/// When the database does not answer, there is no such login, or the key does not open.
pub async fn open(
    db: &mut PgConnection,
    vault: &Vault,
    id: Uuid,
) -> Result<Option<SecretString>, SealError> {
    let (key_id, sealed): (Option<String>, Option<Vec<u8>>) =
        sqlx::query_as("SELECT key_id, sealed FROM logins WHERE id = $1")
            .bind(id)
            .fetch_one(db)
            .await?;
    match (key_id, sealed) {
        (Some(key_id), Some(sealed)) => Ok(Some(vault.open(id, &Sealed { key_id, sealed }).await?)),
        _ => Ok(None),
    }
}

/// Whether a login has this key. One that does not open equals none.
///
/// # Errors
/// When the database does not answer or there is no such login.
pub async fn has_key(
    db: &mut PgConnection,
    vault: &Vault,
    id: Uuid,
    key: &SecretString,
) -> sqlx::Result<bool> {
    match open(db, vault, id).await {
        Ok(stored) => {
            Ok(stored.is_some_and(|stored| stored.expose_secret() == key.expose_secret()))
        }
        Err(SealError::Store(error)) => Err(error),
        Err(SealError::Vault(_)) => Ok(false),
    }
}

/// Names of the tools that are known of the logins which resolve for an agent: for each
/// connector its own, else its guild's, else its organisation's.
///
/// # Errors
/// When the database does not answer.
pub async fn tool_names(db: &mut PgConnection, agent: &Agent) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT DISTINCT tool.name FROM (
           SELECT DISTINCT ON (connector) tools FROM logins
           WHERE organisation = $1
             AND ((level = 'agent' AND owner = $2) OR (level = 'guild' AND owner = $3)
                  OR level = 'organisation')
           ORDER BY connector, array_position(ARRAY['agent', 'guild', 'organisation'], level)
         ) resolved, json_object_keys(resolved.tools) AS tool(name) ORDER BY tool.name",
    )
    .bind(&agent.organisation)
    .bind(&agent.id)
    .bind(&agent.guild)
    .fetch_all(db)
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_visible_ascii_of_6_bytes_or_more() {
        assert_eq!(check_key("tvly-1"), Ok(()));
        assert_eq!(
            check_key("short").unwrap_err(),
            "has 5 bytes, 6 to 8192 are allowed"
        );
        for bad in ["with space", "line\nbreak", "accented-é", "nul\0inside"] {
            assert!(check_key(bad).is_err(), "{bad}");
        }
    }
}
