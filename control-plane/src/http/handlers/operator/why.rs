//! `/v1/operator/why`: a tool's state for an agent, level by level.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::query::Parameters;

/// `GET /v1/operator/why?agent=&tool=`
pub(in crate::http) async fn explain(
    operator: Operator,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let agent = query.required("agent", "an agent's id");
    let tool = query.required("tool", "a tool's name");
    query.finish()?;
    let explanation = api
        .engine
        .why(
            &operator.organisation,
            &agent.unwrap_or_default(),
            &tool.unwrap_or_default(),
        )
        .await?;
    Ok(body(StatusCode::OK, &explanation))
}
