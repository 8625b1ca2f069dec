//! `/v1/runs/{run}/messages`: what the calls of a run answered, page by page.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use uuid::Uuid;

use super::query::Parameters;
use super::{InPath, run_id};
use crate::http::Api;
use crate::http::auth::Backend;
use crate::http::error::{ApiError, body};
use crate::run::messages::MessageView;

#[derive(Serialize)]
struct Page {
    messages: Vec<MessageView>,
    next: Option<Uuid>,
}

/// `GET /v1/runs/{run}/messages?after=&limit=`; `after` is the id of a message.
pub(in crate::http) async fn list(
    _: Backend,
    State(api): State<Api>,
    InPath(run): InPath<String>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let after = query.uuid("after");
    let limit = query.limit();
    query.finish()?;
    let (messages, more) = api.engine.messages(run_id(&run)?, after, limit).await?;
    let next = more.then(|| messages.last().map(MessageView::id)).flatten();
    Ok(body(StatusCode::OK, &Page { messages, next }))
}
