//! `/v1/operator/inbox`: what waits for an operator.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::issues::one_more;
use super::redaction::without_secrets;
use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::query::Parameters;
use crate::store::inbox::{self, Item};
use crate::store::place;

/// `GET /v1/operator/inbox?after=&limit=`
pub(in crate::http) async fn list(
    operator: Operator,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let after = query.place("after", |_| true);
    let limit = query.limit();
    query.finish()?;
    let mut db = api.engine.pool().acquire().await?;
    let organisation = &operator.organisation;
    let counts = inbox::counts(&mut db, organisation).await?;
    let found = inbox::page(&mut db, organisation, after.as_ref(), one_more(limit)).await?;
    let (items, next) = place::cut(found, limit, Item::weight, Item::place);
    let list = json!({ "inbox": items, "next": next, "counts": counts });
    let list = without_secrets(&api, &mut db, organisation, &list).await?;
    Ok(body(StatusCode::OK, &list))
}
