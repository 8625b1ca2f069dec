//! Followers of runs on this replica: each learns how its run stands, with one connection for all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::{CHANNEL, Standing};
use crate::store::events::feed::connect;
use crate::telemetry::chain;

/// Time for a look.
const LOOK_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks while nothing tells of commits.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Between two looks while a connection tells of them: it may be dead and not know it.
const DOUBT_EVERY: Duration = Duration::from_secs(10);
/// Runs looked at by one statement.
const RUNS_AT_ONCE: usize = 500;

/// What a follower knows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    /// Nothing yet.
    Nothing,
    /// How the run stood when someone last looked. It only saves looks: the truth is the table.
    Stands(Standing),
    /// This replica stops.
    Stopping,
}

type Runs = Arc<Mutex<HashMap<Uuid, watch::Sender<Known>>>>;

/// Those who follow runs on one replica.
#[derive(Debug, Default)]
pub struct Followers {
    runs: Runs,
}

/// One who follows a run. Dropping it ends that.
#[derive(Debug)]
pub struct Follower {
    run: Uuid,
    runs: Runs,
    known: Option<watch::Receiver<Known>>,
}

impl Followers {
    /// Follows a run from now on. How it stands now is for the caller to read, afterwards.
    #[must_use]
    pub fn follow(&self, run: Uuid) -> Follower {
        let mut runs = lock(&self.runs);
        let sender = runs
            .entry(run)
            .or_insert_with(|| watch::Sender::new(Known::Nothing));
        Follower {
            run,
            known: Some(sender.subscribe()),
            runs: Arc::clone(&self.runs),
        }
    }

    /// Hears of commits, and looks itself while it can't, until `stop` changes; then
    /// every follower is told.
    pub async fn run(&self, pool: &PgPool, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            () = self.listen(pool) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        for sender in lock(&self.runs).values() {
            sender.send_replace(Known::Stopping);
        }
    }

    /// One connection after another, with looks in between. Never ends.
    async fn listen(&self, pool: &PgPool) {
        let mut told = false;
        loop {
            match connect(pool, CHANNEL).await {
                Ok(mut listener) => {
                    if std::mem::take(&mut told) {
                        tracing::info!("changes of runs are heard of again");
                    }
                    // What was committed before the connection told of anything.
                    self.look_at_all(pool).await;
                    self.hear(pool, &mut listener).await;
                }
                Err(error) if !told => {
                    told = true;
                    tracing::warn!(error = chain(&error), "changes of runs are not heard of");
                }
                Err(_) => {}
            }
            self.look_at_all(pool).await;
            sleep(LOOK_EVERY).await;
        }
    }

    /// Takes what the connection tells, until it ends.
    async fn hear(&self, pool: &PgPool, listener: &mut PgListener) {
        loop {
            match timeout(DOUBT_EVERY, listener.try_recv()).await {
                Ok(Ok(Some(told))) => {
                    let run = told.payload().parse().ok();
                    if let Some(run) = run.filter(|run| lock(&self.runs).contains_key(run)) {
                        self.look(pool, &[run]).await;
                    }
                }
                Ok(Ok(None)) => return,
                Ok(Err(error)) => {
                    tracing::debug!(error = chain(&error), "the connection of the runs ended");
                    return;
                }
                Err(_) => self.look_at_all(pool).await,
            }
        }
    }

    async fn look_at_all(&self, pool: &PgPool) {
        let followed: Vec<Uuid> = lock(&self.runs).keys().copied().collect();
        for runs in followed.chunks(RUNS_AT_ONCE) {
            self.look(pool, runs).await;
        }
    }

    async fn look(&self, pool: &PgPool, runs: &[Uuid]) {
        match timeout(LOOK_WITHIN, super::of(pool, runs)).await {
            Ok(Ok(found)) => self.update(found),
            Ok(Err(error)) => tracing::debug!(error = chain(&error), "no look at the runs"),
            Err(_) => tracing::debug!("no look at the runs in time"),
        }
    }

    fn update(&self, found: Vec<(Uuid, Standing)>) {
        let runs = lock(&self.runs);
        for (run, standing) in found {
            if let Some(sender) = runs.get(&run) {
                let new = Known::Stands(standing);
                sender.send_if_modified(|known| {
                    let changed = *known != new;
                    *known = new;
                    changed
                });
            }
        }
    }
}

impl Follower {
    /// How the run stands, once someone has looked and found a change; `None` when this
    /// replica stops.
    pub async fn changed(&mut self) -> Option<Standing> {
        let known = self.known.as_mut()?;
        loop {
            known.changed().await.ok()?;
            match &*known.borrow_and_update() {
                Known::Stands(standing) => return Some(standing.clone()),
                Known::Stopping => return None,
                Known::Nothing => {}
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut runs = lock(&self.runs);
        self.known = None;
        if let Some(sender) = runs.get(&self.run)
            && sender.receiver_count() == 0
        {
            runs.remove(&self.run);
        }
    }
}

fn lock(runs: &Runs) -> MutexGuard<'_, HashMap<Uuid, watch::Sender<Known>>> {
    // An insert or a remove is whole after any panic.
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(offer: &str) -> Standing {
        Standing {
            is_open: true,
            offer: offer.to_owned(),
        }
    }

    #[tokio::test]
    async fn every_follower_of_a_run_learns_of_its_change_and_no_other() {
        let followers = Followers::default();
        let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let (mut first, mut second) = (followers.follow(one), followers.follow(one));
        let mut other = followers.follow(two);
        followers.update(vec![(one, standing("a"))]);
        assert_eq!(first.changed().await, Some(standing("a")));
        assert_eq!(second.changed().await, Some(standing("a")));
        followers.update(vec![(one, standing("a"))]);
        for follower in [&mut first, &mut other] {
            let nothing = timeout(Duration::from_millis(5), follower.changed()).await;
            assert!(nothing.is_err());
        }
        drop((first, other));
        assert_eq!(lock(&followers.runs).len(), 1);
        drop(second);
        assert!(lock(&followers.runs).is_empty());
    }

    #[tokio::test]
    async fn a_stop_is_told_to_every_follower() {
        let followers = Followers::default();
        let pool = sqlx::postgres::PgPoolOptions::new()
            .connect_lazy("postgres://nobody@localhost/nothing?host=/nonexistent")
            .unwrap();
        let (stop, stopped) = watch::channel(false);
        let mut follower = followers.follow(Uuid::nil());
        let ((), told, ()) =
            tokio::join!(followers.run(&pool, stopped), follower.changed(), async {
                stop.send_replace(true);
            });
        assert_eq!(told, None);
    }
}
