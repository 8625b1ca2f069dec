//! `/v1/operator/schedules`: every agent's schedules, paused and resumed by operators too.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use uuid::Uuid;

use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::fields::Fields;
use crate::http::handlers::InPath;
use crate::http::handlers::list::{answer, one_more, page};
use crate::http::handlers::query::Parameters;
use crate::http::payload::Payload;
use crate::operator::decisions::schedules::set_state;
use crate::operator::{self, Session};
use crate::store::schedules::firing::{Fire, fires};
use crate::store::schedules::{Filter, Owned, Schedule};

const STATES: [&str; 2] = ["active", "paused"];

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    schedule: Schedule,
    agent: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    more: Option<More>,
    created_at: String,
}

/// What only one schedule shows.
#[derive(Serialize)]
struct More {
    instruction: String,
    recent_fires: Vec<Fire>,
}

impl Row {
    fn new(owned: Owned, fires: Option<Vec<Fire>>) -> Self {
        Self {
            schedule: owned.schedule,
            agent: owned.agent,
            more: fires.map(|recent_fires| More {
                instruction: owned.instruction,
                recent_fires,
            }),
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
        state: query.word("state", &STATES),
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
    let schedules: Vec<Row> = found
        .into_iter()
        .map(|owned| Row::new(owned, None))
        .collect();
    Ok(answer("schedules", &schedules, next))
}

/// `GET /v1/operator/schedules/{id}`: the same with its instruction and its last fires.
pub(in crate::http) async fn show(
    operator: Operator,
    State(api): State<Api>,
    InPath(id): InPath<String>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    one(&api, &operator.organisation, schedule_id(&id)?).await
}

/// `PATCH /v1/operator/schedules/{id}` `{"state"}`
pub(in crate::http) async fn change(
    operator: Operator,
    State(api): State<Api>,
    InPath(id): InPath<String>,
    query: Parameters,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    query.finish()?;
    let id = schedule_id(&id)?;
    let mut fields = Fields::body(&bytes)?;
    let state = fields.required::<String>("state", "active or paused");
    if let Some(word) = &state
        && !STATES.contains(&word.as_str())
    {
        let word = &word[..word.floor_char_boundary(60)];
        fields.problem(
            "state",
            &format!("is \"{word}\"; allowed are active, paused"),
        );
    }
    fields.finish()?;
    let session = Session {
        organisation: &operator.organisation,
        actor: &operator.actor(),
        vault: api.engine.vault(),
    };
    let paused = state.as_deref() == Some("paused");
    set_state(api.engine.pool(), &session, id, paused).await?;
    one(&api, &operator.organisation, id).await
}

async fn one(api: &Api, organisation: &str, id: Uuid) -> Result<Response, ApiError> {
    let filter = Filter {
        only: Some(id),
        ..Filter::default()
    };
    let found = api.engine.schedules(organisation, filter, 1).await?;
    let owned = found
        .into_iter()
        .next()
        .ok_or_else(|| absent(&id.to_string()))?;
    let mut db = api.engine.pool().acquire().await?;
    let fires = fires(&mut db, id).await?;
    Ok(body(StatusCode::OK, &Row::new(owned, Some(fires))))
}

fn schedule_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::try_parse(text).map_err(|_| absent(text))
}

fn absent(id: &str) -> ApiError {
    ApiError::not_found(format!("no schedule {}", &id[..id.floor_char_boundary(60)]))
}
