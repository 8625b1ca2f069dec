//! The front's own nftables table: DevTools ports of its slots answer root and their agent only.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use crate::config::Config;
use crate::spawn;

mod generation;
mod listing;
mod ruleset;

use listing::Listing;

/// The table, and what is known of it.
#[derive(Debug)]
pub struct Table {
    name: String,
    /// The front's own port, which agents have no business with.
    own_port: u16,
    /// Uids of agents.
    uids: (u32, u32),
    /// One command of `nft` at a time.
    turn: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Uid that may connect, by port.
    owners: BTreeMap<u16, u32>,
    /// What `nft` listed right after the last load.
    loaded: Option<Listing>,
    /// The kernel's generation of all rules when the table was last seen whole.
    seen: Option<u32>,
}

/// Why the table doesn't protect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FirewallError(String);

impl Table {
    /// A table that isn't loaded yet.
    pub fn new(config: &Config) -> Self {
        Self {
            name: config.firewall_table.clone(),
            own_port: config.listen.port(),
            uids: (config.uid_min, config.uid_max),
            turn: Semaphore::new(1),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives `port` to `uid`, and loads the table when that or the table changed.
    ///
    /// # Errors
    /// When `nft` refuses.
    pub async fn give(&self, port: u16, uid: u32) -> Result<(), FirewallError> {
        let changed = {
            let mut state = self.state();
            let fresh = state.owners.get(&port) != Some(&uid);
            // An agent that moved to another slot leaves its old port.
            state
                .owners
                .retain(|other, owner| *other == port || *owner != uid);
            state.owners.insert(port, uid);
            fresh
        };
        if changed || self.check(port, uid).await.is_err() {
            self.load().await?;
        }
        Ok(())
    }

    /// Whether `port` was given to `uid` and to nobody since.
    pub fn names(&self, port: u16, uid: u32) -> bool {
        self.state().owners.get(&port) == Some(&uid)
    }

    /// Loads the table whole, in one transaction of the kernel.
    ///
    /// # Errors
    /// When `nft` refuses.
    pub async fn load(&self) -> Result<(), FirewallError> {
        let _turn = self.turn.acquire().await.map_err(error)?;
        let owners = self.state().owners.clone();
        let rules = ruleset::write(&self.name, &owners, self.own_port, self.uids);
        nft(&["--file", "-"], &rules).await?;
        let seen = generation::current().map_err(error)?;
        let loaded = self.list().await?;
        let mut state = self.state();
        state.loaded = Some(loaded);
        state.seen = Some(seen);
        Ok(())
    }

    /// Looks whether the table is as it was loaded. As long as nobody changed
    /// any rule of the machine this is one question to the kernel.
    ///
    /// # Errors
    /// A sentence when it is gone, changed, or doesn't name this agent.
    pub async fn check(&self, port: u16, uid: u32) -> Result<(), FirewallError> {
        let now = generation::current().map_err(error)?;
        let (owner, seen) = {
            let state = self.state();
            (state.owners.get(&port).copied(), state.seen)
        };
        if owner != Some(uid) {
            return Err(self.gone("does not name this agent"));
        }
        if seen == Some(now) {
            return Ok(());
        }
        let _turn = self.turn.acquire().await.map_err(error)?;
        let listed = self.list().await.map_err(|_| self.gone("is gone"))?;
        let mut state = self.state();
        if state.loaded.as_ref() != Some(&listed) {
            state.seen = None;
            return Err(self.gone("was changed"));
        }
        state.seen = Some(now);
        Ok(())
    }

    /// Removes the table.
    pub async fn remove(&self) {
        if let Err(error) = nft(&["delete", "table", "inet", &self.name], "").await {
            tracing::warn!(%error, "the firewall table");
        }
    }

    async fn list(&self) -> Result<Listing, FirewallError> {
        let text = nft(
            &["--json", "--stateless", "list", "table", "inet", &self.name],
            "",
        )
        .await?;
        Listing::parse(&text).map_err(error)
    }

    fn gone(&self, how: &str) -> FirewallError {
        FirewallError(format!(
            "the firewall table inet {} {how}, so no browser call is made; the next run of the agent loads it again",
            self.name
        ))
    }
}

fn error(error: impl std::fmt::Display) -> FirewallError {
    FirewallError(format!("the firewall: {error}"))
}

async fn nft(arguments: &[&str], input: &str) -> Result<String, FirewallError> {
    let outcome = spawn::system("nft", arguments, input)
        .await
        .map_err(error)?;
    if outcome.code == Some(0) {
        return Ok(outcome.stdout);
    }
    Err(FirewallError(format!(
        "nft {} ended with {:?}: {}",
        arguments.join(" "),
        outcome.code,
        outcome.stderr.trim()
    )))
}
