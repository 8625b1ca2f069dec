//! Transaction A: budget and ids, before anything runs.

use std::collections::HashMap;
use std::time::Instant;

use uuid::Uuid;

use super::super::engine::Engine;
use super::super::error::RunError;
use super::super::result::{Facts, Raw, make};
use super::super::view::not_found;
use super::{Claimed, Prepared};
use crate::store::calls::{self, NewCall};
use crate::store::runs;

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
        let new: Vec<NewCall> = prepared.iter().map(|call| call.new.clone()).collect();
        let claim = match calls::claim(&self.pool, run, &new).await {
            Err(error) if calls::is_duplicate(&error) => None,
            other => other?,
        };
        let Some(claim) = claim else {
            return self.claim_under_lock(run, prepared).await;
        };
        let before = claim.remaining + i32::try_from(prepared.len()).unwrap_or(i32::MAX);
        let claimed = (1..)
            .zip(prepared)
            .map(|(n, call)| call.claimed(run, claim.turn, before - n))
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
        let ids: Vec<&str> = prepared
            .iter()
            .map(|call| call.new.call_id.as_str())
            .collect();
        let known: HashMap<String, Vec<u8>> = calls::known(&mut tx, id, &ids)
            .await?
            .into_iter()
            .map(|call| (call.call_id, call.digest))
            .collect();
        let reused = prepared.iter().find(|call| {
            known
                .get(&call.new.call_id)
                .is_some_and(|digest| *digest != call.new.digest)
        });
        if let Some(call) = reused {
            return Err(RunError::CallIdReused(call.new.call_id.clone()));
        }
        let mut claim = Claim {
            claimed: Vec::new(),
            others: Vec::new(),
            remaining: run.remaining,
        };
        for call in prepared {
            if known.contains_key(&call.new.call_id) {
                claim.others.push(call.new.call_id);
            } else if claim.remaining > 0 {
                claim.remaining -= 1;
                calls::insert(&mut tx, id, run.turn, &call.new, claim.remaining).await?;
                claim
                    .claimed
                    .push(call.claimed(id, run.turn, claim.remaining));
            } else {
                calls::insert(&mut tx, id, run.turn, &call.new, 0).await?;
                self.out_of_budget(&mut tx, id, run.turn, &call.new).await?;
                claim.others.push(call.new.call_id);
            }
        }
        let spent = run.remaining - claim.remaining;
        if spent > 0 {
            runs::spend(&mut tx, id, spent).await?;
        }
        tx.commit().await?;
        Ok(claim)
    }

    /// The message of a call that came after the last one, stored and free.
    async fn out_of_budget(
        &self,
        db: &mut sqlx::PgConnection,
        run: Uuid,
        turn: i32,
        call: &NewCall,
    ) -> Result<(), RunError> {
        let started = Instant::now();
        let kindred = self.kindred(db, run, turn, &call.name).await?;
        let facts = Facts {
            tool_name: &call.name,
            duration_ms: 0,
            with_exit_code: kindred.with_exit_code,
        };
        let raw = Raw::error("no tool calls remain in this run");
        let message = make(
            raw,
            kindred.filter,
            &self.redactor,
            self.cap_bytes,
            0,
            &facts,
        );
        message.store(db, run, &call.call_id).await?;
        self.count(kindred.label, true, started);
        Ok(())
    }
}
