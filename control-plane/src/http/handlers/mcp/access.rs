//! Who may speak to a run's MCP face: whoever has the run's own token, from no foreign page.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use rmcp::model::ErrorCode;
use uuid::Uuid;

use super::reply::Fault;
use crate::http::Api;
use crate::http::auth::{bearer, token};
use crate::http::error::ApiError;
use crate::http::handlers::{InPath, run_id};
use crate::run::error::RunError;
use crate::run::token::Opens;

/// Name of the header that holds a session's id.
pub(super) const SESSION: &str = "mcp-session-id";

/// A request with the token of its run.
pub(in crate::http) struct Access {
    pub(super) run: Uuid,
    /// The run has ended: its token opens nothing any more, but the reason can be told.
    pub(super) has_ended: bool,
}

impl FromRequestParts<Api> for Access {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        check_origin(&parts.headers, api)?;
        let bearer = bearer(parts)?.to_owned();
        let InPath(run) = InPath::<String>::from_request_parts(parts, api).await?;
        let run = run_id(&run)?;
        match api.engine.opens(run, &bearer).await? {
            Opens::Run => Ok(Self {
                run,
                has_ended: false,
            }),
            Opens::EndedRun => Ok(Self {
                run,
                has_ended: true,
            }),
            Opens::OtherRun => Err(ApiError::forbidden("the token is another run's")),
            Opens::Nothing => {
                // A token that is known, but not here, is told apart from one that is none.
                token(parts, api).await?;
                Err(ApiError::forbidden(
                    "this needs the run's own token, `mcp.token` of the answer to its start",
                ))
            }
        }
    }
}

/// Refuses a page of another origin, which could get here by rebinding its name.
fn check_origin(headers: &HeaderMap, api: &Api) -> Result<(), ApiError> {
    for origin in headers.get_all(header::ORIGIN) {
        let allowed = origin
            .to_str()
            .is_ok_and(|origin| api.address.allows_origin(origin));
        if !allowed {
            return Err(ApiError::forbidden(
                "the header `Origin` names a page that may not speak to this API; allowed are those of this machine and of `public_url`",
            ));
        }
    }
    Ok(())
}

impl Access {
    /// The session that the client names, or none.
    pub(super) fn session(&self, api: &Api, headers: &HeaderMap) -> Result<Option<String>, Fault> {
        let Some(named) = headers.get(SESSION) else {
            return Ok(None);
        };
        let named = named.to_str().unwrap_or_default();
        if api.engine.is_session(self.run, named) {
            return Ok(Some(named.to_owned()));
        }
        // 404 makes a client begin a new session (2025-11-25, "Session Management").
        Err(Fault::new(
            StatusCode::NOT_FOUND,
            ErrorCode::INVALID_REQUEST,
            "the session is none of this run; begin a new one with `initialize`",
        ))
    }

    /// The refusal of what is no message.
    pub(super) fn ended(&self) -> ApiError {
        RunError::Ended(self.run).into()
    }
}
