//! What each organisation's texts are redacted with: kept while the database says that it is current.
//!
//! Nothing here is a truth. Every statement that stores a redacted text names the version of
//! the secrets that were taken out of it and stores nothing when that is old; then they are
//! read again, and the text, kept unredacted until then, is redacted again.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::PgConnection;
use uuid::Uuid;

use super::engine::Engine;
use super::error::RunError;
use super::result::{Redactor, Secret};
use super::view::not_found;
use crate::store::runs;
use crate::store::secrets::live::{self, Live};
use crate::telemetry::chain;
use crate::vault::{Vault, VaultError};

/// Organisations whose redactors are kept.
const KEPT_ORGANISATIONS: usize = 256;
/// Runs whose organisations are kept.
const KEPT_RUNS: usize = 8_192;

/// Redactors by organisation, and organisations by run.
#[derive(Debug)]
pub struct Redactions {
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    redactors: Bounded<String, Arc<Redactor>>,
    /// A run's organisation never changes.
    runs: Bounded<Uuid, Arc<str>>,
}

impl Default for Redactions {
    fn default() -> Self {
        Self {
            kept: Mutex::new(Kept {
                redactors: Bounded::new(KEPT_ORGANISATIONS),
                runs: Bounded::new(KEPT_RUNS),
            }),
        }
    }
}

impl Redactions {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        // An insert is whole after any panic.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A map that forgets what came first.
#[derive(Debug)]
struct Bounded<K, V> {
    most: usize,
    map: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K: Eq + Hash + Clone, V: Clone> Bounded<K, V> {
    fn new(most: usize) -> Self {
        Self {
            most,
            map: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    fn put(&mut self, key: K, value: V) {
        if self.map.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > self.most {
            if let Some(oldest) = self.order.pop_front() {
                self.map.remove(&oldest);
            }
        }
    }
}

impl Engine {
    /// What an organisation's texts are redacted with now, for a text that is answered and
    /// not stored.
    ///
    /// # Errors
    /// When the database does not answer, or [`RunError::Unavailable`] when a value can't be
    /// opened: a text is never given out when it is not known what must not be in it.
    pub(crate) async fn redactor(
        &self,
        db: &mut PgConnection,
        organisation: &str,
    ) -> Result<Arc<Redactor>, RunError> {
        if let Some(kept) = self.kept_redactor(organisation)
            && kept.version() == live::version(db, organisation).await?
        {
            return Ok(kept);
        }
        self.read_redactor(db, organisation).await
    }

    /// What an organisation's texts were redacted with last, for a text whose storing
    /// statement looks at the version.
    pub(super) async fn redactor_at_hand(
        &self,
        db: &mut PgConnection,
        organisation: &str,
    ) -> Result<Arc<Redactor>, RunError> {
        match self.kept_redactor(organisation) {
            Some(kept) => Ok(kept),
            None => self.read_redactor(db, organisation).await,
        }
    }

    /// What an organisation's texts were redacted with last, if this replica knows.
    pub(super) fn kept_redactor(&self, organisation: &str) -> Option<Arc<Redactor>> {
        self.redactions
            .lock()
            .redactors
            .map
            .get(organisation)
            .cloned()
    }

    /// Reads an organisation's secrets again. Inside a transaction that stored some it sees
    /// those too; should they be rolled back, their version never comes again.
    pub(super) async fn read_redactor(
        &self,
        db: &mut PgConnection,
        organisation: &str,
    ) -> Result<Arc<Redactor>, RunError> {
        let live = live::read(db, organisation).await?;
        let built = build(&self.vault, live).await;
        let redactor = Arc::new(built.map_err(|error| {
            tracing::error!(
                organisation,
                error = chain(&error),
                "the secrets of an organisation can't be read, so none of its calls is answered"
            );
            RunError::Unavailable(
                "the organisation's secrets can't be read, so results can't be redacted; the operator's log has the cause".to_owned(),
            )
        })?);
        self.redactions
            .lock()
            .redactors
            .put(organisation.to_owned(), Arc::clone(&redactor));
        Ok(redactor)
    }

    /// The organisation of a run.
    pub(super) async fn organisation_of(&self, run: Uuid) -> Result<Arc<str>, RunError> {
        let kept = self.redactions.lock().runs.map.get(&run).cloned();
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let mut db = self.pool.acquire().await?;
        let found = runs::find(&mut db, run).await?;
        let found = found.ok_or_else(|| not_found(run))?;
        Ok(self.note_organisation(&found))
    }

    /// Keeps the organisation of a run that was just read.
    pub(super) fn note_organisation(&self, run: &runs::Run) -> Arc<str> {
        let organisation: Arc<str> = run.organisation.as_str().into();
        self.redactions
            .lock()
            .runs
            .put(run.id, Arc::clone(&organisation));
        organisation
    }
}

/// Why there is no redactor.
#[derive(Debug, thiserror::Error)]
enum BuildError {
    #[error("the value of {name} can't be opened")]
    Closed {
        name: String,
        #[source]
        error: VaultError,
    },
    #[error("the building of the finder of secrets ended")]
    Ended,
}

/// Opens the values and builds the finder, which for a thousand values takes long enough to
/// be in the way of other calls.
async fn build(vault: &Vault, live: Live) -> Result<Redactor, BuildError> {
    let mut secrets = Vec::with_capacity(live.values.len());
    for value in live.values {
        match vault.open(value.row, &value.sealed).await {
            Ok(opened) => secrets.push(Secret {
                name: value.name,
                value: opened,
            }),
            Err(error) => {
                return Err(BuildError::Closed {
                    name: value.name,
                    error,
                });
            }
        }
    }
    let version = live.version;
    let built = tokio::task::spawn_blocking(move || Redactor::new(version, secrets)).await;
    built.map_err(|_| BuildError::Ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_map_forgets_what_came_first() {
        let mut map = Bounded::new(2);
        for (key, value) in [(1, "a"), (2, "b"), (1, "c"), (3, "d")] {
            map.put(key, value);
        }
        assert_eq!(map.map.get(&1), None);
        assert_eq!(map.map.get(&2), Some(&"b"));
        assert_eq!(map.map.get(&3), Some(&"d"));
        assert_eq!(map.order.len(), 2);
    }
}
