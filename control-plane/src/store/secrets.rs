//! Secrets: sealed values under names that are unique in an organisation, and the agents granted each.

pub mod live;
pub mod names;
pub mod uses;

use std::collections::BTreeSet;

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::PgConnection;
use uuid::Uuid;

use super::sealing::{SealError, seal};
use super::time::rfc3339;
use crate::vault::{Sealed, Vault};

/// Fewest bytes of a value: a shorter one would be taken out of every text by accident.
pub const MIN_VALUE: usize = 6;
/// Fewest different characters of a value: rows of one mark stand in many texts.
const MIN_DIFFERENT: usize = 3;
/// Most bytes of a value: 64 KiB.
pub const MAX_VALUE: usize = 65_536;

/// A secret without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The row's id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Ids of the agents that may use it, in order.
    pub grants: Vec<String>,
    /// The agent that stored it; `None` for an operator's.
    pub stored_by: Option<String>,
    /// When it was first stored.
    pub created_at: String,
    /// When its value, name or description last changed.
    pub updated_at: String,
    /// When a call was last sent with it.
    pub last_used_at: Option<String>,
}

/// A secret to be stored.
#[derive(Debug)]
pub struct NewSecret<'a> {
    /// Its name, which [`names::check`] accepts.
    pub name: &'a str,
    /// What it is for.
    pub description: &'a str,
    /// The value, which [`check_value`] accepts.
    pub value: &'a SecretString,
    /// The agent that stores it; `None` for an operator.
    pub stored_by: Option<&'a str>,
}

/// Whether a text may be a secret's value.
///
/// # Errors
/// What is wrong, to be read after the value's place: `is …` or `has …`. Never the value.
pub fn check_value(value: &str) -> Result<(), String> {
    if value.len() < MIN_VALUE {
        return Err(format!(
            "has {} bytes, at least {MIN_VALUE} are needed: a shorter one would be taken out of every text by accident",
            value.len()
        ));
    }
    if value.len() > MAX_VALUE {
        return Err(format!(
            "has {} bytes, at most {MAX_VALUE} are allowed",
            value.len()
        ));
    }
    let seen: usize = value.split_whitespace().map(str::len).sum();
    if seen < MIN_VALUE {
        return Err(format!(
            "has {seen} bytes beside white space, at least {MIN_VALUE} are needed: it would be taken out of every text by accident"
        ));
    }
    let different: BTreeSet<char> = value.chars().filter(|c| !c.is_whitespace()).collect();
    if different.len() < MIN_DIFFERENT {
        return Err(format!(
            "has {} different {}, at least {MIN_DIFFERENT} are needed: it would be taken out of every text by accident",
            different.len(),
            if different.len() == 1 {
                "character"
            } else {
                "characters"
            }
        ));
    }
    if value.contains('\0') {
        return Err("holds U+0000, which no environment variable can hold".to_owned());
    }
    Ok(())
}

type Row = (
    Uuid,
    String,
    String,
    Vec<String>,
    Option<String>,
    i64,
    i64,
    Option<i64>,
);

const SELECT: &str = "SELECT s.id, s.name, s.description,
        ARRAY(SELECT g.agent FROM secret_grants g WHERE g.secret = s.id ORDER BY g.agent),
        s.stored_by,
        floor(extract(epoch FROM s.created_at) * 1000)::bigint,
        floor(extract(epoch FROM s.updated_at) * 1000)::bigint,
        (SELECT floor(extract(epoch FROM max(u.at)) * 1000)::bigint
         FROM secret_uses u WHERE u.secret = s.id)
 FROM secrets s";

fn of_row((id, name, description, grants, stored_by, created, updated, used): Row) -> Secret {
    Secret {
        id,
        name,
        description,
        grants,
        stored_by,
        created_at: rfc3339(created),
        updated_at: rfc3339(updated),
        last_used_at: used.map(rfc3339),
    }
}

/// Secrets of an organisation after the name `after`, by name, at most `limit`.
///
/// # Errors
/// When the database does not answer.
pub async fn list(
    db: &mut PgConnection,
    organisation: &str,
    after: Option<&str>,
    limit: i64,
) -> sqlx::Result<Vec<Secret>> {
    let statement = sqlx::AssertSqlSafe(format!(
        "{SELECT} WHERE s.organisation = $1 AND ($2::text IS NULL OR s.name > $2) ORDER BY s.name LIMIT $3"
    ));
    let rows: Vec<Row> = sqlx::query_as(statement)
        .bind(organisation)
        .bind(after)
        .bind(limit)
        .fetch_all(db)
        .await?;
    Ok(rows.into_iter().map(of_row).collect())
}

