//! `/healthz`: open without a token.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::http::Api;
use crate::http::error::{ApiError, body};
use crate::store::pool;
use crate::telemetry::chain;

/// `GET /healthz/live`: the process ticks.
pub(in crate::http) async fn live() -> Response {
    body(StatusCode::OK, &json!({ "status": "live" }))
}

/// `GET /healthz/ready`: the database answers and its migrations are current.
pub(in crate::http) async fn ready(State(api): State<Api>) -> Result<Response, ApiError> {
    match pool::ready(api.engine.pool()).await {
        Ok(()) => Ok(body(StatusCode::OK, &json!({ "status": "ready" }))),
        Err(error) => {
            tracing::debug!(error = chain(&error), "not ready");
            Err(ApiError::unavailable(error.to_string()))
        }
    }
}
