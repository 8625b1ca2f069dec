//! Bearer tokens and what they open.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use uuid::Uuid;

use super::Api;
use super::error::ApiError;
use crate::key::token_digest;
use crate::store::tokens::{self, Role, Token};

/// A chat backend's token.
pub(super) struct Backend;

/// An operator's token.
pub(super) struct Operator {
    /// Its organisation.
    pub(super) organisation: String,
    /// Its id, the actor in the audit.
    pub(super) token: Uuid,
}

impl FromRequestParts<Api> for Backend {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        match token(parts, api).await?.role {
            Role::Backend => Ok(Self),
            Role::Operator { .. } => Err(ApiError::forbidden(
                "this needs a backend token; the token is an operator's",
            )),
        }
    }
}

impl FromRequestParts<Api> for Operator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        let token = token(parts, api).await?;
        match token.role {
            Role::Operator { organisation } => Ok(Self {
                organisation,
                token: token.id,
            }),
            Role::Backend => Err(ApiError::forbidden(
                "this needs an operator token; the token is a backend's",
            )),
        }
    }
}

/// The bearer token of a request.
pub(super) fn bearer(parts: &Parts) -> Result<&str, ApiError> {
    let header = parts.headers.get(header::AUTHORIZATION).ok_or_else(|| {
        ApiError::unauthorized("the request has no token: send `Authorization: Bearer <token>`")
    })?;
    let text = header.to_str().unwrap_or_default();
    text.split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .filter(|token| !token.is_empty())
        .ok_or_else(|| ApiError::unauthorized("the `Authorization` header is not `Bearer <token>`"))
}

/// What the bearer token of a request is.
pub(super) async fn token(parts: &Parts, api: &Api) -> Result<Token, ApiError> {
    tokens::find(api.engine.pool(), &token_digest(bearer(parts)?))
        .await?
        .ok_or_else(|| ApiError::unauthorized("the token is unknown or revoked"))
}
