//! The agents this front serves: one keeper task each, and the bounds on what may be asked at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Front;
use super::keeper::{Ask, Care, Keeper, Ready};
use super::places::Place;
use crate::answer::Refused;
use crate::runner::FIRST_PORT;

/// Requests of one agent in flight.
const MOST_OF_ONE: usize = 512;
/// Requests of all agents in flight.
const MOST_OF_ALL: usize = 2_048;
/// Agents one front keeps; slots end long before.
const MOST_AGENTS: usize = 1_000;
/// How long making an agent ready may take.
const READY: Duration = Duration::from_secs(60);
/// How long all runners together may take to stop.
const STOP: Duration = Duration::from_secs(15);

/// All agents.
#[derive(Debug)]
pub struct Agents {
    front: Arc<Front>,
    inner: Mutex<Inner>,
    passes: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Inner {
    handles: HashMap<String, Arc<Handle>>,
    keepers: JoinSet<()>,
}

/// One agent, as requests see it.
#[derive(Debug)]
pub struct Handle {
    agent: String,
    asks: mpsc::Sender<Ask>,
    passes: Arc<Semaphore>,
}

/// A request in flight, counted.
#[derive(Debug)]
pub struct Pass {
    _one: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Agents {
    /// None yet.
    pub fn new(front: Arc<Front>) -> Self {
        Self {
            front,
            inner: Mutex::default(),
            passes: Arc::new(Semaphore::new(MOST_OF_ALL)),
        }
    }

    /// What all tasks share.
    pub fn front(&self) -> &Front {
        &self.front
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent's handle; its keeper starts with it.
    ///
    /// # Errors
    /// 429 when there are too many agents.
    pub fn handle(&self, agent: &str) -> Result<Arc<Handle>, Refused> {
        let mut inner = self.inner();
        if let Some(handle) = inner.handles.get(agent) {
            return Ok(Arc::clone(handle));
        }
        if inner.handles.len() >= MOST_AGENTS {
            return Err(Refused::too_many(format!(
                "this machine was asked for {MOST_AGENTS} agents, at most so many are kept"
            )));
        }
        let (asks, asked) = mpsc::channel(64);
        let handle = Arc::new(Handle {
            agent: agent.to_owned(),
            asks,
            passes: Arc::new(Semaphore::new(MOST_OF_ONE)),
        });
        let keeper = Keeper::new(Arc::clone(&self.front), agent.to_owned());
        inner.keepers.spawn(keeper.run(asked));
        inner.handles.insert(agent.to_owned(), Arc::clone(&handle));
        Ok(handle)
    }

    /// Has the runners that an earlier front started watched again.
    pub fn find_again(&self) {
        for agent in self.front.places.agents() {
            let socket = self.front.config.run_dir.join(format!("{agent}.sock"));
            if socket.exists()
                && let Some(place) = self.front.places.of(&agent)
                && let Ok(handle) = self.handle(&agent)
            {
                // The answer is nobody's: the keeper's queue holds the work.
                let (tell, _) = oneshot::channel();
                let _ = handle.asks.try_send(Ask::Ensure(place, Care::Whole, tell));
            }
        }
    }

    /// Refuses a browser call that the firewall wouldn't protect.
    ///
    /// # Errors
    /// 503 with a sentence.
    pub async fn check_firewall(&self, place: &Place, uid: u32) -> Result<(), Refused> {
        let Some(table) = &self.front.firewall else {
            return Ok(());
        };
        let port = FIRST_PORT + u16::from(place.slot);
        table
            .check(port, uid)
            .await
            .map_err(|error| Refused::unavailable(error.to_string()))
    }

    /// Ends every runner and all that runs below.
    pub async fn stop_all(&self) {
        let handles: Vec<Arc<Handle>> = self.inner().handles.values().cloned().collect();
        let mut told = Vec::new();
        for handle in handles {
            let (tell, stopped) = oneshot::channel();
            if handle.asks.send(Ask::Stop(tell)).await.is_ok() {
                told.push(stopped);
            }
        }
        let all = async {
            for stopped in told {
                let _ = stopped.await;
            }
        };
        if timeout(STOP, all).await.is_err() {
            tracing::error!("some runners did not stop within {} s", STOP.as_secs());
        }
    }
}

impl Handle {
    /// Counts a request until the answer's drop.
    ///
    /// # Errors
    /// 429 with the numbers.
    pub fn count(&self, agents: &Agents) -> Result<Pass, Refused> {
        let one = Arc::clone(&self.passes).try_acquire_owned().map_err(|_| {
            Refused::too_many(format!(
                "{MOST_OF_ONE} requests of agent {} are in flight, at most so many may be",
                self.agent
            ))
        })?;
        let all = Arc::clone(&agents.passes)
            .try_acquire_owned()
            .map_err(|_| {
                Refused::too_many(format!(
                    "{MOST_OF_ALL} requests are in flight on this machine, at most so many may be"
                ))
            })?;
        Ok(Pass {
            _one: one,
            _all: all,
        })
    }

    fn in_flight(&self) -> usize {
        MOST_OF_ONE - self.passes.available_permits()
    }

    /// Makes the agent ready at `place`: account, home, group, firewall, runner.
    ///
    /// # Errors
    /// 409 when the slot or the account is another's, 500 for a fault of the machine.
    pub async fn ensure(
        &self,
        agents: &Agents,
        place: &Place,
        care: Care,
    ) -> Result<Ready, Refused> {
        if let Some(holder) = agents.front.places.holder(&self.agent, place.slot) {
            let busy = agents
                .inner()
                .handles
                .get(&holder)
                .map_or(0, |handle| handle.in_flight());
            if busy > 0 {
                return Err(Refused::conflict(format!(
                    "slot {} is agent {holder}'s, which has {busy} requests in flight",
                    place.slot
                )));
            }
        }
        let (tell, told) = oneshot::channel();
        let gone = || Refused::unavailable("this machine's agent is stopping");
        let ask = async {
            let sent = self.asks.send(Ask::Ensure(place.clone(), care, tell)).await;
            sent.map_err(|_| gone())?;
            told.await.map_err(|_| gone())?
        };
        timeout(READY, ask).await.unwrap_or_else(|_| {
            Err(Refused::unavailable(format!(
                "agent {} was not ready within {} s",
                self.agent,
                READY.as_secs()
            )))
        })
    }
}
