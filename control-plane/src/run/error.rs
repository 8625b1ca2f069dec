//! Why a request about a run was refused or failed.

/// Refusals are written for the chat backend; failures for the operator.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The request asks for something that can't be.
    #[error("{0}")]
    Invalid(String),
    /// Something else stands under the same id.
    #[error("{0}")]
    Conflict(String),
    /// The run takes no calls any more.
    #[error("run {0} has ended")]
    Ended(uuid::Uuid),
    /// A call id came back with another name or other arguments.
    #[error(
        "call id {0} was used in this run with another name or other arguments; nothing of this request ran"
    )]
    CallIdReused(String),
    /// The database did not do its part.
    #[error("the database did not answer")]
    Store(#[from] sqlx::Error),
    /// A call did not come to a message in time; asking again is safe.
    #[error("{0}")]
    Unavailable(String),
    /// A fault of ours.
    #[error("{0}")]
    Fault(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<serde_json::Error> for RunError {
    fn from(error: serde_json::Error) -> Self {
        Self::Fault(error.into())
    }
}
