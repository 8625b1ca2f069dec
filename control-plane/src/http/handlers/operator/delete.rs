//! `DELETE /v1/operator/<kind>/<id>`: what uses an object, and its end.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::dry_run;
use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::InPath;
use crate::http::handlers::query::Parameters;
use crate::operator::{self, Session};

/// `DELETE /v1/operator/<kind>/<id>?dry_run=`
pub(in crate::http) async fn delete(
    kind: &'static str,
    operator: Operator,
    State(api): State<Api>,
    InPath(id): InPath<String>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let dry_run = dry_run(&mut query);
    query.finish()?;
    let session = Session {
        organisation: &operator.organisation,
        actor: &operator.actor(),
        vault: api.engine.vault(),
    };
    let removal = operator::remove(api.engine.pool(), &session, kind, &id, dry_run).await?;
    Ok(body(StatusCode::OK, &removal))
}
