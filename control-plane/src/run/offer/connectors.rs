//! The tools of connectors as a run offers them: named, mended and rewritten once, by pure functions.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::naming;
use crate::run::schema::repair::{Fitted, fit};
use crate::tools::validation::shown;

/// A tool as the login of a connector lists it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// What the connector calls it.
    pub name: String,
    /// Its words; empty when there are none.
    pub description: String,
    /// Its schema as published; none is an object without keys.
    pub input_schema: Option<Box<RawValue>>,
}

/// What the login that resolves for an agent lists.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Connector id.
    pub connector: String,
    /// Its tools.
    pub tools: Vec<Listed>,
}

/// A connector's tool in a run.
#[derive(Debug, Clone)]
pub struct ConnectorTool {
    /// Name a model calls it by.
    pub name: String,
    /// Whose it is.
    pub connector: String,
    /// What the connector calls it.
    pub tool: String,
    /// Its words.
    pub description: String,
    /// What arguments are checked against.
    pub validates: Box<RawValue>,
    /// What a model sees of it.
    pub input_schema: Box<RawValue>,
    /// False when the login has it switched off.
    pub on: bool,
}

/// Prepares what logins list. Names depend on everything that is listed and not on
/// what is switched on, so that a switch renames nothing. The second answer is a
/// notice for each tool that is left out.
#[must_use]
pub fn prepare(listings: &[Listing]) -> (Vec<ConnectorTool>, Vec<String>) {
    let mut notices = Vec::new();
    let mut tools: Vec<(&str, &Listed, Fitted)> = Vec::new();
    for listing in sorted(listings) {
        let mut seen = HashSet::new();
        let mut all: Vec<&Listed> = listing.tools.iter().collect();
        // The order in which a server lists is nobody's promise.
        all.sort_by(|a, b| a.name.cmp(&b.name));
        for tool in all {
            match usable(tool, &mut seen) {
                Ok(fitted) => tools.push((&listing.connector, tool, fitted)),
                Err(why) => notices.push(format!(
                    "connector {}: tool {} is left out: {why}",
                    listing.connector,
                    shown(&tool.name)
                )),
            }
        }
    }
    let listed = tools
        .iter()
        .map(|(connector, tool, _)| (*connector, &*tool.name));
    let names: Vec<String> = naming::names(listed).collect();
    let named = tools.into_iter().zip(names);
    let prepared = named.map(|((connector, tool, fitted), name)| ConnectorTool {
        name,
        connector: connector.to_owned(),
        tool: tool.name.clone(),
        description: tool.description.clone(),
        validates: fitted.validates,
        input_schema: fitted.shown,
        on: true,
    });
    (prepared.collect(), notices)
}

fn sorted(listings: &[Listing]) -> Vec<&Listing> {
    let mut sorted: Vec<&Listing> = listings.iter().collect();
    sorted.sort_by(|a, b| a.connector.cmp(&b.connector));
    sorted
}

fn usable<'a>(tool: &'a Listed, seen: &mut HashSet<&'a str>) -> Result<Fitted, String> {
    if tool.name.is_empty() {
        return Err("it has no name".to_owned());
    }
    if !seen.insert(&tool.name) {
        return Err("the connector lists the name twice".to_owned());
    }
    let schema = tool.input_schema.as_deref().map_or("null", RawValue::get);
    fit(schema).map_err(|unfit| unfit.to_string())
}

#[cfg(test)]
mod tests;
