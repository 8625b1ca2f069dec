//! Transaction A: budget and ids, before anything runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use sqlx::PgConnection;
use uuid::Uuid;

use super::super::engine::Engine;
use super::super::error::RunError;
use super::super::result::{Facts, Raw, Redactor};
use super::super::view::not_found;
use super::message::{FREE_TRIES, changing};
use super::{Claimed, Draft, Prepared};
use crate::store::calls::{self, NewCall};
use crate::store::runs::{self, Run};

/// What claiming a batch came to.
pub(super) struct Claim {
    /// Calls to execute, in batch order.
    pub(super) claimed: Vec<Claimed>,
    /// Calls that have a message, or that someone else executes.
    pub(super) others: Vec<String>,
    /// Calls that remain in the run.
    pub(super) remaining: i32,
}

impl Engine {
    /// One statement claims a batch of new calls within the budget; whatever is
    /// unusual goes through a transaction under the run's lock.
    pub(super) async fn claim(
        &self,
        run: Uuid,
        prepared: Vec<Prepared>,
    ) -> Result<Claim, RunError> {
        let organisation = self.organisation_of(run).await?;
        let redactor = self.redactor_for_claim(&organisation).await?;
        let new: Vec<NewCall> = prepared
            .iter()
            .map(|call| call.redacted(&redactor))
            .collect();
        let claim = match calls::claim(&self.pool, run, &new, redactor.version()).await {
            Err(error) if calls::is_duplicate(&error) => None,
            other => other?,
        };
        let Some(claim) = claim else {
            return self.claim_under_lock(run, prepared).await;
        };
        let before = claim.remaining + i32::try_from(prepared.len()).unwrap_or(i32::MAX);
        let claimed = (1..)
            .zip(prepared)
            .map(|(n, call)| call.claimed(run, claim.turn, before - n, &redactor))
            .collect();
        Ok(Claim {
            claimed,
            others: Vec::new(),
            remaining: claim.remaining,
        })
    }

    async fn claim_under_lock(&self, id: Uuid, prepared: Vec<Prepared>) -> Result<Claim, RunError> {
        let mut tx = self.pool.begin().await?;
        let run = runs::lock(&mut tx, id).await?;
        let run = run.ok_or_else(|| not_found(id))?;
        if !run.is_open() {
            return Err(RunError::Ended(id));
        }
        let ids: Vec<&str> = prepared.iter().map(|call| call.call_id.as_str()).collect();
        let known: HashMap<String, Vec<u8>> = calls::known(&mut tx, id, &ids)
            .await?
            .into_iter()
            .map(|call| (call.call_id, call.digest))
            .collect();
        let reused = prepared.iter().find(|call| {
            known
                .get(&call.call_id)
                .is_some_and(|digest| *digest != call.digest)
        });
        if let Some(call) = reused {
            return Err(RunError::CallIdReused(call.call_id.clone()));
        }
        let mut claim = Claim {
            claimed: Vec::new(),
            others: Vec::new(),
            remaining: run.remaining,
        };
        for call in prepared {
            if known.contains_key(&call.call_id) {
                claim.others.push(call.call_id);
                continue;
            }
            let left = claim.remaining;
            claim.remaining = (left - 1).max(0);
            let redactor = self.insert(&mut tx, &run, &call, claim.remaining).await?;
            let claimed = call.claimed(id, run.turn, claim.remaining, &redactor);
            if left > 0 {
                claim.claimed.push(claimed);
            } else {
                self.out_of_budget(&mut tx, &claimed).await?;
                claim.others.push(claimed.call_id);
            }
        }
        let spent = run.remaining - claim.remaining;
        if spent > 0 {
            runs::spend(&mut tx, id, spent).await?;
        }
        tx.commit().await?;
        Ok(claim)
    }

    /// The redactor at hand, without a transaction.
    async fn redactor_for_claim(&self, organisation: &str) -> Result<Arc<Redactor>, RunError> {
        if let Some(kept) = self.kept_redactor(organisation) {
            return Ok(kept);
        }
        let mut db = self.pool.acquire().await?;
        self.read_redactor(&mut db, organisation).await
    }

    /// Inserts one call, and answers what it was redacted with.
    async fn insert(
        &self,
        db: &mut PgConnection,
        run: &Run,
        call: &Prepared,
        remaining: i32,
    ) -> Result<Arc<Redactor>, RunError> {
        let mut redactor = self.redactor(db, &run.organisation).await?;
        for tried in 0..=FREE_TRIES {
            let new = call.redacted(&redactor);
            if calls::insert(db, run, &new, remaining, redactor.version()).await? {
                return Ok(redactor);
            }
            redactor = if tried + 1 < FREE_TRIES {
                self.read_redactor(db, &run.organisation).await?
            } else {
                self.held_redactor(db, &run.organisation).await?
            };
        }
        Err(changing())
    }

    /// The message of a call that came after the last one, stored and free.
    async fn out_of_budget(&self, db: &mut PgConnection, call: &Claimed) -> Result<(), RunError> {
        let started = Instant::now();
        let kindred = self.kindred(db, call.run, call.turn, &call.name).await?;
        let draft = Draft {
            organisation: &kindred.organisation,
            run: call.run,
            call_id: &call.call_id,
            remaining: 0,
            facts: Facts {
                tool_name: &call.name,
                duration_ms: 0,
                with_exit_code: kindred.with_exit_code,
            },
            arguments: call.redacted_with,
        };
        let raw = Raw::error("no tool calls remain in this run");
        self.put(db, &draft, &raw.filter(kindred.filter)).await?;
        self.count(kindred.label, true, started);
        Ok(())
    }
}
