//! What entries may refer to: names that are stored, and those the same document brings.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;

use super::KINDS;
use super::document::Document;

/// Names by the word for one of their kind.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<&'static str, BTreeSet<String>>);

static NONE: BTreeSet<String> = BTreeSet::new();

impl Known {
    /// Names of an organisation and of a document.
    ///
    /// # Errors
    /// When the database does not answer.
    pub(super) async fn look(
        db: &mut PgConnection,
        organisation: &str,
        document: &Document,
    ) -> sqlx::Result<Self> {
        let mut known = Self::default();
        if document.entries.iter().all(|entries| entries.is_empty()) {
            return Ok(known);
        }
        for kind in KINDS {
            let stored = kind.names(db, organisation).await?;
            known.0.entry(kind.one()).or_default().extend(stored);
        }
        for entries in &document.entries {
            known
                .0
                .entry(entries.one())
                .or_default()
                .extend(entries.ids());
        }
        Ok(known)
    }

    /// Every name of a kind.
    pub(super) fn of(&self, one: &str) -> &BTreeSet<String> {
        self.0.get(one).unwrap_or(&NONE)
    }
}
