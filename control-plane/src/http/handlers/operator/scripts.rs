//! `/v1/operator/scripts`: the scripts that agents made, and when they ran.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use super::redaction::without_secrets;
use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::InPath;
use crate::http::handlers::list::{one_more, page};
use crate::http::handlers::query::Parameters;
use crate::operator;
use crate::store::scripts::reading::{self, Filter, ScriptRow, ScriptUse};

/// Runs of a script that are shown beside its source.
const USES: i64 = 20;

#[derive(Serialize)]
struct Listed {
    scripts: Vec<ScriptRow>,
    next: Option<String>,
}

/// `GET /v1/operator/scripts?agent=&after=&limit=`; the cursor is `<agent>/<name>`.
pub(in crate::http) async fn list(
    caller: Operator,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let agent = query.text("agent");
    let after = query.pair("after");
    let limit = query.limit();
    query.finish()?;
    let filter = Filter {
        agent: agent.as_deref(),
        only: None,
        after: after
            .as_ref()
            .map(|(agent, name)| (agent.as_str(), name.as_str())),
    };
    let mut db = api.engine.pool().acquire().await?;
    let organisation = &caller.organisation;
    let found = reading::page(&mut db, organisation, filter, one_more(limit)).await?;
    if found.is_empty()
        && let Some(agent) = &agent
    {
        operator::require(&mut db, organisation, "agents", agent).await?;
    }
    let (scripts, next) = page(found, limit, |script| {
        format!("{}/{}", script.agent, script.name)
    });
    let list = Listed { scripts, next };
    let list = without_secrets(&api, &mut db, organisation, &list).await?;
    Ok(body(StatusCode::OK, &list))
}

#[derive(Serialize)]
struct WithSource {
    #[serde(flatten)]
    script: ScriptRow,
    source: String,
    /// Newest first.
    runs: Vec<ScriptUse>,
}

/// `GET /v1/operator/scripts/{agent}/{name}`
pub(in crate::http) async fn show(
    operator: Operator,
    State(api): State<Api>,
    InPath((agent, name)): InPath<(String, String)>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let absent = || ApiError::not_found(format!("no script {}/{}", cut(&agent), cut(&name)));
    if agent.contains('\0') || name.contains('\0') {
        return Err(absent());
    }
    let organisation = &operator.organisation;
    let only = Filter {
        agent: Some(&agent),
        only: Some(&name),
        after: None,
    };
    let mut db = api.engine.pool().acquire().await?;
    let script = reading::page(&mut db, organisation, only, 1)
        .await?
        .pop()
        .ok_or_else(absent)?;
    let source = reading::source(&mut db, organisation, &agent, &name)
        .await?
        .ok_or_else(absent)?;
    let runs = reading::uses(&mut db, organisation, &agent, &name, USES).await?;
    let found = WithSource {
        script,
        source,
        runs,
    };
    let found = without_secrets(&api, &mut db, organisation, &found).await?;
    Ok(body(StatusCode::OK, &found))
}

/// A name from a path, short enough for a sentence.
fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(100)]
}
