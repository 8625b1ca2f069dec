//! What the MCP face asks of a run beside its offer and its calls: sessions, ids of calls, cancelling by request.
//!
//! Nothing of it is kept anywhere. A session is an id that any replica can check, and a
//! call's id says which request made it.

use std::sync::Arc;
use std::time::Duration;

use ring::{digest, hmac};
use uuid::Uuid;

use super::engine::Engine;
use super::error::RunError;
use super::view::not_found;
use crate::key::{hex, parse};
use crate::store::mcp_calls;
use crate::store::standing::{self, Standing};
use crate::telemetry::chain;

/// A cancel may overtake the call it means by a moment: so many looks, so far apart.
const LOOKS: u32 = 4;
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// A request of a client, told from all others in its run.
#[derive(Debug, Clone)]
pub struct RequestKey(String);

impl RequestKey {
    /// The key of the request with this id, as JSON text, in this session.
    #[must_use]
    pub fn new(session: Option<&str>, request: &str) -> Self {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(session.unwrap_or_default().as_bytes());
        context.update(b" ");
        context.update(request.as_bytes());
        Self(format!("mcp_{}_", hex(&context.finish().as_ref()[..8])))
    }

    /// A fresh call id that shows which request made the call.
    #[must_use]
    pub fn fresh_call_id(&self) -> String {
        format!("{}{}", self.0, Uuid::now_v7().simple())
    }
}

impl Engine {
    /// A new session of a run.
    #[must_use]
    pub fn new_session(&self, run: Uuid) -> String {
        let session = Uuid::now_v7();
        let proof = hmac::sign(&self.run_key, &message(run, session));
        format!("{}-{}", session.simple(), hex(proof.as_ref()))
    }

    /// Whether a session is one of this run.
    #[must_use]
    pub fn is_session(&self, run: Uuid, session: &str) -> bool {
        let read = || {
            let (session, proof) = session.split_once('-')?;
            Some((Uuid::try_parse(session).ok()?, parse(proof)?))
        };
        read().is_some_and(|(session, proof)| {
            hmac::verify(&self.run_key, &message(run, session), &proof).is_ok()
        })
    }

    /// Cancels the calls that a request made, in the background: a client that cancels
    /// waits for nothing.
    pub fn cancel_request(self: &Arc<Self>, run: Uuid, request: RequestKey) {
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            if let Err(error) = engine.cancel_calls_of(run, &request).await {
                tracing::warn!(%run, error = chain(&error), "a request over MCP was not cancelled");
            }
        });
    }

    async fn cancel_calls_of(
        self: &Arc<Self>,
        run: Uuid,
        request: &RequestKey,
    ) -> Result<(), RunError> {
        for _ in 0..LOOKS {
            let mut db = self.pool.acquire().await?;
            let calls = mcp_calls::unfinished(&mut db, run, &request.0).await?;
            drop(db);
            if calls.is_empty() {
                tokio::time::sleep(LOOK_EVERY).await;
                continue;
            }
            for call in calls {
                self.cancel(run, &call).await?;
            }
            return Ok(());
        }
        Ok(())
    }

    /// How a run stands now, noted as used.
    ///
    /// # Errors
    /// [`RunError::NotFound`], or a failure.
    pub async fn standing(&self, run: Uuid) -> Result<Standing, RunError> {
        self.require(run).await?;
        let found = standing::of(&self.pool, &[run]).await?;
        let found = found.into_iter().next().map(|(_, standing)| standing);
        found.ok_or_else(|| not_found(run))
    }
}

fn message(run: Uuid, session: Uuid) -> Vec<u8> {
    [b"session".as_slice(), run.as_bytes(), session.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_id_is_fresh_and_shows_its_request() {
        let key = RequestKey::new(Some("s"), "1");
        let (first, second) = (key.fresh_call_id(), key.fresh_call_id());
        assert_ne!(first, second);
        assert!(first.starts_with(&key.0) && second.starts_with(&key.0));
        assert_eq!(key.0.len(), "mcp_0123456789abcdef_".len());
    }

    #[test]
    fn requests_of_other_sessions_and_other_kinds_of_ids_are_others() {
        let key = |session, request| RequestKey::new(session, request).0;
        assert_eq!(key(Some("a"), "1"), key(Some("a"), "1"));
        assert_ne!(key(Some("a"), "1"), key(Some("b"), "1"));
        assert_ne!(key(Some("a"), "1"), key(Some("a"), "\"1\""));
        assert_ne!(key(None, "1"), key(Some("a"), "1"));
    }
}
