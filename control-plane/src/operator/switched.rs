//! Which agents see something go on or off when a binding goes.

use sqlx::PgConnection;

use super::Session;
use super::removal::{Effect, Use};
use crate::store::agents::roster;
use crate::store::bindings::rows::{self, Row};
use crate::store::bindings::{self, Binding, Level};
use crate::tools::{Family, names};

/// The agents for whom a tool or connector resolves otherwise without a binding.
///
/// # Errors
/// When the database does not answer.
pub(super) async fn uses(
    db: &mut PgConnection,
    session: &Session<'_>,
    id: &str,
) -> sqlx::Result<Vec<Use>> {
    let stored = rows::load(db, session.organisation, Some(&[id.to_owned()])).await?;
    let Some(row) = stored.into_iter().next() else {
        return Ok(Vec::new());
    };
    let switches = switches(&row);
    let mut words: Vec<String> = switches
        .iter()
        .flat_map(|(tool, family)| [(*tool).to_owned(), (*family).to_owned()])
        .collect();
    words.dedup();
    let related = rows::of_names(db, session.organisation, &words).await?;
    let seats = roster::seats(db, session.organisation).await?;
    let mut uses = Vec::new();
    for (agent, guild, ..) in &seats {
        let reaches = |row: &&Row| match Level::parse(&row.level) {
            Some(Level::Agent) => row.owner == *agent,
            Some(Level::Guild) => row.owner == *guild,
            Some(Level::Organisation) => true,
            None => false,
        };
        if !reaches(&&row) {
            continue;
        }
        let now: Vec<Binding> = related.iter().filter(reaches).filter_map(binding).collect();
        let without: Vec<Binding> = related
            .iter()
            .filter(reaches)
            .filter(|other| other.id != row.id)
            .filter_map(binding)
            .collect();
        let changed: Vec<&str> = switches
            .iter()
            .filter(|(tool, family)| {
                bindings::enabled(&now, tool, family) != bindings::enabled(&without, tool, family)
            })
            .map(|(tool, _)| *tool)
            .collect();
        if !changed.is_empty() {
            let (was, becomes) = if row.enabled {
                ("on", "off")
            } else {
                ("off", "on")
            };
            let message = format!(
                "{} is {was} for agent {agent} by this binding, and {becomes} without it",
                changed.join(", ")
            );
            uses.push(Use::new("agents", agent.as_str(), Effect::Loses, message));
        }
    }
    Ok(uses)
}

/// What a row switches, each with its family; a connector is its own.
fn switches(row: &Row) -> Vec<(&str, &str)> {
    let name = row.name();
    if row.connector.is_some() {
        return vec![(name, name)];
    }
    if Family::ALL.iter().any(|family| family.as_str() == name) {
        return names::all()
            .filter_map(|(tool, family)| Some((tool, family?.as_str())))
            .filter(|(_, family)| *family == name)
            .collect();
    }
    names::all()
        .filter_map(|(tool, family)| Some((tool, family?.as_str())))
        .filter(|(tool, _)| *tool == name)
        .collect()
}

fn binding(row: &Row) -> Option<Binding> {
    Some(Binding {
        level: Level::parse(&row.level)?,
        tool: row.name().to_owned(),
        enabled: row.enabled,
    })
}
