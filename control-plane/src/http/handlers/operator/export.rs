//! `GET /v1/operator/export`: the document that says what is stored, without values and keys.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::query::Parameters;
use crate::operator;

/// `GET /v1/operator/export`
pub(in crate::http) async fn export(
    operator: Operator,
    State(api): State<Api>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let document = operator::export(api.engine.pool(), &operator.organisation).await?;
    Ok(body(StatusCode::OK, &document))
}
