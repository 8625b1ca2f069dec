//! `/openapi.json`: the description of the API, open without a token.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::query::Parameters;
use crate::http::Api;
use crate::http::error::ApiError;

/// `GET /openapi.json`
pub(in crate::http) async fn show(
    State(api): State<Api>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let headers = [(header::CONTENT_TYPE, "application/json")];
    Ok((StatusCode::OK, headers, api.document).into_response())
}
