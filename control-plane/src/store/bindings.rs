//! Bindings: rows that switch a tool or a family on or off at one level.

use sqlx::PgConnection;

use super::agents::Agent;

pub mod rows;

/// Where a binding stands; the nearest to the agent decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The agent's own.
    Agent,
    /// Its guild's.
    Guild,
    /// Its organisation's.
    Organisation,
}

impl Level {
    /// Every level, nearest first.
    pub const ALL: [Self; 3] = [Self::Agent, Self::Guild, Self::Organisation];

    /// The word in the database and in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Guild => "guild",
            Self::Organisation => "organisation",
        }
    }

    /// The level a word names.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }

    /// Who an agent's rows of this level belong to.
    #[must_use]
    pub fn owner(self, agent: &Agent) -> &str {
        match self {
            Self::Agent => &agent.id,
            Self::Guild => &agent.guild,
            Self::Organisation => &agent.organisation,
        }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Where it stands.
    pub level: Level,
    /// A tool's name or a family's word.
    pub tool: String,
    /// What it says.
    pub enabled: bool,
}

/// The rows that touch an agent: its own, its guild's and its organisation's, nearest first.
///
/// # Errors
/// When the database does not answer.
pub async fn for_agent(db: &mut PgConnection, agent: &Agent) -> sqlx::Result<Vec<Binding>> {
    let rows: Vec<(String, String, bool)> = sqlx::query_as(
        "SELECT level, tool, enabled FROM bindings
         WHERE organisation = $3
           AND (level, owner) IN (('agent', $1), ('guild', $2), ('organisation', $3))
         ORDER BY level COLLATE \"C\", tool",
    )
    .bind(&agent.id)
    .bind(&agent.guild)
    .bind(&agent.organisation)
    .fetch_all(db)
    .await?;
    // The three words happen to sort from the nearest level to the farthest.
    Ok(rows
        .into_iter()
        .filter_map(|(level, tool, enabled)| {
            Level::parse(&level).map(|level| Binding {
                level,
                tool,
                enabled,
            })
        })
        .collect())
}

/// The row that decides about a tool of a family: that of the nearest level with
/// one, and on one level the tool's own before its family's.
#[must_use]
pub fn deciding<'a>(bindings: &'a [Binding], tool: &str, family: &str) -> Option<&'a Binding> {
    Level::ALL
        .into_iter()
        .find_map(|level| at(bindings, level, tool).or_else(|| at(bindings, level, family)))
}

/// The row of a tool or family at one level.
#[must_use]
pub fn at<'a>(bindings: &'a [Binding], level: Level, word: &str) -> Option<&'a Binding> {
    bindings
        .iter()
        .find(|binding| binding.level == level && binding.tool == word)
}

/// Whether a tool of a family is on: the deciding row's word, no row means enabled.
#[must_use]
pub fn enabled(bindings: &[Binding], tool: &str, family: &str) -> bool {
    deciding(bindings, tool, family).is_none_or(|binding| binding.enabled)
}

/// Ids of an organisation's connectors, which are bound like tools.
///
/// # Errors
/// When the database does not answer.
pub async fn connectors(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("SELECT id FROM connectors WHERE organisation = $1 ORDER BY id")
        .bind(organisation)
        .fetch_all(db)
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rows: &[(Level, &str, bool)], tool: &str, family: &str, expected: bool) {
        let bindings: Vec<Binding> = rows
            .iter()
            .map(|&(level, tool, enabled)| Binding {
                level,
                tool: tool.to_owned(),
                enabled,
            })
            .collect();
        assert_eq!(enabled(&bindings, tool, family), expected);
    }

    #[test]
    fn the_nearest_level_with_a_row_decides() {
        use Level::{Agent, Guild, Organisation};
        check(&[], "note_get", "note", true);
        check(&[(Organisation, "note", false)], "note_get", "note", false);
        check(
            &[(Organisation, "note", false), (Guild, "note", true)],
            "note_get",
            "note",
            true,
        );
        check(
            &[(Guild, "note_get", true), (Agent, "note", false)],
            "note_get",
            "note",
            false,
        );
    }

    #[test]
    fn on_one_level_the_tools_own_row_beats_its_familys() {
        use Level::Guild;
        let rows = [(Guild, "note", false), (Guild, "note_get", true)];
        check(&rows, "note_get", "note", true);
        check(&rows, "note_write", "note", false);
        check(&rows, "script_run", "script", true);
    }
}
