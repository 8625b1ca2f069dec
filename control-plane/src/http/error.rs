//! Errors of the API: `{"error":{"code","message"}}`, whatever went wrong.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::operator::decisions::DecisionError;
use crate::operator::{ApplyError, MAX_PROBLEMS, ObjectError};
use crate::run::error::RunError;
use crate::telemetry::chain;

/// An answer that is no success.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// Further fields of `error`.
    detail: Map<String, Value>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            detail: Map::new(),
        }
    }

    #[cfg(test)]
    pub(super) const fn status(&self) -> StatusCode {
        self.status
    }

    /// With a further field of `error`.
    fn with(mut self, field: &str, value: Value) -> Self {
        self.detail.insert(field.to_owned(), value);
        self
    }

    /// 401: no token, or none that is known.
    pub(super) fn unauthorized(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    /// 403: a token of another role.
    pub(super) fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 409: what is there stands in the way.
    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// 422: the request was read and asks for something that can't be.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    /// 400: the body is not JSON.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    pub(super) fn body_too_large() -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            "the body is larger than 8388608 bytes",
        )
    }

    /// 503: asking again later is right.
    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }

    /// 500: the operator's log has the cause under the id in the message.
    pub(super) fn fault(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::logged(&chain(error))
    }

    /// 500 for a fault that is described in words.
    pub(super) fn logged(cause: &str) -> Self {
        let id = Uuid::now_v7();
        tracing::error!(%id, error = cause, "a request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "unavailable",
            format!("the request failed; the operator's log has the cause under {id}"),
        )
    }

    fn store(error: &sqlx::Error) -> Self {
        if let sqlx::Error::Database(database) = error {
            // Class 57: the server shuts down or starts; 53: it is out of something;
            // 40 and 55: others held what the request needed for too long.
            let class = database
                .code()
                .map(|code| code[..2.min(code.len())].to_owned());
            if !matches!(class.as_deref(), Some("57" | "53" | "40" | "55")) {
                return Self::fault(error);
            }
        }
        tracing::warn!(error = chain(error), "the database did not answer");
        Self::unavailable("the database did not answer; send the same request again")
    }
}

impl From<RunError> for ApiError {
    fn from(error: RunError) -> Self {
        let message = error.to_string();
        match error {
            RunError::NotFound(_) => Self::not_found(message),
            RunError::Invalid(_) => Self::invalid(message),
            RunError::Conflict(_) => Self::new(StatusCode::CONFLICT, "conflict", message),
            RunError::Ended(_) => Self::new(StatusCode::CONFLICT, "run_ended", message),
            RunError::CallIdReused(_) => Self::new(StatusCode::CONFLICT, "call_id_reused", message),
            RunError::Store(error) => Self::store(&error),
            RunError::Unavailable(_) => Self::unavailable(message),
            RunError::Fault(error) => Self::fault(&*error),
        }
    }
}

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        Self::store(&error)
    }
}

impl From<ApplyError> for ApiError {
    fn from(error: ApplyError) -> Self {
        let message = error.to_string();
        match error {
            ApplyError::Rejected(mut problems) => {
                problems.truncate(MAX_PROBLEMS);
                Self::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "document_rejected",
                    message,
                )
                .with("problems", json!(problems))
            }
            ApplyError::Store(error) => Self::store(&error),
            ApplyError::Vault(error) => Self::fault(&error),
        }
    }
}

impl From<ObjectError> for ApiError {
    fn from(error: ObjectError) -> Self {
        let message = error.to_string();
        match error {
            ObjectError::NotFound { .. } => Self::not_found(message),
            ObjectError::Blocked(removal) => Self::new(StatusCode::CONFLICT, "conflict", message)
                .with("uses", json!(removal.uses)),
            ObjectError::Store(error) => Self::store(&error),
        }
    }
}

impl From<DecisionError> for ApiError {
    fn from(error: DecisionError) -> Self {
        let message = error.to_string();
        match error {
            DecisionError::NotFound(_) => Self::not_found(message),
            DecisionError::Conflict(_) => Self::new(StatusCode::CONFLICT, "conflict", message),
            DecisionError::Invalid(_) => Self::invalid(message),
            DecisionError::Store(error) => Self::store(&error),
            DecisionError::Fault(error) => Self::fault(&*error),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut error = Map::new();
        error.insert("code".to_owned(), self.code.into());
        error.insert("message".to_owned(), self.message.into());
        error.extend(self.detail);
        let mut response = body(self.status, &json!({ "error": error }));
        if self.status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// A JSON answer.
pub(super) fn body(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
