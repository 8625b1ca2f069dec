//! One file per resource.

pub(super) mod agents;
pub(super) mod calls;
pub(super) mod events;
pub(super) mod fallback;
pub(super) mod health;
mod list;
pub(super) mod mcp;
pub(super) mod messages;
pub(super) mod metrics;
pub(super) mod openapi;
pub(super) mod operator;
mod query;
pub(super) mod runs;
pub(super) mod tools;
pub(super) mod turns;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::error::ApiError;

/// What a path names. A part that can't be read names nothing.
pub(super) struct InPath<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for InPath<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(named)) => Ok(Self(named)),
            Err(_) => Err(ApiError::not_found(
                "the path names nothing: a part of it is not UTF-8",
            )),
        }
    }
}

/// A run's id in a path. What is no UUID is no run.
fn run_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::try_parse(text).map_err(|_| {
        ApiError::not_found(format!("no run {}", &text[..text.floor_char_boundary(60)]))
    })
}
