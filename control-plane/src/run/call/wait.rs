//! A call that someone else executes: here, on another replica, or the sweep.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::super::engine::Engine;
use super::super::error::RunError;
use crate::store::calls::{self, Message};

/// Longest wait: more than the longest call and the machine's silence after it.
const LONGEST: Duration = Duration::from_secs(360);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

impl Engine {
    /// The message of a call, once it is stored.
    pub(in super::super) async fn wait(
        &self,
        run: Uuid,
        call_id: &str,
    ) -> Result<Message, RunError> {
        let end = Instant::now() + LONGEST;
        let mut pause = FIRST_PAUSE;
        loop {
            // Watch first: an end between the two looks is then seen.
            let ended = self.inflight.watch(run, call_id);
            if let Some(message) = calls::message(&self.pool, run, call_id).await? {
                return Ok(message);
            }
            if Instant::now() >= end {
                return Err(RunError::Unavailable(format!(
                    "call {call_id} has no message yet; send the same request again"
                )));
            }
            match ended {
                Some(mut ended) => {
                    // Another replica may store it too, so a look now and then stays.
                    let _ = timeout(Duration::from_secs(5), ended.wait()).await;
                }
                None => {
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}
