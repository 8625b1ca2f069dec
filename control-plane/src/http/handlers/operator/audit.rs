//! `/v1/operator/audit`: who changed what, newest first.

use axum::extract::State;
use axum::response::Response;

use super::redaction::hide_in_changes;
use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::ApiError;
use crate::http::handlers::list::{answer, one_more, page};
use crate::http::handlers::query::Parameters;
use crate::operator;
use crate::store::audit::reading::{self, Filter};

/// What is audited and no kind of the document.
const UNDOCUMENTED: [&str; 4] = ["records", "issues", "schedules", "secret-requests"];

/// `GET /v1/operator/audit?kind=&object=&actor=&since=&after=&limit=`
pub(in crate::http) async fn list(
    caller: Operator,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let kinds: Vec<&str> = operator::words().chain(UNDOCUMENTED).collect();
    let filter = Filter {
        kind: query.word("kind", &kinds),
        object: query.text("object"),
        actor: query.text("actor"),
        since_ms: query.moment("since"),
    };
    let after = query.number("after");
    let limit = query.limit();
    query.finish()?;
    let mut db = api.engine.pool().acquire().await?;
    let found = reading::page(
        &mut db,
        &caller.organisation,
        &filter,
        after,
        one_more(limit),
    )
    .await?;
    let (mut audit, next) = page(found, limit, |change| change.id);
    hide_in_changes(&api, &mut db, &caller.organisation, &mut audit).await?;
    Ok(answer("audit", &audit, next))
}
