//! `POST /v1/operator/apply`: the operator's document.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use super::dry_run;
use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::query::Parameters;
use crate::http::payload::Payload;
use crate::operator::{self, Format, Session};

/// `POST /v1/operator/apply?dry_run=`; JSON, or TOML when the content type says so.
pub(in crate::http) async fn apply(
    operator: Operator,
    State(api): State<Api>,
    mut query: Parameters,
    headers: HeaderMap,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    let dry_run = dry_run(&mut query);
    query.finish()?;
    let session = Session {
        organisation: &operator.organisation,
        actor: &operator.actor(),
        vault: api.engine.vault(),
    };
    let pool = api.engine.pool();
    let applied = operator::apply(pool, &session, &bytes, format(&headers), dry_run).await?;
    Ok(body(StatusCode::OK, &applied))
}

fn format(headers: &HeaderMap) -> Format {
    let is_toml = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|text| text.to_ascii_lowercase().contains("toml"));
    if is_toml { Format::Toml } else { Format::Json }
}
