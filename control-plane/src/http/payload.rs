//! Bodies of requests: read whole under the limit, or drained so that the answer arrives.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use super::error::ApiError;

/// Most bytes of a body.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Time in which a body must arrive.
const ARRIVES_WITHIN: Duration = Duration::from_secs(60);
/// What is thrown away for a client that sends without looking: closing on it
/// would reset the connection before it reads the answer.
const DRAIN_BYTES: usize = 64 * 1024 * 1024;
const DRAIN_WITHIN: Duration = Duration::from_secs(15);

/// The body of the request at hand, until someone reads it.
#[derive(Clone)]
pub(super) struct Slot {
    body: Arc<Mutex<Option<Body>>>,
    announced: Option<usize>,
    /// The client waits to be told whether it may send.
    waits: bool,
}

impl Slot {
    pub(super) fn new(body: Body, headers: &HeaderMap) -> Self {
        let announced = headers
            .get(header::CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.parse().ok());
        Self {
            body: Arc::new(Mutex::new(Some(body))),
            announced,
            waits: headers.contains_key(header::EXPECT),
        }
    }

    fn take(&self) -> Option<Body> {
        self.body
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Throws away what nobody read.
    pub(super) async fn drain(&self) {
        if self.waits {
            return;
        }
        if let Some(body) = self.take() {
            drain(body, DRAIN_BYTES).await;
        }
    }

    async fn read(&self) -> Result<Bytes, ApiError> {
        if self.announced.is_some_and(|bytes| bytes > MAX_BYTES) {
            self.drain().await;
            return Err(ApiError::body_too_large());
        }
        let Some(body) = self.take() else {
            return Err(ApiError::logged("a body was read twice"));
        };
        timeout(ARRIVES_WITHIN, collect(body))
            .await
            .unwrap_or_else(|_| Err(ApiError::malformed("the body did not arrive within 60 s")))
    }
}

async fn collect(mut body: Body) -> Result<Bytes, ApiError> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| ApiError::malformed("the body broke off"))?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > MAX_BYTES {
                drain(body, DRAIN_BYTES).await;
                return Err(ApiError::body_too_large());
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.into())
}

async fn drain(mut body: Body, most: usize) {
    let all = async {
        let mut left = most;
        while let Some(Ok(frame)) = body.frame().await {
            let Some(rest) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else {
                break;
            };
            left = rest;
        }
    };
    // Whoever still sends after this may see a reset.
    let _ = timeout(DRAIN_WITHIN, all).await;
}

/// The whole body, at most 8 MiB.
pub(super) struct Payload(pub(super) Bytes);

impl<S: Sync> FromRequestParts<S> for Payload {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let slot = parts.extensions.get::<Slot>().cloned();
        match slot {
            Some(slot) => slot.read().await.map(Self),
            None => Err(ApiError::logged("a request came without its body")),
        }
    }
}
