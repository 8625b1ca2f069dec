//! One file per resource.

pub(super) mod calls;
pub(super) mod fallback;
pub(super) mod health;
pub(super) mod messages;
pub(super) mod metrics;
pub(super) mod operator;
mod query;
pub(super) mod runs;
pub(super) mod tools;
pub(super) mod turns;

use uuid::Uuid;

use super::error::ApiError;

/// A run's id in a path. What is no UUID is no run.
fn run_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::try_parse(text).map_err(|_| {
        ApiError::not_found(format!("no run {}", &text[..text.floor_char_boundary(60)]))
    })
}
