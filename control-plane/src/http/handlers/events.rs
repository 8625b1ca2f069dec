//! `/v1/events`: what happened, in order: pages that wait for the next event, or a stream.

mod stream;
mod words;

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::query::Parameters;
use crate::http::Api;
use crate::http::auth::Backend;
use crate::http::error::{ApiError, body};
use crate::store::events::feed::Woken;
use crate::store::events::{self, Listed};
use crate::telemetry::chain;

/// Longest wait of one request in seconds.
const MAX_WAIT_S: i64 = 60;
/// Before a page that the database did not give is asked for again.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// An event as the chat backend reads it.
#[derive(Serialize)]
struct EventView {
    seq: i64,
    r#type: String,
    at: String,
    organisation: String,
    guild: Option<String>,
    agent: Option<String>,
    #[serde(flatten)]
    detail: Map<String, Value>,
}

impl From<Listed> for EventView {
    fn from(event: Listed) -> Self {
        Self {
            seq: event.seq,
            r#type: event.kind,
            at: event.at,
            organisation: event.organisation,
            guild: event.guild,
            agent: event.agent,
            detail: serde_json::from_str(&event.detail).unwrap_or_default(),
        }
    }
}

#[derive(Default, Serialize)]
struct Page {
    events: Vec<EventView>,
    next: Option<i64>,
    /// Only for a reader that stayed away too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed_through: Option<i64>,
}

/// `GET /v1/events?after=&wait=&limit=`
pub(in crate::http) async fn list(
    _: Backend,
    State(api): State<Api>,
    mut query: Parameters,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let given = query.integer("after", 0..=i64::MAX);
    let wait = query.integer("wait", 0..=MAX_WAIT_S).unwrap_or(0);
    let limit = query.limit();
    query.finish()?;
    if wants_stream(&headers) {
        // A client that connects again sends its old address with the newer header.
        let after = stream::last_event_id(&headers)?.or(given);
        let removed_through = check(&api, after).await?;
        return Ok(stream::open(api, after.unwrap_or(0), removed_through));
    }
    let removed_through = check(&api, given).await?;
    let wait = Duration::from_secs(wait.unsigned_abs());
    let mut page = next_page(&api, given.unwrap_or(0), limit, wait).await?;
    page.removed_through = removed_through;
    Ok(body(StatusCode::OK, &page))
}

/// Whether a stream is asked for by its name. One whose weight is 0 is not wanted (RFC 9110,
/// section 12.4.2).
fn wants_stream(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let named = parts
                .next()
                .is_some_and(|media| media.eq_ignore_ascii_case("text/event-stream"));
            named && !parts.any(is_zero_weight)
        })
}

/// `q=0`, `Q=0.000` and the like.
fn is_zero_weight(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, value)| {
        name.trim().eq_ignore_ascii_case("q") && value.trim().parse::<f32>() == Ok(0.0)
    })
}

/// Refuses a place that no reader of this database has seen, and answers up to where
/// events are gone that the reader did not see. `None` is a reader that begins.
async fn check(api: &Api, after: Option<i64>) -> Result<Option<i64>, ApiError> {
    let Some(after) = after else {
        return Ok(None);
    };
    let bounds = events::bounds(api.engine.pool()).await?;
    if after > bounds.newest {
        return Err(ApiError::invalid(format!(
            "`after` is {after} and the newest event is {}; begin again without it",
            bounds.newest
        )));
    }
    Ok((0 < after && after < bounds.swept).then_some(bounds.swept))
}

async fn next_page(api: &Api, after: i64, limit: usize, wait: Duration) -> Result<Page, ApiError> {
    let until = Instant::now() + wait;
    let mut beyond = after;
    loop {
        match events::page(api.engine.pool(), after, limit).await {
            Ok((found, more)) if !found.is_empty() => {
                let next = more.then(|| found.last().map(|event| event.seq)).flatten();
                let events = words::redacted(api, found).await?;
                return Ok(Page {
                    events,
                    next,
                    removed_through: None,
                });
            }
            Ok(_) => {}
            Err(error) if Instant::now() + TRY_AGAIN_AFTER < until => {
                tracing::debug!(error = chain(&error), "a page of events is asked for again");
                sleep(TRY_AGAIN_AFTER).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        let left = until.saturating_duration_since(Instant::now());
        match api.engine.feed().wait(beyond, left).await {
            // Only a number beyond this one can bring something.
            Woken::Events(head) => beyond = head,
            Woken::TimeOver | Woken::Ended => return Ok(Page::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_accept(accept: &'static str, expected: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, axum::http::HeaderValue::from_static(accept));
        assert_eq!(wants_stream(&headers), expected, "{accept}");
    }

    #[test]
    fn only_the_accept_header_asks_for_a_stream() {
        check_accept("text/event-stream", true);
        check_accept("application/json, Text/Event-Stream;q=0.9", true);
        check_accept("text/event-stream;q=0", false);
        check_accept("application/json, text/event-stream; Q=0.000", false);
        check_accept("text/event-stream;charset=utf-8;q=0.001", true);
        check_accept("*/*", false);
        check_accept("text/*", false);
        assert!(!wants_stream(&HeaderMap::new()));
    }
}
