//! Events as server-sent events (WHATWG HTML, section 9.2).

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::time::{Instant, sleep};

use super::{EventView, words};
use crate::http::Api;
use crate::http::error::ApiError;
use crate::run::error::RunError;
use crate::store::events;
use crate::store::events::feed::Woken;
use crate::telemetry::chain;

/// Silence after which a comment shows that the stream lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A stream ends then, so that its token is looked at again.
const LIFE: Duration = Duration::from_secs(900);
/// Events read at once: what a slow reader holds in memory.
const PAGE: usize = 100;
/// Before a page that the database did not give is asked for again.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The `seq` after which a reader goes on.
pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let Some(value) = headers.get(LAST_EVENT_ID).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let seq = value.to_str().ok().and_then(|text| text.parse().ok());
    match seq.filter(|seq| *seq >= 0) {
        Some(seq) => Ok(Some(seq)),
        None => Err(ApiError::invalid(
            "the header `Last-Event-ID` is no number; allowed is the id of an event",
        )),
    }
}

/// A stream from its reader's place on.
struct Reader {
    api: Api,
    /// The last event that was written.
    after: i64,
    /// The newest that is known to be worth a look.
    beyond: i64,
    until: Instant,
    ready: VecDeque<Bytes>,
}

/// Answers with a stream of every event after `after`.
pub(super) fn open(api: Api, after: i64, removed_through: Option<i64>) -> Response {
    // The first bytes tell a client that it is connected, and how soon to come back.
    let mut opening = String::from("retry: 1000\n\n");
    if let Some(seq) = removed_through {
        opening = format!(": events up to {seq} are removed\n{opening}");
    }
    let reader = Reader {
        api,
        after,
        beyond: after,
        until: Instant::now() + LIFE,
        ready: VecDeque::from([Bytes::from(opening)]),
    };
    let stream = stream::unfold(reader, |mut reader| async move {
        let chunk = reader.next().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), reader))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // A proxy that gathers answers would hold the stream back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(stream)).into_response()
}

impl Reader {
    /// The next bytes; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(chunk);
            }
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            if let Err(error) = self.fill().await {
                // The database may be away for a moment; the reader's place stays.
                tracing::debug!(error = chain(&error), "a stream of events waits");
                sleep(TRY_AGAIN_AFTER.min(left)).await;
                return Some(comment());
            }
            if !self.ready.is_empty() {
                continue;
            }
            let wait = HEARTBEAT.min(left);
            match self.api.engine.feed().wait(self.beyond, wait).await {
                Woken::Events(head) => self.beyond = head,
                Woken::TimeOver => return Some(comment()),
                Woken::Ended => return None,
            }
        }
    }

    async fn fill(&mut self) -> Result<(), RunError> {
        let (found, _) = events::page(self.api.engine.pool(), self.after, PAGE).await?;
        for event in words::redacted(&self.api, found).await? {
            self.after = event.seq;
            self.beyond = self.beyond.max(event.seq);
            self.ready.push_back(written(event));
        }
        Ok(())
    }
}

/// JSON text has no line break, so one `data` line holds it.
fn written(event: EventView) -> Bytes {
    let seq = event.seq;
    match serde_json::to_string(&event) {
        Ok(text) => Bytes::from(format!("id: {seq}\ndata: {text}\n\n")),
        Err(error) => {
            tracing::error!(%error, seq, "an event could not be written as JSON");
            Bytes::from(format!("id: {seq}\n\n"))
        }
    }
}

fn comment() -> Bytes {
    Bytes::from_static(b": alive\n\n")
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn read(value: Option<&'static str>) -> Option<Option<i64>> {
        let mut headers = HeaderMap::new();
        if let Some(value) = value {
            headers.insert(LAST_EVENT_ID, HeaderValue::from_static(value));
        }
        last_event_id(&headers).ok()
    }

    #[test]
    fn a_reader_says_where_it_was_with_a_number_or_not_at_all() {
        assert_eq!(read(None), Some(None));
        assert_eq!(read(Some("")), Some(None));
        assert_eq!(read(Some("17")), Some(Some(17)));
        assert_eq!(read(Some("-1")), None);
        assert_eq!(read(Some("x")), None);
    }

    #[test]
    fn an_event_is_an_id_and_one_line_of_data() {
        let event = EventView {
            seq: 3,
            r#type: "issue".to_owned(),
            at: "2026-01-05T09:00:00Z".to_owned(),
            organisation: "acme".to_owned(),
            guild: Some("core".to_owned()),
            agent: None,
            detail: serde_json::from_str(r#"{"summary":"two\nlines"}"#).unwrap(),
        };
        assert_eq!(
            written(event),
            "id: 3\ndata: {\"seq\":3,\"type\":\"issue\",\"at\":\"2026-01-05T09:00:00Z\",\"organisation\":\"acme\",\"guild\":\"core\",\"agent\":null,\"summary\":\"two\\nlines\"}\n\n"
        );
    }
}
