//! `/v1/runs/{run}/turns`: the turns of a run.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::query::Parameters;
use super::{InPath, run_id};
use crate::http::Api;
use crate::http::auth::Backend;
use crate::http::error::{ApiError, body};

/// `POST /v1/runs/{run}/turns`
pub(in crate::http) async fn begin(
    _: Backend,
    State(api): State<Api>,
    InPath(run): InPath<String>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let view = api.engine.next_turn(run_id(&run)?).await?;
    Ok(body(StatusCode::OK, &view))
}
