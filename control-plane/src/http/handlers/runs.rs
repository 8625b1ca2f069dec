//! `/v1/runs`: start, look, end.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde_json::json;
use uuid::Uuid;

use super::query::Parameters;
use super::{InPath, run_id};
use crate::http::Api;
use crate::http::auth::Backend;
use crate::http::error::{ApiError, body};
use crate::http::fields::Fields;
use crate::http::payload::Payload;
use crate::run::offer::RunKind;
use crate::run::start::{MAX_TOOL_CALLS, Start};

/// `POST /v1/runs`
pub(in crate::http) async fn start(
    _: Backend,
    State(api): State<Api>,
    query: Parameters,
    uri: Uri,
    headers: HeaderMap,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    query.finish()?;
    let start = read(&bytes)?;
    let view = api.engine.start(start).await?;
    let token = api.engine.run_token(view.id()).await?;
    let url = mcp_url(&api, &uri, &headers, view.id());
    let view = view.with_mcp(url, Some(token));
    Ok(body(StatusCode::CREATED, &view))
}

/// Where the run's MCP face is for whoever sent this request.
fn mcp_url(api: &Api, uri: &Uri, headers: &HeaderMap, run: Uuid) -> String {
    format!("{}/v1/runs/{run}/mcp", api.address.base(uri, headers))
}

fn read(bytes: &[u8]) -> Result<Start, ApiError> {
    let mut fields = Fields::body(bytes)?;
    let agent: Option<String> = fields.required("agent", "an agent's id");
    let kind = fields.required::<String>("kind", "direct, group_chat or schedule");
    let kind = kind.and_then(|word| {
        let kind = RunKind::parse(&word);
        if kind.is_none() {
            let word = &word[..word.floor_char_boundary(60)];
            fields.problem(
                "kind",
                &format!("is \"{word}\"; allowed are direct, group_chat, schedule"),
            );
        }
        kind
    });
    let budget = format!("an integer from 1 to {MAX_TOOL_CALLS}");
    let max_tool_calls = fields.optional::<u32>("max_tool_calls", &budget);
    if let Some(number) = max_tool_calls
        && !(1..=MAX_TOOL_CALLS).contains(&number)
    {
        fields.problem(
            "max_tool_calls",
            &format!("is {number}; it has to be {budget}"),
        );
    }
    let id = fields.optional::<Uuid>("id", "a UUID");
    fields.finish()?;
    match (agent, kind) {
        (Some(agent), Some(kind)) => Ok(Start {
            agent,
            kind,
            max_tool_calls,
            id,
        }),
        _ => Err(ApiError::invalid("`agent` and `kind` are needed")),
    }
}

/// `GET /v1/runs?agent=&state=&after=&limit=`
pub(in crate::http) async fn list(
    _: Backend,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let agent = query.text("agent");
    let state = query.word("state", &["open", "ended"]);
    let after = query.uuid("after");
    let limit = query.limit();
    query.finish()?;
    let (runs, more) = api
        .engine
        .list(agent.as_deref(), state, after, limit)
        .await?;
    let next = more
        .then(|| runs.last().map(crate::run::view::RunSummary::id))
        .flatten();
    Ok(body(StatusCode::OK, &json!({ "runs": runs, "next": next })))
}

/// `GET /v1/runs/{run}`
pub(in crate::http) async fn show(
    _: Backend,
    State(api): State<Api>,
    InPath(run): InPath<String>,
    query: Parameters,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    query.finish()?;
    let view = api.engine.view(run_id(&run)?).await?;
    let url = mcp_url(&api, &uri, &headers, view.id());
    let view = view.with_mcp(url, None);
    Ok(body(StatusCode::OK, &view))
}

/// `POST /v1/runs/{run}/end`
pub(in crate::http) async fn end(
    _: Backend,
    State(api): State<Api>,
    InPath(run): InPath<String>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let view = api.engine.end(run_id(&run)?).await?;
    Ok(body(StatusCode::OK, &view))
}
