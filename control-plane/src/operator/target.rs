//! Exactly one of agent, guild and organisation: where a binding or a login stands, whom an access row is for.

use super::Session;
use super::plan::Planning;
use super::reader::{Place, Problems, Table};
use crate::store::bindings::Level;

/// The keys that name one.
pub(super) const KEYS: [&str; 3] = ["agent", "guild", "organisation"];

/// One of the three.
#[derive(Debug, Clone)]
pub(super) struct Target {
    at: Place,
    pub(super) level: Level,
    pub(super) owner: String,
}

impl Target {
    /// Reads it from the keys of a table.
    pub(super) fn read(
        table: &Table<'_>,
        session: &Session<'_>,
        problems: &mut Problems,
    ) -> Option<Self> {
        let given: Vec<&str> = KEYS
            .into_iter()
            .filter(|key| table.get(key).is_some())
            .collect();
        let [key] = given.as_slice() else {
            let found = if given.is_empty() {
                "none".to_owned()
            } else {
                given.join(" and ")
            };
            problems.add(
                &table.at,
                format!(
                    "names {found}; exactly one of agent, guild and organisation = true is expected"
                ),
            );
            return None;
        };
        let (at, _) = table.get(key)?;
        if *key == "organisation" {
            if !table.boolean(key, problems)? {
                problems.add(&at, "is false; leave it out, or say true");
                return None;
            }
            return Some(Self {
                at,
                level: Level::Organisation,
                owner: session.organisation.to_owned(),
            });
        }
        let (at, owner) = table.id(key, problems)?;
        let level = Level::parse(key)?;
        Some(Self { at, level, owner })
    }

    /// Refuses an agent or a guild that there is not.
    pub(super) fn check(&self, cx: &mut Planning<'_>) {
        if self.level != Level::Organisation {
            cx.refer(&self.at, self.level.as_str(), &self.owner);
        }
    }
}

/// Adds the key of a level and its owner to an object of a document.
pub(super) fn write(object: &mut serde_json::Value, level: &str, owner: &str) {
    object[level] = if level == Level::Organisation.as_str() {
        true.into()
    } else {
        owner.into()
    };
}
