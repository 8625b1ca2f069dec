//! Which agent has which slot: the front's own record, since a runner's word for it can't be trusted.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Whose an agent is, and its slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Organisation id.
    pub organisation: String,
    /// 0 to 99.
    pub slot: u8,
}

/// The record, kept in a file for the next start.
#[derive(Debug)]
pub struct Places {
    path: PathBuf,
    places: Mutex<BTreeMap<String, Place>>,
}

impl Places {
    /// Reads what an earlier front wrote.
    ///
    /// # Errors
    /// When the file is there and can't be read as what it should be.
    pub fn load(state_dir: &Path) -> io::Result<Self> {
        let path = state_dir.join("agents.json");
        let places = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            path,
            places: Mutex::new(places),
        })
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<String, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ids of all agents.
    pub fn agents(&self) -> Vec<String> {
        self.places().keys().cloned().collect()
    }

    /// Where an agent was last.
    pub fn of(&self, agent: &str) -> Option<Place> {
        self.places().get(agent).cloned()
    }

    /// The other agent that has `slot`.
    pub fn holder(&self, agent: &str, slot: u8) -> Option<String> {
        self.places()
            .iter()
            .find(|(other, place)| *other != agent && place.slot == slot)
            .map(|(other, _)| other.clone())
    }

    /// Gives `agent` its place; whoever had the slot has none from then on.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn give(&self, agent: &str, place: &Place) -> io::Result<()> {
        let mut places = self.places();
        if places.get(agent) == Some(place) {
            return Ok(());
        }
        places.retain(|other, held| other == agent || held.slot != place.slot);
        places.insert(agent.to_owned(), place.clone());
        let text = serde_json::to_vec_pretty(&*places)?;
        let fresh = self.path.with_extension("new");
        std::fs::write(&fresh, text)?;
        std::fs::rename(&fresh, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(slot: u8) -> Place {
        Place {
            organisation: "demo".to_owned(),
            slot,
        }
    }

    #[test]
    fn a_slot_has_one_agent_and_the_next_start_knows_it() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::load(folder.path()).unwrap();
        places.give("ada", &place(1)).unwrap();
        places.give("bob", &place(2)).unwrap();
        assert_eq!(places.holder("ada", 2), Some("bob".to_owned()));
        assert_eq!(places.holder("ada", 1), None);
        places.give("ada", &place(2)).unwrap();
        let again = Places::load(folder.path()).unwrap();
        assert_eq!(again.of("ada"), Some(place(2)));
        assert_eq!(again.agents(), vec!["ada".to_owned()]);
    }
}
