//! `/v1/operator/notes/{path}/history` and `/restore`: what notes were, and the way back.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use serde_json::value::to_raw_value;
use sqlx::PgConnection;

use super::revision;
use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::InPath;
use crate::http::handlers::list::{answer, one_more, page};
use crate::http::handlers::query::Parameters;
use crate::http::payload::Payload;
use crate::store::audit;
use crate::store::notes::Place;
use crate::store::notes::history::{self, Present};

fn absent(path: &str) -> ApiError {
    let path = &path[..path.floor_char_boundary(160)];
    ApiError::not_found(format!("no note {path}"))
}

fn place(operator: &Operator, path: &str) -> Result<Place, ApiError> {
    history::place(&operator.organisation, path)
        .filter(|place| !place.key.contains('\0'))
        .ok_or_else(|| absent(path))
}

async fn find(db: &mut PgConnection, operator: &Operator, path: &str) -> Result<Present, ApiError> {
    let place = place(operator, path)?;
    history::find(db, &operator.organisation, &place)
        .await?
        .ok_or_else(|| absent(path))
}

/// `GET /v1/operator/notes/{path}/history?after=&limit=`, newest first, without contents.
pub(in crate::http) async fn list(
    operator: Operator,
    State(api): State<Api>,
    InPath(path): InPath<String>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let after = query.number("after");
    let limit = query.limit();
    query.finish()?;
    let mut db = api.engine.pool().acquire().await?;
    let note = find(&mut db, &operator, &path).await?;
    let found = history::page(&mut db, note.id, after, one_more(limit)).await?;
    let (revisions, next) = page(found, limit, |revision| revision.id);
    Ok(answer("revisions", &revisions, next))
}

/// `GET /v1/operator/notes/{path}/history/{revision}`: one with its content.
pub(in crate::http) async fn show(
    operator: Operator,
    State(api): State<Api>,
    InPath((path, id)): InPath<(String, String)>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let note = {
        let mut db = api.engine.pool().acquire().await?;
        find(&mut db, &operator, &path).await?
    };
    let none = || ApiError::not_found(format!("note {path} has no such revision"));
    let id = id.parse().map_err(|_| none())?;
    let found = api
        .engine
        .note_revision(&operator.organisation, &note, id)
        .await?;
    Ok(body(StatusCode::OK, &found.ok_or_else(none)?))
}

/// `POST /v1/operator/notes/{path}/restore` `{"revision"?}`: a deleted note lives
/// again as it was, a live one goes back to the revision before, or to the one named.
pub(in crate::http) async fn restore(
    operator: Operator,
    State(api): State<Api>,
    InPath(path): InPath<String>,
    query: Parameters,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    query.finish()?;
    let wanted = revision::wanted(&bytes)?;
    let place = place(&operator, &path)?;
    let actor = operator.actor();
    let what = format!("note {place}");
    let mut tx = api.engine.pool().begin().await?;
    let note = history::hold(&mut tx, &operator.organisation, &place)
        .await?
        .ok_or_else(|| absent(&path))?;
    let (revision, content) = if wanted.is_none() && note.deleted {
        (None, note.body.clone())
    } else {
        let found = history::revision(&mut tx, note.id, wanted).await?;
        let found = found.ok_or_else(|| match wanted {
            Some(id) => revision::absent(&what, id),
            None => revision::nothing_before(&what),
        })?;
        (Some(found.id), found.content.unwrap_or_default())
    };
    history::bring_back(&mut tx, &note, &place.key, &content, &actor).await?;
    let before = json!({ "deleted": note.deleted, "bytes": note.body.len() });
    let after = json!({ "deleted": false, "bytes": content.len(), "revision": revision });
    let entry = audit::Entry {
        actor: &actor,
        action: "restore",
        kind: "notes",
        object: &place.to_string(),
        before: Some(&to_raw_value(&before).map_err(|error| ApiError::fault(&error))?),
        after: Some(&to_raw_value(&after).map_err(|error| ApiError::fault(&error))?),
    };
    audit::record(&mut tx, &operator.organisation, &entry).await?;
    tx.commit().await?;
    Ok(body(
        StatusCode::OK,
        &json!({ "path": place.to_string(), "restored": true, "revision": revision, "bytes": content.len() }),
    ))
}