/// The secrets of these names, by name.
///
/// # Errors
/// When the database does not answer.
pub async fn named(
    db: &mut PgConnection,
    organisation: &str,
    names: &[String],
) -> sqlx::Result<Vec<Secret>> {
    let statement = sqlx::AssertSqlSafe(format!(
        "{SELECT} WHERE s.organisation = $1 AND s.name = ANY($2) ORDER BY s.name"
    ));
    let rows: Vec<Row> = sqlx::query_as(statement)
        .bind(organisation)
        .bind(names)
        .fetch_all(db)
        .await?;
    Ok(rows.into_iter().map(of_row).collect())
}

/// The secret of that name.
///
/// # Errors
/// When the database does not answer.
pub async fn find(
    db: &mut PgConnection,
    organisation: &str,
    name: &str,
) -> sqlx::Result<Option<Secret>> {
    let statement = sqlx::AssertSqlSafe(format!(
        "{SELECT} WHERE s.organisation = $1 AND s.name = $2"
    ));
    let row: Option<Row> = sqlx::query_as(statement)
        .bind(organisation)
        .bind(name)
        .fetch_optional(db)
        .await?;
    Ok(row.map(of_row))
}

/// Stores a new secret and answers its id. It is granted to nobody yet.
///
/// # Errors
/// When the database does not answer, the name is taken (`secrets_name_key`), or nothing
/// can be sealed.
pub async fn insert(
    db: &mut PgConnection,
    vault: &Vault,
    organisation: &str,
    new: &NewSecret<'_>,
) -> Result<Uuid, SealError> {
    let id = Uuid::now_v7();
    let sealed = seal(db, vault, id, new.value).await?;
    sqlx::query(
        "INSERT INTO secrets (id, organisation, name, description, key_id, sealed, stored_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(id)
    .bind(organisation)
    .bind(new.name)
    .bind(new.description)
    .bind(sealed.key_id)
    .bind(sealed.sealed)
    .bind(new.stored_by)
    .execute(db)
    .await?;
    Ok(id)
}

/// Stores another value.
///
/// # Errors
/// When the database does not answer or nothing can be sealed.
pub async fn set_value(
    db: &mut PgConnection,
    vault: &Vault,
    id: Uuid,
    value: &SecretString,
) -> Result<(), SealError> {
    let sealed = seal(db, vault, id, value).await?;
    sqlx::query("UPDATE secrets SET key_id = $2, sealed = $3, updated_at = now() WHERE id = $1")
        .bind(id)
        .bind(sealed.key_id)
        .bind(sealed.sealed)
        .execute(db)
        .await?;
    Ok(())
}

/// Gives it another name. Grants stay.
///
/// # Errors
/// When the database does not answer or the name is taken (`secrets_name_key`).
pub async fn rename(db: &mut PgConnection, id: Uuid, name: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE secrets SET name = $2, updated_at = now() WHERE id = $1")
        .bind(id)
        .bind(name)
        .execute(db)
        .await?;
    Ok(())
}

/// Says anew what it is for.
///
/// # Errors
/// When the database does not answer.
pub async fn describe(db: &mut PgConnection, id: Uuid, description: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE secrets SET description = $2, updated_at = now() WHERE id = $1")
        .bind(id)
        .bind(description)
        .execute(db)
        .await?;
    Ok(())
}

/// Grants it to these agents and to no other.
///
/// # Errors
/// When the database does not answer, or an agent does not exist (`secret_grants_agent_fkey`).
pub async fn set_grants(
    db: &mut PgConnection,
    id: Uuid,
    agents: &BTreeSet<&str>,
) -> sqlx::Result<()> {
    let agents: Vec<&str> = agents.iter().copied().collect();
    sqlx::query("DELETE FROM secret_grants WHERE secret = $1 AND agent <> ALL($2)")
        .bind(id)
        .bind(&agents)
        .execute(&mut *db)
        .await?;
    sqlx::query(
        "INSERT INTO secret_grants (secret, agent) SELECT $1, unnest($2::text[])
         ON CONFLICT ON CONSTRAINT secret_grants_pkey DO NOTHING",
    )
    .bind(id)
    .bind(&agents)
    .execute(db)
    .await?;
    Ok(())
}

/// Holds the secret of that name until the transaction ends, and answers its id: neither it
/// nor its grants change meanwhile by others that hold it.
///
/// # Errors
/// When the database does not answer.
pub async fn hold(
    db: &mut PgConnection,
    organisation: &str,
    name: &str,
) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM secrets WHERE organisation = $1 AND name = $2 FOR NO KEY UPDATE",
    )
    .bind(organisation)
    .bind(name)
    .fetch_optional(db)
    .await
}

