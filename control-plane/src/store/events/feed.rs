//! The feed: wakes whoever waits for the next event on this replica, with one connection for all of them.

use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::{CHANNEL, newest, sweep};
use crate::telemetry::chain;

/// Time for a connection to be made.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Time for a look.
const LOOK_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks while nothing tells of commits.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Between two looks while a connection tells of them: it may be dead and not know it.
const DOUBT_EVERY: Duration = Duration::from_secs(10);
/// Between two removals of what is too old.
const SWEEP_EVERY: Duration = Duration::from_secs(3_600);
/// Time for one removal.
const SWEEP_WITHIN: Duration = Duration::from_secs(60);

/// What is known of the newest event. It only saves looks: the truth is the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    head: i64,
    ended: bool,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// There are events up to this `seq`.
    Events(i64),
    /// The time is over.
    TimeOver,
    /// This replica stops.
    Ended,
}

/// What wakes the readers of one replica.
#[derive(Debug, Default)]
pub struct Feed {
    state: watch::Sender<State>,
}

impl Feed {
    /// Waits until there is an event after `beyond`, at most `time`.
    pub async fn wait(&self, beyond: i64, time: Duration) -> Woken {
        let mut state = self.state.subscribe();
        let found = timeout(
            time,
            state.wait_for(|state| state.ended || state.head > beyond),
        )
        .await;
        match found {
            Ok(Ok(state)) if !state.ended => Woken::Events(state.head),
            Ok(_) => Woken::Ended,
            Err(_) => Woken::TimeOver,
        }
    }

    /// Hears of commits, looks itself while it can't, and removes old events, until `stop`
    /// changes; then every reader is sent home.
    pub async fn run(&self, pool: &PgPool, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            () = self.listen(pool) => {}
            () = remove_old(pool) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        self.state.send_modify(|state| state.ended = true);
    }

    /// One connection after another, with looks in between. Never ends.
    async fn listen(&self, pool: &PgPool) {
        let mut told = false;
        loop {
            match connect(pool, CHANNEL).await {
                Ok(mut listener) => {
                    if std::mem::take(&mut told) {
                        tracing::info!("events are heard of again");
                    }
                    // What was committed before the connection told of anything.
                    self.look(pool, true).await;
                    self.hear(pool, &mut listener).await;
                }
                Err(error) if !told => {
                    told = true;
                    tracing::warn!(error = chain(&error), "events are not heard of");
                }
                Err(_) => {}
            }
            self.look(pool, false).await;
            sleep(LOOK_EVERY).await;
        }
    }

    /// Takes what the connection tells, until it ends.
    async fn hear(&self, pool: &PgPool, listener: &mut PgListener) {
        loop {
            match timeout(DOUBT_EVERY, listener.try_recv()).await {
                Ok(Ok(Some(told))) => {
                    if let Ok(seq) = told.payload().parse() {
                        self.raise(seq);
                    }
                }
                Ok(Ok(None)) => return,
                Ok(Err(error)) => {
                    tracing::debug!(error = chain(&error), "the connection of the events ended");
                    return;
                }
                Err(_) => self.look(pool, false).await,
            }
        }
    }

    /// Looks for the newest event, when someone waits for it or `always`.
    async fn look(&self, pool: &PgPool, always: bool) {
        if !always && self.state.receiver_count() == 0 {
            return;
        }
        match timeout(LOOK_WITHIN, newest(pool)).await {
            Ok(Ok(seq)) => self.raise(seq),
            Ok(Err(error)) => tracing::debug!(error = chain(&error), "no look at the events"),
            Err(_) => tracing::debug!("no look at the events in time"),
        }
    }

    fn raise(&self, seq: i64) {
        self.state.send_if_modified(|state| {
            let higher = seq > state.head;
            state.head = state.head.max(seq);
            higher
        });
    }
}

/// A connection of its own that hears `channel`: it is kept for as long as the replica runs.
pub(in crate::store) async fn connect(
    pool: &PgPool,
    channel: &'static str,
) -> sqlx::Result<PgListener> {
    let options = pool.connect_options().as_ref().clone();
    let own = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(CONNECT_WITHIN)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options);
    let connected = async {
        let mut listener = PgListener::connect_with(&own).await?;
        listener.eager_reconnect(false);
        listener.listen(channel).await?;
        Ok(listener)
    };
    timeout(CONNECT_WITHIN, connected)
        .await
        .unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

/// Removes what is too old, again and again. Never ends.
async fn remove_old(pool: &PgPool) {
    let mut next = Instant::now();
    loop {
        tokio::time::sleep_until(next).await;
        next += SWEEP_EVERY;
        match timeout(SWEEP_WITHIN, sweep(pool)).await {
            Ok(Ok(0)) => {}
            Ok(Ok(removed)) => tracing::info!(removed, "old events are removed"),
            Ok(Err(error)) => tracing::debug!(error = chain(&error), "old events were not removed"),
            Err(_) => tracing::debug!("old events were not removed in time"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_wait_ends_with_a_higher_number_and_not_with_a_lower_one() {
        let feed = Feed::default();
        feed.raise(4);
        assert_eq!(feed.wait(3, LONG).await, Woken::Events(4));
        assert_eq!(feed.wait(4, Duration::ZERO).await, Woken::TimeOver);
        let (woken, ()) = tokio::join!(feed.wait(4, LONG), async {
            feed.raise(2);
            tokio::task::yield_now().await;
            feed.raise(9);
        });
        assert_eq!(woken, Woken::Events(9));
    }

    #[tokio::test]
    async fn a_stop_sends_every_reader_home() {
        let feed = Feed::default();
        let pool = PgPoolOptions::new()
            .connect_lazy("postgres://nobody@localhost/nothing?host=/nonexistent")
            .unwrap();
        let (stop, stopped) = watch::channel(false);
        let ((), woken, ()) = tokio::join!(feed.run(&pool, stopped), feed.wait(0, LONG), async {
            stop.send_replace(true);
        });
        assert_eq!(woken, Woken::Ended);
    }
}
