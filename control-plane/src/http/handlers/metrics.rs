//! `/metrics`: on loopback, or with an operator token.

use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::ApiError;
use crate::http::server::Peer;
use crate::store::runs;

/// Time for the database's part.
const COUNT_WITHIN: Duration = Duration::from_secs(2);

/// `GET /metrics`
pub(in crate::http) async fn show(
    State(api): State<Api>,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, _) = request.into_parts();
    let local = parts
        .extensions
        .get::<Peer>()
        .is_some_and(|peer| peer.0.ip().to_canonical().is_loopback());
    if !local {
        Operator::from_request_parts(&mut parts, &api).await?;
    }
    let count = async {
        let mut db = api.engine.pool().acquire().await.ok()?;
        runs::count_open(&mut db).await.ok()
    };
    let open = tokio::time::timeout(COUNT_WITHIN, count)
        .await
        .ok()
        .flatten();
    let mut text = api.engine.metrics().text(open);
    text.push_str(
        "# HELP guilds_mcp_streams Streams of MCP clients that are open on this replica.\n",
    );
    text.push_str("# TYPE guilds_mcp_streams gauge\n");
    text.push_str(&format!("guilds_mcp_streams {}\n", api.seats.count()));
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
