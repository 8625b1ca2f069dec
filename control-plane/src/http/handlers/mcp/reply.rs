//! Answers of the MCP face: JSON-RPC results and errors, and what HTTP says with them.

use std::borrow::Cow;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::model::{
    ErrorCode, ErrorData, JsonRpcError, JsonRpcResponse, JsonRpcVersion2_0, RequestId,
};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::access::SESSION;

/// An answer.
pub(super) enum Reply {
    /// A notification was taken.
    Taken,
    /// JSON text of a JSON-RPC response.
    Json(String),
    /// One that begins a session.
    Session(String, String),
    /// A stream of messages, or whatever else is no message.
    Other(Response),
    /// A request that was refused or failed.
    Fault(Fault),
}

impl Reply {
    /// A successful response.
    pub(super) fn result(id: &RequestId, result: &impl Serialize) -> Self {
        match result_text(id, result) {
            Ok(text) => Self::Json(text),
            Err(fault) => Self::Fault(fault),
        }
    }

    /// The message in it, for a batch.
    pub(super) fn into_json(self) -> Option<String> {
        match self {
            Self::Json(text) | Self::Session(text, _) => Some(text),
            Self::Fault(fault) => Some(fault.text()),
            Self::Taken | Self::Other(_) => None,
        }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        match self {
            Self::Taken => StatusCode::ACCEPTED.into_response(),
            Self::Json(text) => json(StatusCode::OK, text),
            Self::Session(text, session) => {
                let mut response = json(StatusCode::OK, text);
                if let Ok(session) = HeaderValue::from_str(&session) {
                    let headers = response.headers_mut();
                    headers.insert(HeaderName::from_static(SESSION), session);
                }
                response
            }
            Self::Other(response) => response,
            Self::Fault(fault) => fault.into_response(),
        }
    }
}

/// JSON text of a successful response.
pub(super) fn result_text(id: &RequestId, result: &impl Serialize) -> Result<String, Fault> {
    let response = JsonRpcResponse {
        jsonrpc: JsonRpcVersion2_0,
        id: id.clone(),
        result,
    };
    serde_json::to_string(&response).map_err(|error| {
        tracing::error!(%error, "a message could not be written as JSON");
        Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            ErrorCode::INTERNAL_ERROR,
            "the answer could not be written",
        )
        .about(Some(id))
    })
}

/// A JSON-RPC error, and the HTTP status that goes with it.
#[derive(Debug)]
pub(super) struct Fault {
    status: StatusCode,
    id: Option<RequestId>,
    error: Box<ErrorData>,
}

impl Fault {
    pub(super) fn new(
        status: StatusCode,
        code: ErrorCode,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            id: None,
            error: Box::new(ErrorData::new(code, message, None)),
        }
    }

    /// A request that can't be understood.
    pub(super) fn bad(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// A request that was understood: HTTP did its part.
    pub(super) fn refused(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::OK, code, message)
    }

    /// An error of the library's making.
    pub(super) fn of(error: ErrorData) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            id: None,
            error: Box::new(error),
        }
    }

    pub(super) fn ended(run: Uuid) -> Self {
        let message = format!("run {run} has ended");
        Self::new(StatusCode::CONFLICT, ErrorCode::INVALID_REQUEST, message)
            .with(json!({ "code": "run_ended" }))
    }

    /// With more for programs.
    pub(super) fn with(mut self, data: Value) -> Self {
        self.error.data = Some(data);
        self
    }

    /// The request that it answers, when that is known.
    pub(super) fn about(mut self, id: Option<&RequestId>) -> Self {
        if let Some(id) = id {
            self.id = Some(id.clone());
        }
        self
    }

    /// Which JSON-RPC error it is.
    pub(super) fn code(&self) -> i32 {
        self.error.code.0
    }

    pub(super) fn text(self) -> String {
        serde_json::to_string(&JsonRpcError::new(self.id, *self.error)).unwrap_or_default()
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        json(self.status, self.text())
    }
}

/// An answer with JSON text.
pub(super) fn json(status: StatusCode, text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (status, headers, text).into_response()
}
