//! Streams on which clients hear that the offer changed, whichever replica made the turn.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, stream};
use rmcp::model::RequestId;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Cx;
use super::era::Era;
use super::methods::{failed, server_meta};
use super::reply::{Fault, Reply};
use super::seats::Seat;
use crate::http::Api;
use crate::http::error::ApiError;
use crate::run::error::RunError;
use crate::store::standing::Standing;
use crate::store::standing::followers::Follower;

/// Silence after which a comment shows that the stream lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const LAST_EVENT_ID: &str = "last-event-id";
/// Characters of an offer's digest that stand in the id of an event.
const SHOWN: usize = 16;

/// Who listens.
enum Listener {
    /// A client of the first era, by `GET`. Whether its events have ids to resume from.
    Session { resumes: bool },
    /// A client of the second era, by a request of this id.
    Subscription { id: RequestId, wants_tools: bool },
}

/// A stream from its opening on.
struct Reader {
    follower: Follower,
    listener: Listener,
    /// Digest of the offer that the client knows or was told of.
    known: String,
    seat: Seat,
    ready: VecDeque<Bytes>,
    has_ended: bool,
}

/// The stream that a client of the first era opens.
pub(super) async fn session(
    api: Api,
    run: Uuid,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let listener = Listener::Session {
        resumes: Era::primes_streams(headers),
    };
    let mut reader = Reader::open(&api, run, listener).await?;
    reader.resume(last_seen(headers));
    Ok(reader.into_response())
}

/// The stream that answers `subscriptions/listen`.
pub(super) async fn subscription(
    cx: &Cx,
    id: &RequestId,
    wants_tools: bool,
) -> Result<Reply, Fault> {
    let listener = Listener::Subscription {
        id: id.clone(),
        wants_tools,
    };
    let reader = Reader::open(&cx.api, cx.run, listener).await;
    let mut reader = reader.map_err(|error| failed(cx, error))?;
    let honored = if wants_tools {
        json!({ "toolsListChanged": true })
    } else {
        json!({})
    };
    let acknowledged = json!({
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": { "_meta": { SUBSCRIPTION: id }, "notifications": honored },
    });
    reader
        .ready
        .push_back(event(None, &acknowledged.to_string()));
    Ok(Reply::Other(reader.into_response()))
}

/// What the client saw last on a stream that broke off.
fn last_seen(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(LAST_EVENT_ID)?.to_str().ok()?;
    value.split_once('.').map(|(offer, _)| offer)
}

impl Reader {
    async fn open(api: &Api, run: Uuid, listener: Listener) -> Result<Self, RunError> {
        let seat = api.seats.take(run).ok_or_else(|| {
            RunError::Unavailable("too many streams are open here; ask again later".to_owned())
        })?;
        // Followed before it is read, so that no change falls between the two.
        let follower = api.engine.followers().follow(run);
        let standing = api.engine.standing(run).await?;
        if !standing.is_open {
            return Err(RunError::Ended(run));
        }
        Ok(Self {
            follower,
            listener,
            known: standing.offer,
            seat,
            ready: VecDeque::new(),
            has_ended: false,
        })
    }

    /// The first bytes of a session's stream, and what its client missed.
    fn resume(&mut self, last_seen: Option<&str>) {
        let missed = last_seen.is_some_and(|seen| !self.known.starts_with(seen));
        let id = self.event_id();
        let opening = match (id, missed) {
            (Some(id), false) => format!("id: {id}\nretry: 1000\ndata: \n\n"),
            (_, _) => "retry: 1000\n\n".to_owned(),
        };
        self.ready.push_back(opening.into());
        if missed {
            self.tell_changed();
        }
    }

    fn into_response(self) -> Response {
        response(stream::unfold(self, |mut reader| async move {
            let chunk = reader.next().await?;
            Some((Ok::<_, std::convert::Infallible>(chunk), reader))
        }))
    }

    /// The next bytes; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(chunk);
            }
            if self.has_ended {
                return None;
            }
            tokio::select! {
                standing = self.follower.changed() => self.take(standing),
                () = self.seat.given_up() => self.end(),
                () = tokio::time::sleep(HEARTBEAT) => return Some(comment()),
            }
        }
    }

    fn take(&mut self, standing: Option<Standing>) {
        let Some(standing) = standing.filter(|standing| standing.is_open) else {
            return self.end();
        };
        if standing.offer != self.known {
            self.known = standing.offer;
            self.tell_changed();
        }
    }

    fn tell_changed(&mut self) {
        let mut changed = json!({
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
        });
        if let Listener::Subscription { id, wants_tools } = &self.listener {
            if !wants_tools {
                return;
            }
            changed["params"] = json!({ "_meta": { SUBSCRIPTION: id } });
        }
        let id = self.event_id();
        self.ready
            .push_back(event(id.as_deref(), &changed.to_string()));
    }

    /// Ends the stream in good order: a subscription is a request, and gets its response.
    fn end(&mut self) {
        self.has_ended = true;
        if let Listener::Subscription { id, .. } = &self.listener {
            let mut meta = server_meta();
            meta.insert(SUBSCRIPTION.to_owned(), id.clone().into_json_value());
            let result = json!({
                "jsonrpc": "2.0",
                "id": id,
                "result": { "resultType": "complete", "_meta": Value::Object(meta) },
            });
            self.ready.push_back(event(None, &result.to_string()));
        }
    }

    /// A place to resume from: the offer that the client knows, and what makes it unique.
    fn event_id(&self) -> Option<String> {
        let Listener::Session { resumes: true } = self.listener else {
            return None;
        };
        let offer = &self.known[..SHOWN.min(self.known.len())];
        Some(format!("{offer}.{}", Uuid::now_v7().simple()))
    }
}

/// An answer of server-sent events (WHATWG HTML, section 9.2).
pub(super) fn response(
    events: impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // A proxy that gathers answers would hold the stream back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(events)).into_response()
}

/// A message as an event. JSON text has no line break, so one `data` line holds it.
pub(super) fn event(id: Option<&str>, text: &str) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    Bytes::from(format!("event: message\n{id}data: {text}\n\n"))
}

pub(super) fn comment() -> Bytes {
    Bytes::from_static(b": alive\n\n")
}
