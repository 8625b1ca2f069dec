//! The isolated worlds that hold the page script, so that one document gets no more than one of them.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};

use serde::{Deserialize, Serialize};

/// A page can have as many frames as it likes.
const MOST: usize = 100;

/// What the page script is found by, and where it was left.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worlds {
    /// A name that tells this page script from an older one and that no page can guess.
    #[serde(default)]
    pub name: String,
    /// Newest last.
    #[serde(default)]
    known: Vec<World>,
}

/// Context ids of Chrome; they die with their document, and others may get them then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct World {
    frame: String,
    context: i64,
}

impl Worlds {
    /// The same worlds when they hold this page script, else none under a new name.
    #[must_use]
    pub fn holding(self, script: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        script.hash(&mut hasher);
        let prefix = format!("guilds-{:016x}-", hasher.finish());
        if self.name.starts_with(&prefix) {
            return self;
        }
        let secret = RandomState::new().hash_one(std::process::id());
        Self {
            name: format!("{prefix}{secret:016x}"),
            known: Vec::new(),
        }
    }

    /// The context that was left in this frame; it may be gone.
    #[must_use]
    pub fn of(&self, frame: &str) -> Option<i64> {
        self.known
            .iter()
            .find(|world| world.frame == frame)
            .map(|world| world.context)
    }

    /// Notes the context made in this frame.
    pub fn enter(&mut self, frame: &str, context: i64) {
        self.known.retain(|world| world.frame != frame);
        if self.known.len() >= MOST {
            self.known.remove(0);
        }
        self.known.push(World {
            frame: frame.to_owned(),
            context,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_the_newest_of_its_worlds() {
        let mut worlds = Worlds::default();
        assert_eq!(worlds.of("F"), None);
        worlds.enter("F", 3);
        worlds.enter("G", 4);
        worlds.enter("F", 9);
        assert_eq!(worlds.of("F"), Some(9));
        assert_eq!(worlds.of("G"), Some(4));
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let mut worlds = Worlds::default();
        for number in 0..101 {
            worlds.enter(&format!("F{number}"), number);
        }
        assert_eq!(worlds.of("F0"), None);
        assert_eq!(worlds.of("F1"), Some(1));
        assert_eq!(worlds.of("F100"), Some(100));
    }

    #[test]
    fn another_page_script_has_a_name_of_its_own_and_no_worlds() {
        let mut first = Worlds::default().holding("one");
        first.enter("F", 3);
        assert_eq!(first.clone().holding("one"), first);
        let second = first.clone().holding("two");
        assert_eq!(second.of("F"), None);
        assert_ne!(second.name, first.name);
        // The same script under another memory is not found by the same name.
        assert_ne!(Worlds::default().holding("one").name, first.name);
    }
}
