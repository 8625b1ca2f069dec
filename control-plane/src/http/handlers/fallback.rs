//! Paths and methods that are none.

use axum::http::{Method, StatusCode, Uri};

use crate::http::error::ApiError;

pub(in crate::http) async fn not_found(uri: Uri) -> ApiError {
    let path = uri.path();
    ApiError::not_found(format!(
        "no path {}",
        &path[..path.floor_char_boundary(200)]
    ))
}

pub(in crate::http) async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let path = uri.path();
    let path = &path[..path.floor_char_boundary(200)];
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "invalid",
        format!("{method} is not allowed on {path}"),
    )
}
