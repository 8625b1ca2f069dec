//! Agents: who they are, where they live and what their configuration switches.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;

pub mod roster;

/// An agent with its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Agent id, unique in the control plane; also its Unix account's name.
    pub id: String,
    /// Its organisation.
    pub organisation: String,
    /// Its guild.
    pub guild: String,
    /// Its machine's id.
    pub machine: String,
    /// Its machine's address: `https://host:port`.
    pub machine_address: String,
    /// Its slot on the machine, 0 to 99.
    pub slot: u8,
    /// Its configuration.
    pub config: AgentConfig,
}

/// `config` of an agent, with the contract's defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentConfig {
    /// Offers the browser tools.
    pub browser: bool,
    /// Offers the code tools.
    pub coding: bool,
    /// Offers the script tools.
    pub scripting: bool,
    /// Offers memory.
    pub memory: bool,
    /// Most scripts the agent holds.
    pub max_scripts: u32,
    /// Calls a run may make, 1 to 1,000.
    pub max_tool_calls: u32,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            browser: false,
            coding: false,
            scripting: true,
            memory: true,
            max_scripts: 10,
            max_tool_calls: 60,
        }
    }
}

#[derive(sqlx::FromRow)]
struct Row {
    id: String,
    organisation: String,
    guild: String,
    machine: String,
    machine_address: String,
    slot: i16,
    config: Json<AgentConfig>,
}

/// The agent of that id with its machine's address.
///
/// # Errors
/// When the database does not answer, or a row holds what no version wrote.
pub async fn find(db: &mut PgConnection, id: &str) -> sqlx::Result<Option<Agent>> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT a.id, a.organisation, a.guild, a.machine, m.address AS machine_address, a.slot, a.config
         FROM agents a JOIN machines m ON m.id = a.machine WHERE a.id = $1",
    )
    .bind(id)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(Agent {
            id: row.id,
            organisation: row.organisation,
            guild: row.guild,
            machine: row.machine,
            machine_address: row.machine_address,
            slot: u8::try_from(row.slot).map_err(|error| sqlx::Error::Decode(error.into()))?,
            config: row.config.0,
        })
    })
    .transpose()
}

/// Holds an agent where it is until the transaction ends: it is neither moved nor deleted
/// meanwhile. False when there is none of that id any more.
///
/// # Errors
/// When the database does not answer.
pub async fn hold(db: &mut PgConnection, id: &str) -> sqlx::Result<bool> {
    let held = sqlx::query("SELECT FROM agents WHERE id = $1 FOR KEY SHARE")
        .bind(id)
        .fetch_optional(db)
        .await?;
    Ok(held.is_some())
}

/// Those of some ids that are agents of a guild.
///
/// # Errors
/// When the database does not answer.
pub async fn of_guild(
    db: &mut PgConnection,
    organisation: &str,
    guild: &str,
    ids: &[String],
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT id FROM agents WHERE organisation = $1 AND guild = $2 AND id = ANY($3) ORDER BY id",
    )
    .bind(organisation)
    .bind(guild)
    .bind(ids)
    .fetch_all(db)
    .await
}

/// Whether text is an id of the contract's grammar: `^[a-z][a-z0-9-]{0,30}$`.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let tail = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 31
        && text
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_lowercase())
        && text.bytes().all(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_opens_with_a_letter_and_has_at_most_31_characters() {
        for good in ["a", "ada-2", "abcdefghijklmnopqrstuvwxyz01234"] {
            assert!(is_id(good), "{good}");
        }
        let long = "abcdefghijklmnopqrstuvwxyz012345";
        for bad in ["", "1a", "-a", "Ada", "a_b", "a\0", "ä", long] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
