//! Seats for streams: bounded for each run and for the replica, so that listeners leave connections to calls.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

/// Streams of one run. One more ends the oldest: its client is most likely gone.
const OF_A_RUN: usize = 8;
/// Streams of the replica, half of its connections.
const OF_ALL: usize = 512;

/// Who sits.
#[derive(Debug, Default)]
struct Taken {
    runs: HashMap<Uuid, VecDeque<(u64, watch::Sender<bool>)>>,
    all: usize,
    last: u64,
}

/// The seats of a replica.
#[derive(Debug, Clone, Default)]
pub(in crate::http) struct Seats {
    taken: Arc<Mutex<Taken>>,
}

/// One that is taken, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    run: Uuid,
    number: u64,
    given_up: watch::Receiver<bool>,
    taken: Arc<Mutex<Taken>>,
}

impl Seats {
    /// Takes a seat; `None` when the replica has no more.
    pub(super) fn take(&self, run: Uuid) -> Option<Seat> {
        let mut taken = lock(&self.taken);
        if taken.all >= OF_ALL {
            return None;
        }
        taken.all += 1;
        taken.last += 1;
        let number = taken.last;
        let (sender, given_up) = watch::channel(false);
        let seats = taken.runs.entry(run).or_default();
        seats.push_back((number, sender));
        if seats.len() > OF_A_RUN
            && let Some((_, oldest)) = seats.pop_front()
        {
            oldest.send_replace(true);
        }
        Some(Seat {
            run,
            number,
            given_up,
            taken: Arc::clone(&self.taken),
        })
    }

    /// How many are taken.
    pub(in crate::http) fn count(&self) -> usize {
        lock(&self.taken).all
    }
}

impl Seat {
    /// Waits until the seat is another's.
    pub(super) async fn given_up(&mut self) {
        if self.given_up.wait_for(|given_up| *given_up).await.is_err() {
            // Only a seat that is given up has no sender, and that is told before.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.all -= 1;
        if let Some(seats) = taken.runs.get_mut(&self.run) {
            seats.retain(|(number, _)| *number != self.number);
            if seats.is_empty() {
                taken.runs.remove(&self.run);
            }
        }
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    // Each change is whole after any panic.
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_more_than_a_run_may_have_ends_its_oldest() {
        let seats = Seats::default();
        let run = Uuid::nil();
        let mut held: Vec<Seat> = (0..9).filter_map(|_| seats.take(run)).collect();
        assert_eq!(held.len(), 9);
        held[0].given_up().await;
        let kept = tokio::time::timeout(Duration::from_millis(5), held[1].given_up());
        assert!(kept.await.is_err());
        drop(held);
        assert_eq!(seats.count(), 0);
        assert!(lock(&seats.taken).runs.is_empty());
    }

    #[test]
    fn the_replica_has_so_many_and_no_more() {
        let seats = Seats::default();
        let mut held: Vec<Seat> = (0..512)
            .filter_map(|number| seats.take(Uuid::from_u128(number)))
            .collect();
        assert_eq!(held.len(), 512);
        assert!(seats.take(Uuid::nil()).is_none());
        held.pop();
        assert!(seats.take(Uuid::nil()).is_some());
    }
}