/// Grants it to one more agent. False when the agent has it already.
///
/// # Errors
/// When the database does not answer, or the agent does not exist.
pub async fn grant(db: &mut PgConnection, id: Uuid, agent: &str) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "INSERT INTO secret_grants (secret, agent) VALUES ($1, $2)
         ON CONFLICT ON CONSTRAINT secret_grants_pkey DO NOTHING",
    )
    .bind(id)
    .bind(agent)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes it from an agent. False when the agent doesn't have it.
///
/// # Errors
/// When the database does not answer.
pub async fn revoke(db: &mut PgConnection, id: Uuid, agent: &str) -> sqlx::Result<bool> {
    let done = sqlx::query("DELETE FROM secret_grants WHERE secret = $1 AND agent = $2")
        .bind(id)
        .bind(agent)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes it with its grants. False when there is none of that name.
///
/// # Errors
/// When the database does not answer.
pub async fn delete(db: &mut PgConnection, organisation: &str, name: &str) -> sqlx::Result<bool> {
    let done = sqlx::query("DELETE FROM secrets WHERE organisation = $1 AND name = $2")
        .bind(organisation)
        .bind(name)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// The value of a secret.
///
/// # Errors
/// When the database does not answer, there is no such secret, or it does not open.
pub async fn open(
    db: &mut PgConnection,
    vault: &Vault,
    id: Uuid,
) -> Result<SecretString, SealError> {
    let sealed: Sealed = sqlx::query_as("SELECT key_id, sealed FROM secrets WHERE id = $1")
        .bind(id)
        .fetch_one(db)
        .await?;
    Ok(vault.open(id, &sealed).await?)
}

/// Whether a secret has this value. One that does not open has no value that any could
/// equal: storing it anew is what mends it.
///
/// # Errors
/// When the database does not answer or there is no such secret.
pub async fn has_value(
    db: &mut PgConnection,
    vault: &Vault,
    id: Uuid,
    value: &SecretString,
) -> sqlx::Result<bool> {
    match open(db, vault, id).await {
        Ok(stored) => Ok(stored.expose_secret() == value.expose_secret()),
        Err(SealError::Store(error)) => Err(error),
        Err(SealError::Vault(_)) => Ok(false),
    }
}

/// Names of the secrets that an agent may use, in order.
///
/// # Errors
/// When the database does not answer.
pub async fn granted(db: &mut PgConnection, agent: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT s.name FROM secret_grants g JOIN secrets s ON s.id = g.secret
         WHERE g.agent = $1 ORDER BY s.name",
    )
    .bind(agent)
    .fetch_all(db)
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_6_bytes_to_64_kib() {
        assert_eq!(
            check_value("abcde").unwrap_err(),
            "has 5 bytes, at least 6 are needed: a shorter one would be taken out of every text by accident"
        );
        assert_eq!(check_value("abcdef"), Ok(()));
        assert_eq!(check_value("éàü"), Ok(()));
        assert_eq!(check_value(&"abcd".repeat(16_384)), Ok(()));
        assert_eq!(
            check_value(&"a".repeat(65_537)).unwrap_err(),
            "has 65537 bytes, at most 65536 are allowed"
        );
        assert!(check_value("abc\0def").is_err());
    }

    #[test]
    fn a_value_that_many_texts_hold_is_refused() {
        assert_eq!(
            check_value("  \n a b c d \t ").unwrap_err(),
            "has 4 bytes beside white space, at least 6 are needed: it would be taken out of every text by accident"
        );
        assert!(check_value("        ").is_err());
        assert_eq!(
            check_value("--------").unwrap_err(),
            "has 1 different character, at least 3 are needed: it would be taken out of every text by accident"
        );
        assert!(check_value("=-=-=-=-").is_err());
        assert_eq!(check_value("abcabc"), Ok(()));
    }
}
