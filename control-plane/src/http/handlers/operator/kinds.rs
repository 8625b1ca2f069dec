//! `GET /v1/operator/<kind>` and `…/<kind>/<id>`: the objects of the document's kinds.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::machines;
use super::redaction::hide;
use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::InPath;
use crate::http::handlers::query::Parameters;
use crate::operator;

/// The kind whose objects are asked how they are.
const MACHINES: &str = "machines";

/// `GET /v1/operator/<kind>?after=&limit=`
pub(in crate::http) async fn list(
    kind: &'static str,
    operator: Operator,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let after = query.text("after").filter(|text| !text.is_empty());
    let limit = query.limit();
    query.finish()?;
    let pool = api.engine.pool();
    let organisation = &operator.organisation;
    let mut listed = operator::list(pool, organisation, kind, after.as_deref(), limit).await?;
    let is_live = kind == MACHINES;
    if is_live {
        machines::look(&api, &mut listed.objects).await;
    }
    hide(&api, organisation, kind, &mut listed.objects).await?;
    let mut answer = Map::new();
    answer.insert(kind.to_owned(), Value::Array(listed.objects));
    answer.insert("next".to_owned(), json!(listed.next));
    if is_live {
        answer.insert("control_plane".to_owned(), machines::control_plane(&api));
    }
    Ok(body(StatusCode::OK, &answer))
}

/// `GET /v1/operator/<kind>/<id>`
pub(in crate::http) async fn show(
    kind: &'static str,
    operator: Operator,
    State(api): State<Api>,
    InPath(id): InPath<String>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let pool = api.engine.pool();
    let mut object = operator::one(pool, &operator.organisation, kind, &id).await?;
    if kind == MACHINES {
        machines::look(&api, std::slice::from_mut(&mut object)).await;
    }
    let objects = std::slice::from_mut(&mut object);
    hide(&api, &operator.organisation, kind, objects).await?;
    Ok(body(StatusCode::OK, &object))
}
