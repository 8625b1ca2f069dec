//! `/v1/operator/schedules`: every agent's schedules.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use uuid::Uuid;

use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::InPath;
use crate::http::handlers::list::{answer, one_more, page};
use crate::http::handlers::query::Parameters;
use crate::operator;
use crate::store::schedules::{Filter, Owned, Schedule};

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    schedule: Schedule,
    agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    instruction: Option<String>,
    created_at: String,
}

impl Row {
    fn new(owned: Owned) -> Self {
        Self {
            schedule: owned.schedule,
            agent: owned.agent,
            instruction: None,
            created_at: owned.created_at,
        }
    }
}

/// `GET /v1/operator/schedules?agent=&state=&after=&limit=`
pub(in crate::http) async fn list(
    caller: Operator,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let agent = query.text("agent");
    let filter = Filter {
        agent: agent.as_deref(),
        state: query.word("state", &["active", "paused"]),
        only: None,
        after: query.uuid("after"),
    };
    let limit = query.limit();
    query.finish()?;
    let found = api
        .engine
        .schedules(&caller.organisation, filter, one_more(limit))
        .await?;
    if found.is_empty()
        && let Some(agent) = &agent
    {
        let mut db = api.engine.pool().acquire().await?;
        operator::require(&mut db, &caller.organisation, "agents", agent).await?;
    }
    let (found, next) = page(found, limit, |owned| owned.schedule.schedule_id);
    let schedules: Vec<Row> = found.into_iter().map(Row::new).collect();
    Ok(answer("schedules", &schedules, next))
}

/// `GET /v1/operator/schedules/{id}`: the same with its instruction.
pub(in crate::http) async fn show(
    operator: Operator,
    State(api): State<Api>,
    InPath(id): InPath<String>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let absent = || {
        let id = &id[..id.floor_char_boundary(60)];
        ApiError::not_found(format!("no schedule {id}"))
    };
    let filter = Filter {
        only: Some(Uuid::try_parse(&id).map_err(|_| absent())?),
        ..Filter::default()
    };
    let found = api
        .engine
        .schedules(&operator.organisation, filter, 1)
        .await?;
    let owned = found.into_iter().next().ok_or_else(absent)?;
    let instruction = Some(owned.instruction.clone());
    let row = Row {
        instruction,
        ..Row::new(owned)
    };
    Ok(body(StatusCode::OK, &row))
}
