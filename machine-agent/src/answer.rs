//! HTTP answers that front and runner share: bodies under a cap, refusals and replies.

use std::io;

use http_body_util::{BodyExt, Full, Limited, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::{Response, StatusCode};
use machine_agent_api::{ErrorBody, ErrorCode, ErrorDetail};
use serde::Serialize;

/// Body of an answer, whole or streamed.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Largest request body, in bytes: the 8 MiB that the control plane takes from
/// its own callers, and room for what it adds (a script, granted secrets).
pub const MOST_REQUEST: usize = 10 << 20;

/// A request that is not served: a status, a code for programs, a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// HTTP status.
    pub status: StatusCode,
    /// Code of the body.
    pub code: ErrorCode,
    /// Written for whoever called.
    pub message: String,
}

impl Refused {
    fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
        }
    }

    /// 422: the request makes no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            ErrorCode::Invalid,
            message,
        )
    }

    /// 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message)
    }

    /// 409.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, ErrorCode::Conflict, message)
    }

    /// 413.
    pub fn too_large() -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::BodyTooLarge,
            format!("the body is larger than {MOST_REQUEST} bytes"),
        )
    }

    /// 429.
    pub fn too_many(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            ErrorCode::TooManyCalls,
            message,
        )
    }

    /// 503.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::Unavailable,
            message,
        )
    }

    /// 500, for a fault whose cause only the log may tell.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            ErrorCode::Failed,
            message,
        )
    }

    /// The answer.
    #[must_use]
    pub fn into_response(self) -> Response<Body> {
        let body = ErrorBody {
            error: ErrorDetail {
                code: self.code,
                message: self.message,
            },
        };
        json(self.status, &body)
    }
}

/// A JSON answer with `status`.
#[must_use]
pub fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    // Every type of the API has string keys, so this can't fail; an empty
    // object would still be an answer.
    let bytes = serde_json::to_vec(value).unwrap_or_else(|_| b"{}".to_vec());
    let mut response = Response::new(whole(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(
        hyper::header::CONTENT_TYPE,
        hyper::header::HeaderValue::from_static("application/json"),
    );
    response
}

/// A body that is there already.
pub fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Reads a request's body under [`MOST_REQUEST`].
///
/// # Errors
/// 413 for a larger one, 422 for one that ended early.
pub async fn read_body(body: Incoming) -> Result<Bytes, Refused> {
    match Limited::new(body, MOST_REQUEST).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(Refused::too_large()),
        Err(_) => Err(Refused::invalid("the body ended early")),
    }
}
