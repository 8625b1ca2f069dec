//! `/v1/operator/secret-requests`: what agents ask for, given or denied.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use secrecy::SecretString;
use serde_json::json;
use uuid::Uuid;

use super::issues::one_more;
use super::redaction::without_secrets;
use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::fields::{Fields, kind};
use crate::http::handlers::InPath;
use crate::http::handlers::query::Parameters;
use crate::http::payload::Payload;
use crate::operator::Session;
use crate::operator::decisions::{self, Gift};
use crate::store::place;
use crate::store::secret_requests::{self, Filter, SecretRequest};

const STATUSES: [&str; 3] = ["pending", "fulfilled", "denied"];
/// Most characters of a reason.
const MAX_REASON: usize = 2_000;
/// Roughly the bytes of a request in an answer.
const WEIGHT: usize = 1_000;

/// `GET /v1/operator/secret-requests?status=&after=&limit=`
pub(in crate::http) async fn list(
    operator: Operator,
    State(api): State<Api>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let filter = Filter {
        status: query.word("status", &STATUSES),
        ids: None,
    };
    let after = query.place("after", |id| Uuid::try_parse(id).is_ok());
    let limit = query.limit();
    query.finish()?;
    let mut db = api.engine.pool().acquire().await?;
    let found = secret_requests::page(
        &mut db,
        &operator.organisation,
        &filter,
        after.as_ref(),
        one_more(limit),
    )
    .await?;
    let (requests, next) = place::cut(found, limit, |_| WEIGHT, SecretRequest::place);
    let list = json!({ "secret_requests": requests, "next": next });
    let list = without_secrets(&api, &mut db, &operator.organisation, &list).await?;
    Ok(body(StatusCode::OK, &list))
}

/// `GET /v1/operator/secret-requests/{id}`
pub(in crate::http) async fn show(
    operator: Operator,
    State(api): State<Api>,
    InPath(id): InPath<String>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let id = request_id(&id)?;
    let mut db = api.engine.pool().acquire().await?;
    let request = secret_requests::find(&mut db, &operator.organisation, id).await?;
    let request = request.ok_or_else(|| missing(&id.to_string()))?;
    drop(db);
    answered(&api, &operator, &request).await
}

/// `POST /v1/operator/secret-requests/{id}/fulfil` `{"value"}` or `{"grant_existing":true}`
pub(in crate::http) async fn fulfil(
    operator: Operator,
    State(api): State<Api>,
    InPath(id): InPath<String>,
    query: Parameters,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    query.finish()?;
    let id = request_id(&id)?;
    let gift = gift(&bytes)?;
    drop(bytes);
    let session = Session {
        organisation: &operator.organisation,
        actor: &operator.actor(),
        vault: api.engine.vault(),
    };
    let request = decisions::fulfil(api.engine.pool(), &session, id, &gift).await?;
    answered(&api, &operator, &request).await
}

/// A request with what was written of it, without secrets.
async fn answered(
    api: &Api,
    operator: &Operator,
    request: &SecretRequest,
) -> Result<Response, ApiError> {
    let mut db = api.engine.pool().acquire().await?;
    let request = without_secrets(api, &mut db, &operator.organisation, request).await?;
    Ok(body(StatusCode::OK, &request))
}

/// Problems never repeat what stands under `value`, whatever its type.
fn gift(bytes: &[u8]) -> Result<Gift, ApiError> {
    let mut fields = Fields::body(bytes)?;
    let mut value = None;
    if let Some(raw) = fields.raw("value") {
        match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => value = Some(SecretString::from(text)),
            Err(_) => {
                let found = kind(raw);
                fields.problem("value", &format!("is {found}; it has to be a string"));
            }
        }
    }
    let existing = fields.optional::<bool>("grant_existing", "true");
    let existing = existing.unwrap_or_default();
    if value.is_some() == existing && fields.is_fine() {
        fields.problem(
            "value",
            "or `grant_existing` is needed: the secret's value, or true to grant the secret that has this name already; one of them",
        );
    }
    fields.finish()?;
    Ok(value.map_or(Gift::Existing, Gift::Value))
}

/// `POST /v1/operator/secret-requests/{id}/deny` `{"reason"}`
pub(in crate::http) async fn deny(
    operator: Operator,
    State(api): State<Api>,
    InPath(id): InPath<String>,
    query: Parameters,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    query.finish()?;
    let id = request_id(&id)?;
    let mut fields = Fields::body(&bytes)?;
    let reason = fields.required::<String>("reason", "a sentence for the agent");
    let reason = reason.unwrap_or_default().replace('\0', "\u{fffd}");
    if reason.trim().is_empty() && fields.is_fine() {
        fields.problem("reason", "is empty; it has to be a sentence for the agent");
    }
    let characters = reason.chars().count();
    if characters > MAX_REASON {
        fields.problem(
            "reason",
            &format!("has {characters} characters; at most {MAX_REASON} are allowed"),
        );
    }
    fields.finish()?;
    let session = Session {
        organisation: &operator.organisation,
        actor: &operator.actor(),
        vault: api.engine.vault(),
    };
    let request = decisions::deny(api.engine.pool(), &session, id, reason.trim()).await?;
    answered(&api, &operator, &request).await
}

fn request_id(text: &str) -> Result<Uuid, ApiError> {
    Uuid::try_parse(text).map_err(|_| missing(text))
}

fn missing(id: &str) -> ApiError {
    let id = &id[..id.floor_char_boundary(60)];
    ApiError::not_found(format!("no secret request {id}"))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let message = format!("{:?}", gift(text.as_bytes()).unwrap_err());
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("4711"), "{message}");
    }

    #[test]
    fn a_value_or_the_existing_one_and_never_both() {
        match gift(br#"{"value":"hunter22"}"#).unwrap() {
            Gift::Value(value) => assert_eq!(value.expose_secret(), "hunter22"),
            Gift::Existing => panic!("a value was sent"),
        }
        assert!(matches!(
            gift(br#"{"grant_existing":true}"#).unwrap(),
            Gift::Existing
        ));
        refused("{}", "`value` or `grant_existing` is needed");
        refused(
            r#"{"value":"hunter22","grant_existing":true}"#,
            "one of them",
        );
        refused(r#"{"grant_existing":false}"#, "is needed");
        refused(r#"{"values":"4711"}"#, "`values` is no field");
    }

    #[test]
    fn a_value_of_another_type_is_not_repeated() {
        refused(
            r#"{"value":4711}"#,
            "`value` is a number; it has to be a string",
        );
        refused(r#"{"value":["4711"]}"#, "`value` is an array");
    }
}
