//! `/v1/runs/{run}/mcp`: the run as an MCP server over streamable HTTP.
//!
//! Clients of both eras are served on the one path: those that open with `initialize`
//! (revisions up to 2025-11-25) and those whose every request says what it is (2026-07-28).
//! Nothing is kept between requests, so each may reach another replica. The transport is
//! ours, because that of `rmcp` keeps sessions and their streams in the memory of one
//! process; the messages are of its types.

mod access;
mod calling;
mod envelope;
mod era;
mod listening;
mod media;
mod methods;
mod reply;
pub(in crate::http) mod seats;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rmcp::model::ErrorCode;
use tracing::Instrument as _;
use uuid::Uuid;

use self::access::Access;
use self::envelope::{Body, Message};
use self::era::Era;
use self::media::Media;
use self::reply::{Fault, Reply};
use crate::http::Api;
use crate::http::error::ApiError;
use crate::http::payload::Payload;
use crate::run::mcp::RequestKey;

/// What every method is given.
struct Cx {
    api: Api,
    run: Uuid,
    era: Era,
    media: Media,
    /// The session that the client named, checked.
    session: Option<String>,
}

impl Cx {
    /// For work that outlives the request.
    fn share(&self) -> Self {
        Self {
            api: self.api.clone(),
            run: self.run,
            era: self.era.clone(),
            media: self.media,
            session: self.session.clone(),
        }
    }

    fn request_key(&self, id: &str) -> RequestKey {
        RequestKey::new(self.session.as_deref(), id)
    }
}

/// `POST`: one message, or with revision 2025-03-26 several.
pub(in crate::http) async fn post(
    access: Access,
    State(api): State<Api>,
    headers: HeaderMap,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    let span = tracing::info_span!("mcp", run = %access.run);
    async {
        let media = Media::of_post(&headers)?;
        Ok(match take(&api, &access, &headers, media, &bytes).await {
            Ok(response) => response,
            Err(fault) => fault.into_response(),
        })
    }
    .instrument(span)
    .await
}

async fn take(
    api: &Api,
    access: &Access,
    headers: &HeaderMap,
    media: Media,
    bytes: &[u8],
) -> Result<Response, Fault> {
    let body = Body::read(bytes)?;
    if access.has_ended {
        return Err(Fault::ended(access.run).about(body.first_id()));
    }
    let cx = |era: Era| -> Result<Cx, Fault> {
        let session = match era {
            Era::Stateless => None,
            Era::Initialized(_) => access.session(api, headers)?,
        };
        Ok(Cx {
            api: api.clone(),
            run: access.run,
            era,
            media,
            session,
        })
    };
    match body {
        Body::One(message) => {
            let id = message.id.clone();
            let era = Era::of(headers, &message).map_err(|fault| fault.about(id.as_ref()))?;
            let cx = cx(era).map_err(|fault| fault.about(id.as_ref()))?;
            Ok(methods::answer(&cx, message).await.into_response())
        }
        Body::Batch(messages) => {
            let cx = cx(Era::of_batch(headers)?)?;
            Ok(batch(&cx, messages).await)
        }
    }
}

/// The messages of a batch, one after another. Its answer is never a stream.
async fn batch(cx: &Cx, messages: Vec<Result<Message<'_>, Fault>>) -> Response {
    let mut answers = Vec::new();
    for message in messages {
        let reply = match message {
            Ok(message) if message.method.as_deref() == Some("initialize") => Reply::Fault(
                Fault::bad(ErrorCode::INVALID_REQUEST, "`initialize` is sent alone")
                    .about(message.id.as_ref()),
            ),
            Ok(message) => methods::answer(cx, message).await,
            Err(fault) => Reply::Fault(fault),
        };
        answers.extend(reply.into_json());
    }
    if answers.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    reply::json(StatusCode::OK, format!("[{}]", answers.join(",")))
}

/// `GET`: the stream on which a client of the first era hears that the offer changed.
pub(in crate::http) async fn get(
    access: Access,
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let span = tracing::info_span!("mcp", run = %access.run);
    async {
        if Era::names_stateless(&headers) {
            return Ok(wrong_method(&Method::GET, "POST"));
        }
        Media::of_get(&headers)?;
        if access.has_ended {
            return Err(access.ended());
        }
        if let Err(fault) = access.session(&api, &headers) {
            return Ok(fault.into_response());
        }
        listening::session(api, access.run, &headers).await
    }
    .instrument(span)
    .await
}

/// `DELETE`: a session is nothing that is kept, so there is nothing to delete.
pub(in crate::http) async fn delete(_: Access) -> Response {
    wrong_method(&Method::DELETE, "GET, POST")
}

fn wrong_method(method: &Method, allowed: &'static str) -> Response {
    let message = format!("{method} is not allowed here; allowed are {allowed}");
    let error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "invalid", message);
    let mut response = error.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}
