//! Passing one request to the agent's runner: bytes both ways under caps, sent at most once, and a true word when the runner dies.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::handshake;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use machine_agent_api::{CallState, MOST_FILE, SLOT_HEADER};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::agents::{Agents, Handle};
use super::keeper::{Care, Ready};
use super::places::Place;
use crate::answer::{Body, MOST_REQUEST, Refused, json};
use crate::route::AgentRoute;

/// Most bytes of an answer: the largest output, each byte of it escaped, and room.
const MOST_ANSWER: usize = 128 << 20;
/// Longest a request may take: the longest limit, the queue, Chrome's start, and room.
const LONGEST: Duration = Duration::from_secs(900);
/// How long the end of a runner, and of all it ran, may take to be known.
const END_KNOWN: Duration = Duration::from_secs(15);
/// How often a runner that isn't there is made ready again, before a byte is sent.
const TRIES: u32 = 3;

/// Passes one request.
///
/// # Errors
/// A refusal of the front's own; the runner's refusals are passed on as they are.
pub async fn pass(
    agents: &Agents,
    handle: &Handle,
    place: &Place,
    ready: Ready,
    route: &AgentRoute,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refused> {
    let (stream, ready) = connect(agents, handle, place, ready).await?;
    let broken = || Refused::failed("the connection to the agent's runner could not be used");
    let (mut sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(|_| broken())?;
    let driver = Driver(tokio::spawn(async move {
        let _ = connection.await;
    }));
    let too_large = Arc::new(AtomicBool::new(false));
    let request = forward(request, place, &too_large).map_err(|_| broken())?;
    match timeout(LONGEST, sender.send_request(request)).await {
        Ok(Ok(response)) => Ok(give_back(response, most_answer(route), driver)),
        Ok(Err(_)) if too_large.load(Ordering::Relaxed) => Err(Refused::too_large()),
        Ok(Err(error)) => after_break(ready, route, &error).await,
        Err(_) => Err(Refused::unavailable(format!(
            "the agent's runner did not answer within {} s",
            LONGEST.as_secs()
        ))),
    }
}

/// Nothing was sent yet, so a runner that died meanwhile may be replaced.
async fn connect(
    agents: &Agents,
    handle: &Handle,
    place: &Place,
    mut ready: Ready,
) -> Result<(UnixStream, Ready), Refused> {
    for _ in 0..TRIES {
        if let Ok(stream) = UnixStream::connect(&ready.socket).await {
            return Ok((stream, ready));
        }
        let _ = timeout(END_KNOWN, ready.ended.wait_for(|ended| *ended)).await;
        ready = handle.ensure(agents, place, Care::Known).await?;
    }
    Err(Refused::unavailable(
        "the agent's runner ends again and again",
    ))
}

fn forward(
    request: Request<Incoming>,
    place: &Place,
    too_large: &Arc<AtomicBool>,
) -> hyper::http::Result<Request<Body>> {
    let (head, body) = request.into_parts();
    // Only what the path says goes on: a header is read by nobody there but the slot.
    let target = head
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let body = Capped {
        inner: body,
        left: MOST_REQUEST,
        over: Some(Arc::clone(too_large)),
        _driver: None,
    };
    Request::builder()
        .method(head.method)
        .uri(target)
        .header(HOST, "runner")
        .header(SLOT_HEADER, u16::from(place.slot))
        .body(body.boxed_unsync())
}

fn most_answer(route: &AgentRoute) -> usize {
    match route {
        AgentRoute::File(_) => usize::try_from(MOST_FILE).unwrap_or(MOST_ANSWER),
        _ => MOST_ANSWER,
    }
}

/// A runner's bytes are hostile: only its status and its capped body are passed on.
fn give_back(response: Response<Incoming>, most: usize, driver: Driver) -> Response<Body> {
    let status = response.status();
    let body = Capped {
        inner: response.into_body(),
        left: most,
        over: None,
        _driver: Some(driver),
    };
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = if status.is_success() || status.is_client_error() {
        status
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// The connection broke after bytes were sent: nobody knows how far it came.
async fn after_break(
    mut ready: Ready,
    route: &AgentRoute,
    error: &hyper::Error,
) -> Result<Response<Body>, Refused> {
    let ended = timeout(END_KNOWN, ready.ended.wait_for(|ended| *ended)).await;
    if !matches!(ended, Ok(Ok(_))) {
        tracing::warn!(%error, "a connection to a runner that lives on broke");
        return Err(Refused::failed(
            "the connection to the agent's runner broke",
        ));
    }
    let message = "the agent's runner ended".to_owned();
    match route {
        AgentRoute::Start { .. } | AgentRoute::Follow { .. } | AgentRoute::Cancel(_) => {
            Ok(json(StatusCode::OK, &CallState::Lost { message }))
        }
        _ => Err(Refused::unavailable(message)),
    }
}

/// The task that moves one connection's bytes; it ends with its request.
#[derive(Debug)]
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A body that breaks off past its cap.
struct Capped {
    inner: Incoming,
    left: usize,
    over: Option<Arc<AtomicBool>>,
    _driver: Option<Driver>,
}

impl hyper::body::Body for Capped {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let frame = match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(io::Error::other(error)))),
            Some(Ok(frame)) => frame,
        };
        let Ok(data) = frame.into_data() else {
            // Trailers mean nothing here.
            return Poll::Ready(None);
        };
        match self.left.checked_sub(data.len()) {
            Some(left) => {
                self.left = left;
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            None => {
                if let Some(over) = &self.over {
                    over.store(true, Ordering::Relaxed);
                }
                Poll::Ready(Some(Err(io::Error::other(
                    "the body is larger than its cap",
                ))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
