//! `/v1/operator/audit`: who changed what, newest first.

use axum::extract::State;
use axum::response::Response;

use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::ApiError;
use crate::http::handlers::list::{answer, one_more, page};
use crate::http::handlers::query::Parameters;
use crate::store::audit::reading::{self, Filter};

/// `GET /v1/operator/audit?kind=&object=&actor=&since=&after=&limit=`
pub(in crate::http) async fn list(
    operator: Operator,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let filter = Filter {
        kind: query.text("kind"),
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
        &operator.organisation,
        &filter,
        after,
        one_more(limit),
    )
    .await?;
    let (audit, next) = page(found, limit, |change| change.id);
    Ok(answer("audit", &audit, next))
}
