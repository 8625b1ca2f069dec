//! What keeps runs going when someone dies: leases renewed, expired ones taken over, idle runs ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};
use uuid::Uuid;

use super::engine::Engine;
use super::error::RunError;
use super::inflight::Guard;
use crate::store::calls::{self, LEASE_S, OpenCall};
use crate::store::{runs, standing};
use crate::telemetry::chain;

const RENEW_EVERY: Duration = Duration::from_secs(2);
const SWEEP_EVERY: Duration = Duration::from_secs(1);
const IDLE_EVERY: Duration = Duration::from_secs(300);
/// Time after which the same failure is logged again.
const TELL_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// Runs whose calls are taken over at once.
const RUNS_AT_ONCE: i64 = 16;

impl Engine {
    /// Runs until `stop` changes; then waits at most `grace` for what is in flight and
    /// lets go of the rest, so that another replica takes it over at once.
    pub async fn maintain(self: Arc<Self>, mut stop: watch::Receiver<bool>, grace: Duration) {
        let mut tick = interval(SWEEP_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut renewed, mut looked) = (Instant::now(), None::<Instant>);
        let mut told = Told::default();
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                _ = stop.changed() => break,
            }
            if renewed.elapsed() >= RENEW_EVERY {
                renewed = Instant::now();
                told.tell("leases were not renewed", self.renew(LEASE_S).await);
            }
            told.tell("expired calls were not taken over", self.sweep().await);
            if looked.is_none_or(|at| at.elapsed() >= IDLE_EVERY) {
                looked = Some(Instant::now());
                told.tell("idle runs were not ended", self.end_idle().await);
            }
        }
        // Given back while the work still holds its registrations.
        let unfinished = self.tasks.finish(grace).await;
        told.tell("leases were not given back", self.renew(0).await);
        drop(unfinished);
    }

    async fn renew(&self, seconds: i32) -> Result<(), RunError> {
        let held = self.inflight.keys();
        if !held.is_empty() {
            calls::renew(&self.pool, &held, seconds).await?;
        }
        Ok(())
    }

    /// Takes over calls whose lease ended: sent ones are asked after, claimed ones run, those
    /// of one run in the order in which they were claimed.
    async fn sweep(self: &Arc<Self>) -> Result<(), RunError> {
        let mut claimed: HashMap<Uuid, Vec<(OpenCall, Guard)>> = HashMap::new();
        for call in calls::take_expired(&self.pool, RUNS_AT_ONCE).await? {
            let Some(guard) = self.inflight.register(call.run, &call.call_id) else {
                // Executed here after all; taking it renewed its lease.
                continue;
            };
            tracing::info!(run = %call.run, call = call.call_id, state = call.state, "a call is taken over");
            if call.is_sent() {
                let engine = Arc::clone(self);
                self.tasks.spawn(async move {
                    let asked = engine.ask_after(&call, guard).await;
                    Told::default().tell("a call was not taken over", asked);
                });
            } else {
                claimed.entry(call.run).or_default().push((call, guard));
            }
        }
        for mut calls in claimed.into_values() {
            // The budget counts down in the order of batches and of the calls in them.
            calls.sort_by_key(|(call, _)| std::cmp::Reverse(call.remaining));
            let engine = Arc::clone(self);
            self.tasks.spawn(async move {
                let calls = calls
                    .into_iter()
                    .map(|(call, guard)| (engine.taken_over(&call), guard))
                    .collect();
                let taken = engine.execute_taken(calls).await;
                Told::default().tell("calls were not taken over", taken);
            });
        }
        Ok(())
    }

    async fn ask_after(self: &Arc<Self>, call: &OpenCall, guard: Guard) -> Result<(), RunError> {
        let destination = calls::destination(&self.pool, call.run).await?;
        self.recover(self.taken_over(call), guard, destination)
            .await
    }

    async fn end_idle(self: &Arc<Self>) -> Result<(), RunError> {
        let mut db = self.pool.acquire().await?;
        for run in runs::idle(&mut db).await? {
            if runs::end_if_idle(&mut db, run).await? {
                standing::tell(&mut db, run).await?;
                tracing::info!(%run, "a run without a request for 24 hours is ended");
                let open = calls::open(&mut db, run, None).await?;
                self.cancel_all(run, open);
            }
        }
        Ok(())
    }
}

/// Failures that were logged, so that a database that is away is no flood of lines.
#[derive(Default)]
pub(super) struct Told {
    last: HashMap<&'static str, (String, Instant)>,
}

impl Told {
    pub(super) fn tell(&mut self, what: &'static str, result: Result<(), RunError>) {
        let Err(error) = result else {
            self.last.remove(what);
            return;
        };
        let error = chain(&error);
        let known = self
            .last
            .get(what)
            .is_some_and(|(last, at)| *last == error && at.elapsed() < TELL_AGAIN_AFTER);
        if !known {
            tracing::warn!(error, "{what}");
            self.last.insert(what, (error, Instant::now()));
        }
    }
}
