//! What every part of a run shares: the database, the machines, the keys, and what is in flight here.

use std::sync::Arc;

use ring::hmac;
use sqlx::PgPool;

use super::inflight::Inflight;
use super::redaction::Redactions;
use super::result::MACHINE_SLACK_BYTES;
use super::snapshot::Snapshots;
use super::tasks::Tasks;
use super::token;
use crate::machine::Machines;
use crate::metrics::Metrics;
use crate::store::events::feed::Feed;
use crate::store::standing::followers::Followers;
use crate::vault::Vault;

/// The engine of all runs on this replica. No truth lives in it: what it caches
/// never changes or is compared with the database where it counts, and what it
/// knows of calls in flight only saves time.
#[derive(Debug)]
pub struct Engine {
    pub(crate) pool: PgPool,
    pub(crate) metrics: Metrics,
    pub(super) machines: Machines,
    pub(super) digest_key: hmac::Key,
    pub(super) run_key: hmac::Key,
    pub(crate) vault: Vault,
    pub(super) cap_bytes: usize,
    pub(super) redactions: Redactions,
    pub(super) inflight: Inflight,
    pub(super) snapshots: Snapshots,
    pub(super) tasks: Tasks,
    feed: Feed,
    followers: Followers,
}

impl Engine {
    /// An engine over a database. `digest_key` keys the digests of calls, so it
    /// must be the same on every replica.
    #[must_use]
    pub fn new(
        pool: PgPool,
        machines: Machines,
        digest_key: &[u8; 32],
        vault: Vault,
        cap_bytes: usize,
    ) -> Arc<Self> {
        let digest_key = hmac::Key::new(hmac::HMAC_SHA256, digest_key);
        Arc::new(Self {
            pool,
            metrics: Metrics::default(),
            machines,
            run_key: token::derived_key(&digest_key),
            digest_key,
            vault,
            cap_bytes,
            redactions: Redactions::default(),
            inflight: Inflight::default(),
            snapshots: Snapshots::default(),
            tasks: Tasks::default(),
            feed: Feed::default(),
            followers: Followers::default(),
        })
    }

    /// The database.
    #[must_use]
    pub const fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// What seals and opens secrets and the keys of logins.
    #[must_use]
    pub const fn vault(&self) -> &Vault {
        &self.vault
    }

    /// What wakes the readers of events.
    #[must_use]
    pub const fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Those who follow how runs stand.
    #[must_use]
    pub const fn followers(&self) -> &Followers {
        &self.followers
    }

    /// The counters.
    #[must_use]
    pub const fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Most bytes of output that a machine is asked for.
    pub(super) const fn max_output_bytes(&self) -> u64 {
        self.cap_bytes as u64 + MACHINE_SLACK_BYTES
    }
}
