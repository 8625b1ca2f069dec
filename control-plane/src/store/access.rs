//! Access: what an agent may do with an artifact of its organisation.

use serde::Serialize;

pub mod list;

/// What an agent may do; an artifact without any is as if it did not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Nothing.
    None,
    /// Read it.
    Read,
    /// Read, change and delete it.
    Write,
}

impl Access {
    /// The access a word names; an unknown word opens nothing.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word {
            "write" => Self::Write,
            "read" => Self::Read,
            _ => Self::None,
        }
    }

    /// The word in the database and in results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// SQL that answers the access of agent `$1` in guild `$2` of organisation `$3`
/// to the artifact `a`: its own agent-level ones are its to write; else its own
/// row decides, and without one the better of its guild's and its
/// organisation's. The three words happen to sort from the least to the most.
macro_rules! access_sql {
    () => {
        "CASE WHEN a.level = 'agent' AND a.owner = $1 THEN 'write' ELSE COALESCE(
            (SELECT x.access FROM artifact_access x
              WHERE x.artifact = a.id AND x.level = 'agent' AND x.owner = $1),
            (SELECT max(x.access COLLATE \"C\") FROM artifact_access x
              WHERE x.artifact = a.id
                AND (x.level, x.owner) IN (('guild', $2), ('organisation', $3))),
            'none') END"
    };
}
pub(super) use access_sql;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_sort_from_the_least_to_the_most() {
        let mut words = ["write", "none", "read"];
        words.sort_unstable();
        assert_eq!(words, ["none", "read", "write"]);
        assert_eq!(words.map(Access::parse).map(Access::as_str), words);
        assert!(Access::None < Access::Read && Access::Read < Access::Write);
    }
}
