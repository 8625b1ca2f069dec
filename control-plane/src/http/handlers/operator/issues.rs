//! `/v1/operator/issues`: problems that agents reported.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::json;

use super::redaction::without_secrets;
use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::fields::Fields;
use crate::http::handlers::InPath;
use crate::http::handlers::query::Parameters;
use crate::http::payload::Payload;
use crate::operator::{self, Session, decisions};
use crate::store::issues::reading::{self, Filter, Issue, Reported};
use crate::store::place;

pub(super) const STATUSES: [&str; 2] = ["open", "resolved"];

/// `GET /v1/operator/issues?guild=&status=&after=&limit=`
pub(in crate::http) async fn list(
    caller: Operator,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let filter = Filter {
        guild: query.text("guild"),
        status: query.word("status", &STATUSES),
        ids: None,
    };
    let after = query.place("after", |id| id.parse::<i64>().is_ok());
    let limit = query.limit();
    query.finish()?;
    let mut db = api.engine.pool().acquire().await?;
    let organisation = &caller.organisation;
    let one_more = one_more(limit);
    let found = reading::page(&mut db, organisation, &filter, after.as_ref(), one_more).await?;
    if found.is_empty()
        && let Some(guild) = &filter.guild
    {
        operator::require(&mut db, organisation, "guilds", guild).await?;
    }
    let (issues, next) = place::cut(found, limit, Issue::weight, Issue::place);
    let list = json!({ "issues": issues, "next": next });
    let list = without_secrets(&api, &mut db, organisation, &list).await?;
    Ok(body(StatusCode::OK, &list))
}

#[derive(Serialize)]
struct WithReports {
    #[serde(flatten)]
    issue: Issue,
    recent_reports: Vec<Reported>,
    next: Option<i64>,
}

/// `GET /v1/operator/issues/{id}?after=&limit=`: the issue and its reports, newest first.
pub(in crate::http) async fn show(
    operator: Operator,
    State(api): State<Api>,
    InPath(id): InPath<String>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let after = query.integer("after", 0..=i64::MAX);
    let limit = query.limit();
    query.finish()?;
    let id = issue_id(&id)?;
    let mut db = api.engine.pool().acquire().await?;
    let issue = reading::find(&mut db, &operator.organisation, id).await?;
    let issue = issue.ok_or_else(|| missing(&id.to_string()))?;
    let mut recent_reports = reading::reports(&mut db, id, after, one_more(limit)).await?;
    let more = recent_reports.len() > limit;
    recent_reports.truncate(limit);
    let next = recent_reports
        .last()
        .filter(|_| more)
        .map(|report| report.id);
    let found = WithReports {
        issue,
        recent_reports,
        next,
    };
    let found = without_secrets(&api, &mut db, &operator.organisation, &found).await?;
    Ok(body(StatusCode::OK, &found))
}

/// `PATCH /v1/operator/issues/{id}` `{"status"}`
pub(in crate::http) async fn change(
    operator: Operator,
    State(api): State<Api>,
    InPath(id): InPath<String>,
    query: Parameters,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    query.finish()?;
    let id = issue_id(&id)?;
    let mut fields = Fields::body(&bytes)?;
    let status = fields.required::<String>("status", "open or resolved");
    let known = status
        .as_deref()
        .and_then(|word| STATUSES.into_iter().find(|known| *known == word));
    if let (Some(word), None) = (&status, known) {
        let word = &word[..word.floor_char_boundary(60)];
        fields.problem(
            "status",
            &format!("is \"{word}\"; allowed are open, resolved"),
        );
    }
    fields.finish()?;
    let session = Session {
        organisation: &operator.organisation,
        actor: &operator.actor(),
        vault: api.engine.vault(),
    };
    let status = known.unwrap_or_default();
    let issue = decisions::set_issue_status(api.engine.pool(), &session, id, status).await?;
    let mut db = api.engine.pool().acquire().await?;
    let issue = without_secrets(&api, &mut db, &operator.organisation, &issue).await?;
    Ok(body(StatusCode::OK, &issue))
}

pub(super) fn one_more(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)
}

fn issue_id(text: &str) -> Result<i64, ApiError> {
    text.parse().map_err(|_| missing(text))
}

fn missing(id: &str) -> ApiError {
    ApiError::not_found(format!("no issue {}", &id[..id.floor_char_boundary(60)]))
}
