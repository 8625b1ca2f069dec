//! The signals that ask this program to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Failure;

/// SIGINT, SIGTERM and SIGHUP, which end nothing by themselves once this exists.
pub(crate) struct Stop {
    signals: [Signal; 3],
}

impl Stop {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the system gives no signals.
    pub(crate) fn new() -> Result<Self, Failure> {
        let on =
            |kind| signal(kind).map_err(|error| Failure::local(format!("no signals: {error}")));
        Ok(Self {
            signals: [
                on(SignalKind::interrupt())?,
                on(SignalKind::terminate())?,
                on(SignalKind::hangup())?,
            ],
        })
    }

    /// Waits for any of them.
    pub(crate) async fn asked(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
