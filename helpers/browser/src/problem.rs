//! What can go wrong in a call: refusals for the caller, failures for the operator.

use thiserror::Error;

/// Why a call could not be answered.
#[derive(Debug, Error)]
pub enum Problem {
    /// A sentence for the caller, who may try again.
    #[error("{0}")]
    Refused(String),
    /// Something that should not happen; for the operator's log.
    #[error("{0}")]
    Failed(String),
    /// The document went away while it was being looked at.
    #[error("the page changed while it was being looked at; take a new browser_snapshot")]
    Moved,
    /// The tab's renderer died.
    #[error("the page crashed; open it again with browser_navigate")]
    Crashed,
    /// The tab's renderer does not answer.
    #[error("the page does not answer; try again, or open another with browser_navigate")]
    Stuck,
    /// The tab is no longer there.
    #[error("the tab was closed during the call; browser_snapshot shows the one that is left")]
    Closed,
    /// The connection to Chrome ended.
    #[error(
        "the connection to the browser ended during the call; the next browser call connects again, and starts the browser when it is gone"
    )]
    Gone,
    /// The call's time is over.
    #[error("the call reached its limit of {0} s while {1}")]
    OutOfTime(u64, &'static str),
    /// The helper was told to stop.
    #[error("the call was cancelled")]
    Cancelled,
}

impl Problem {
    /// A refusal with this sentence.
    pub fn refused(sentence: impl Into<String>) -> Self {
        Self::Refused(sentence.into())
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(format!(
            "a DevTools message has an unexpected shape: {error}"
        ))
    }
}
