//! Cancelling a call and ending a run, from whichever replica is asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use machine_agent_api::CancelCall;
use serde::Serialize;
use uuid::Uuid;

use super::call::{CallResult, Draft, cancelled, result};
use super::engine::Engine;
use super::error::RunError;
use super::result::Facts;
use super::start::{machine_of, place_of, printable};
use super::view::not_found;
use crate::store::calls::{self, OpenCall};
use crate::store::{agents, runs, standing};

/// Time for a machine to answer a cancel.
const WITHIN: Duration = Duration::from_secs(15);
/// Time that a cancel waits for the call's message.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// The answer to an end.
#[derive(Debug, Serialize)]
pub struct EndView {
    run: Uuid,
    state: &'static str,
}

impl Engine {
    /// Cancels a call and answers its message: `ERROR: cancelled`, or what it had
    /// come to before.
    ///
    /// # Errors
    /// [`RunError::NotFound`], [`RunError::Unavailable`] when its end takes long, or a failure.
    pub async fn cancel(
        self: &Arc<Self>,
        run: Uuid,
        call_id: &str,
    ) -> Result<CallResult, RunError> {
        let mut db = self.pool.acquire().await?;
        runs::touch(&mut db, run)
            .await?
            .ok_or_else(|| not_found(run))?;
        if calls::known(&mut db, run, &[call_id]).await?.is_empty() {
            return Err(RunError::NotFound(format!(
                "no call {} in run {run}",
                printable(call_id)
            )));
        }
        let open = calls::open(&mut db, run, Some(call_id)).await?;
        drop(db);
        for call in open {
            self.cancel_open(call).await?;
        }
        match tokio::time::timeout(ANSWER_WITHIN, self.wait(run, call_id)).await {
            Ok(message) => result(call_id.to_owned(), &message?),
            Err(_) => Err(RunError::Unavailable(format!(
                "call {call_id} is being cancelled and has no message yet"
            ))),
        }
    }

    /// Ends a run and cancels what is in flight. Idempotent.
    ///
    /// # Errors
    /// [`RunError::NotFound`], or a failure.
    pub async fn end(self: &Arc<Self>, id: Uuid) -> Result<EndView, RunError> {
        let mut tx = self.pool.begin().await?;
        runs::lock(&mut tx, id)
            .await?
            .ok_or_else(|| not_found(id))?;
        runs::end(&mut tx, id).await?;
        standing::tell(&mut tx, id).await?;
        tx.commit().await?;
        let mut db = self.pool.acquire().await?;
        let open = calls::open(&mut db, id, None).await?;
        drop(db);
        self.cancel_all(id, open);
        Ok(EndView {
            run: id,
            state: "ended",
        })
    }

    /// Cancels the calls of a run that ended. The answer to an end doesn't wait for it.
    pub(super) fn cancel_all(self: &Arc<Self>, id: Uuid, open: Vec<OpenCall>) {
        for call in open {
            let engine = Arc::clone(self);
            self.tasks.spawn(async move {
                if let Err(error) = engine.cancel_open(call).await {
                    tracing::warn!(run = %id, error = crate::telemetry::chain(&error), "a call of an ended run was not cancelled");
                }
            });
        }
    }

    /// A call that no machine heard of gets its message here, which its execution
    /// then finds; one that was sent is ended on its machine.
    async fn cancel_open(&self, call: OpenCall) -> Result<(), RunError> {
        if !call.is_sent() && self.store_cancelled(&call).await? {
            self.inflight.cancel(call.run, &call.call_id);
            return Ok(());
        }
        // Where it is executed here, the execution itself asks its machine.
        if self.inflight.cancel(call.run, &call.call_id) {
            return Ok(());
        }
        let mut db = self.pool.acquire().await?;
        let run = runs::find(&mut db, call.run).await?;
        let run = run.ok_or_else(|| not_found(call.run))?;
        let agent = agents::find(&mut db, &run.agent).await?;
        let agent = agent.ok_or_else(|| not_found(call.run))?;
        drop(db);
        let operation = CancelCall {
            agent: &agent.id,
            id: &call.machine_id,
        };
        let asked = self
            .machines
            .ask(
                &machine_of(&agent),
                Some(&place_of(&agent)),
                &operation,
                WITHIN,
            )
            .await;
        if let Err(error) = asked {
            tracing::warn!(run = %call.run, call = call.call_id, %error, "a machine did not confirm a cancel");
        }
        Ok(())
    }

    /// False when the call got further meanwhile.
    async fn store_cancelled(&self, call: &OpenCall) -> Result<bool, RunError> {
        let started = Instant::now();
        let mut tx = self.pool.begin().await?;
        // The run's lock first, as everywhere; then the row's decides between this
        // and its sending.
        runs::lock(&mut tx, call.run).await?;
        if !calls::is_claimed_locked(&mut tx, call.run, &call.call_id).await? {
            return Ok(false);
        }
        let kindred = self
            .kindred(&mut tx, call.run, call.turn, &call.name)
            .await?;
        let draft = Draft {
            organisation: &kindred.organisation,
            run: call.run,
            call_id: &call.call_id,
            remaining: u32::try_from(call.remaining).unwrap_or(0),
            facts: Facts {
                tool_name: &call.name,
                duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
                with_exit_code: kindred.with_exit_code,
            },
            arguments: None,
        };
        let filtered = cancelled().filter(kindred.filter);
        let stored = self.put(&mut tx, &draft, &filtered).await?.is_some();
        tx.commit().await?;
        Ok(stored)
    }
}
