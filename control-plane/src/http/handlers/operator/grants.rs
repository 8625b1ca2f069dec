//! `/v1/operator/secrets/{name}/grants/{agent}`: one grant, beside those that others change meanwhile.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::InPath;
use crate::http::handlers::query::Parameters;
use crate::operator::{Session, grants};

/// `PUT /v1/operator/secrets/{name}/grants/{agent}`: the agent has it then.
pub(in crate::http) async fn give(
    operator: Operator,
    State(api): State<Api>,
    InPath((name, agent)): InPath<(String, String)>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    set(&operator, &api, (&name, &agent), true).await
}

/// `DELETE /v1/operator/secrets/{name}/grants/{agent}`: the agent has it no more.
pub(in crate::http) async fn take(
    operator: Operator,
    State(api): State<Api>,
    InPath((name, agent)): InPath<(String, String)>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    set(&operator, &api, (&name, &agent), false).await
}

async fn set(
    operator: &Operator,
    api: &Api,
    (name, agent): (&str, &str),
    granted: bool,
) -> Result<Response, ApiError> {
    let session = Session {
        organisation: &operator.organisation,
        actor: &operator.actor(),
        vault: api.engine.vault(),
    };
    let applied = grants::set(api.engine.pool(), &session, name, agent, granted).await?;
    Ok(body(StatusCode::OK, &applied))
}
