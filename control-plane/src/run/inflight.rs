//! Calls that this replica executes right now: whom to wake, whose lease to renew, what to cancel.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

type Key = (Uuid, String);

/// The registry.
#[derive(Debug, Default)]
pub struct Inflight {
    flights: std::sync::Arc<Mutex<HashMap<Key, Flight>>>,
}

#[derive(Debug)]
struct Flight {
    cancel: watch::Sender<bool>,
    /// Dropped with the flight: whoever listens learns that it ended.
    _done: watch::Sender<()>,
    watch: watch::Receiver<()>,
}

/// A registration; dropping it ends it.
#[derive(Debug)]
pub struct Guard {
    flights: std::sync::Arc<Mutex<HashMap<Key, Flight>>>,
    key: Key,
    cancelled: watch::Receiver<bool>,
}

impl Inflight {
    /// Registers a call; `None` when this replica executes it already.
    pub fn register(&self, run: Uuid, call_id: &str) -> Option<Guard> {
        let key = (run, call_id.to_owned());
        let mut flights = lock(&self.flights);
        if flights.contains_key(&key) {
            return None;
        }
        let (cancel, cancelled) = watch::channel(false);
        let (done, watch) = watch::channel(());
        flights.insert(
            key.clone(),
            Flight {
                cancel,
                _done: done,
                watch,
            },
        );
        Some(Guard {
            flights: std::sync::Arc::clone(&self.flights),
            key,
            cancelled,
        })
    }

    /// Asks the execution of a call to end; false when it isn't executed here.
    pub fn cancel(&self, run: Uuid, call_id: &str) -> bool {
        lock(&self.flights)
            .get(&(run, call_id.to_owned()))
            .is_some_and(|flight| flight.cancel.send(true).is_ok())
    }

    /// Something that ends when the execution here ends; `None` when there is none.
    pub fn watch(&self, run: Uuid, call_id: &str) -> Option<Ended> {
        lock(&self.flights)
            .get(&(run, call_id.to_owned()))
            .map(|flight| Ended(flight.watch.clone()))
    }

    /// Every call that is executed here.
    pub fn keys(&self) -> Vec<Key> {
        lock(&self.flights).keys().cloned().collect()
    }
}

/// The end of an execution.
#[derive(Debug)]
pub struct Ended(watch::Receiver<()>);

impl Ended {
    /// Waits for it.
    pub async fn wait(&mut self) {
        // Nothing is ever sent: an error means that the sender is gone.
        while self.0.changed().await.is_ok() {}
    }
}

impl Guard {
    /// Waits until someone cancels the call; for ever when nobody does.
    pub async fn cancelled(&mut self) {
        if self.cancelled.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// A look at whether someone cancelled it.
    pub fn flag(&self) -> Flag {
        Flag(self.cancelled.clone())
    }
}

/// Whether a call is cancelled.
#[derive(Debug)]
pub struct Flag(watch::Receiver<bool>);

impl Flag {
    /// Whether someone cancelled it by now.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        lock(&self.flights).remove(&self.key);
    }
}

fn lock(flights: &Mutex<HashMap<Key, Flight>>) -> MutexGuard<'_, HashMap<Key, Flight>> {
    // An insert or a remove is whole after any panic.
    flights.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiters_wake_when_the_execution_ends() {
        let inflight = Inflight::default();
        let run = Uuid::nil();
        let guard = inflight.register(run, "a").unwrap();
        assert!(inflight.register(run, "a").is_none());
        let mut ended = inflight.watch(run, "a").unwrap();
        drop(guard);
        ended.wait().await;
        assert!(inflight.watch(run, "a").is_none());
        assert!(inflight.keys().is_empty());
    }

    #[tokio::test]
    async fn a_cancel_reaches_the_execution() {
        let inflight = Inflight::default();
        let run = Uuid::nil();
        assert!(!inflight.cancel(run, "a"));
        let mut guard = inflight.register(run, "a").unwrap();
        assert!(inflight.cancel(run, "a"));
        guard.cancelled().await;
        assert!(guard.flag().is_set());
    }
}
