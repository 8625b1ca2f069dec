//! `/v1/operator/runs`: runs with their counts, and one run's calls in time.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::list::{answer, one_more, page};
use crate::http::handlers::query::Parameters;
use crate::http::handlers::{InPath, run_id};
use crate::operator;
use crate::store::runs::reading::{self, Filter, RunRow, TimelineCall};

/// `GET /v1/operator/runs?agent=&state=&after=&limit=`, newest first.
pub(in crate::http) async fn list(
    caller: Operator,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let filter = Filter {
        agent: query.text("agent"),
        state: query.word("state", &["open", "ended"]),
        only: None,
    };
    let after = query.uuid("after");
    let limit = query.limit();
    query.finish()?;
    let organisation = &caller.organisation;
    let mut db = api.engine.pool().acquire().await?;
    if let Some(run) = after {
        let only = Filter {
            only: Some(run),
            ..Filter::default()
        };
        if reading::page(&mut db, organisation, &only, None, 1)
            .await?
            .is_empty()
        {
            return Err(ApiError::invalid(format!("`after` names no run: {run}")));
        }
    }
    let found = reading::page(&mut db, organisation, &filter, after, one_more(limit)).await?;
    if found.is_empty()
        && let Some(agent) = &filter.agent
        && !reading::has_run_of(&mut db, organisation, agent).await?
    {
        // One that is deleted has had runs, or nothing tells it from one that never was.
        operator::require(&mut db, organisation, "agents", agent).await?;
    }
    let (runs, next) = page(found, limit, |run| run.id);
    Ok(answer("runs", &runs, next))
}

#[derive(Serialize)]
struct WithTimeline {
    #[serde(flatten)]
    run: RunRow,
    timeline: Vec<TimelineCall>,
    next: Option<String>,
}

/// `GET /v1/operator/runs/{run}?after=&limit=`; both are of the timeline, whose
/// cursor is a call's id.
pub(in crate::http) async fn show(
    operator: Operator,
    State(api): State<Api>,
    InPath(run): InPath<String>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let after = query.text("after");
    let limit = query.limit();
    query.finish()?;
    let id = run_id(&run)?;
    let only = Filter {
        only: Some(id),
        ..Filter::default()
    };
    let mut db = api.engine.pool().acquire().await?;
    let run = reading::page(&mut db, &operator.organisation, &only, None, 1)
        .await?
        .pop()
        .ok_or_else(|| ApiError::not_found(format!("no run {id}")))?;
    if let Some(call) = &after
        && !reading::has_call(&mut db, id, call).await?
    {
        return Err(ApiError::invalid("`after` names no call of this run"));
    }
    let found = reading::timeline(&mut db, id, after.as_deref(), one_more(limit)).await?;
    let (timeline, next) = page(found, limit, |call| call.call_id.clone());
    Ok(body(
        StatusCode::OK,
        &WithTimeline {
            run,
            timeline,
            next,
        },
    ))
}
