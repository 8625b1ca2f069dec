//! What one call leaves for the next: which tab is the current one and which were known.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files;
use crate::problem::Problem;
use crate::worlds::Worlds;

const FOLDER: &str = ".cache/guilds";
const NAME: &str = "browser.json";
const MOST_BYTES: u64 = 64 * 1024;

/// Target ids of Chrome; they die with it, and then mean nothing.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The tab the last call worked in.
    #[serde(default)]
    pub current: Option<String>,
    /// The tab that opened it, to go back to.
    #[serde(default)]
    pub opener: Option<String>,
    /// Path of the browser's own WebSocket; another Chrome has another one.
    #[serde(default)]
    pub browser: Option<String>,
    /// Every tab there was.
    #[serde(default)]
    pub known: Vec<String>,
    /// When the newest download came that was told, in nanoseconds since 1970.
    #[serde(default)]
    pub downloaded: Option<i64>,
    /// Where the page script was left.
    #[serde(default)]
    pub worlds: Worlds,
}

impl Memory {
    /// What was left; nothing when the file is missing or is not ours.
    pub fn load(home: &Path) -> Self {
        let path = home.join(FOLDER).join(NAME);
        let fits = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= MOST_BYTES);
        if !fits {
            return Self::default();
        }
        fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Leaves it for the next call.
    pub fn store(&self, home: &Path) -> Result<(), Problem> {
        files::replace(home, FOLDER, NAME, &serde_json::to_vec(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_loaded_and_rubbish_is_nothing() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Memory::load(home.path()), Memory::default());
        let memory = Memory {
            current: Some("A".to_owned()),
            opener: None,
            browser: Some("/devtools/browser/b".to_owned()),
            known: vec!["A".to_owned()],
            downloaded: Some(1_796_000_000_000_000_000),
            worlds: Worlds::default().holding("script"),
        };
        memory.store(home.path()).unwrap();
        assert_eq!(Memory::load(home.path()), memory);
        fs::write(home.path().join(FOLDER).join(NAME), b"{").unwrap();
        assert_eq!(Memory::load(home.path()), Memory::default());
    }
}
