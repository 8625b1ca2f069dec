//! Around every request: its body is kept for whoever reads it, panics become answers, answers are counted.

use std::panic::AssertUnwindSafe;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;

use super::Api;
use super::error::ApiError;
use super::payload::Slot;

pub(super) async fn around(State(api): State<Api>, request: Request, next: Next) -> Response {
    let method = label(request.method());
    let (mut parts, body) = request.into_parts();
    let slot = Slot::new(body, &parts.headers);
    parts.extensions.insert(slot.clone());
    let handled = next.run(Request::from_parts(parts, Body::empty()));
    let response = match AssertUnwindSafe(handled).catch_unwind().await {
        Ok(response) => response,
        Err(_) => ApiError::logged("a handler panicked").into_response(),
    };
    slot.drain().await;
    api.engine
        .metrics()
        .request(method, response.status().as_u16());
    response
}

/// A bounded word for a method.
fn label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
