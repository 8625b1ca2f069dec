//! `/v1/operator/collections/{name}/records`: records, what they were, and the way back.

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
use crate::store::records::{self, Collection, Record};

async fn collection(
    db: &mut PgConnection,
    operator: &Operator,
    name: &str,
) -> Result<Collection, ApiError> {
    let found = if name.contains('\0') {
        None
    } else {
        records::collection(db, &operator.organisation, name).await?
    };
    found.ok_or_else(|| {
        let name = &name[..name.floor_char_boundary(100)];
        ApiError::not_found(format!("no collection {name}"))
    })
}

async fn find(
    db: &mut PgConnection,
    collection: &Collection,
    id: &str,
) -> Result<Record, ApiError> {
    let found = match id.parse() {
        Ok(id) => records::find(db, collection, id).await?,
        Err(_) => None,
    };
    found.ok_or_else(|| {
        let id = &id[..id.floor_char_boundary(60)];
        ApiError::not_found(format!("no record {id} in collection {}", collection.name))
    })
}

/// `GET …/records?deleted=&after=&limit=`, by id; `deleted=true` lists the removed ones.
pub(in crate::http) async fn list(
    operator: Operator,
    State(api): State<Api>,
    InPath(name): InPath<String>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let deleted = query.word("deleted", &["true", "false"]) == Some("true");
    let after = query.number("after");
    let limit = query.limit();
    query.finish()?;
    let mut db = api.engine.pool().acquire().await?;
    let collection = collection(&mut db, &operator, &name).await?;
    let (records, more) = records::page(&mut db, &collection, deleted, after, limit).await?;
    let next = records.last().filter(|_| more).map(|record| record.id);
    Ok(answer("records", &records, next))
}

/// `GET …/records/{id}`, a removed one too.
pub(in crate::http) async fn show(
    operator: Operator,
    State(api): State<Api>,
    InPath((name, id)): InPath<(String, String)>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let mut db = api.engine.pool().acquire().await?;
    let collection = collection(&mut db, &operator, &name).await?;
    let record = find(&mut db, &collection, &id).await?;
    Ok(body(StatusCode::OK, &record))
}

/// `GET …/records/{id}/history?after=&limit=`, newest first.
pub(in crate::http) async fn history(
    operator: Operator,
    State(api): State<Api>,
    InPath((name, id)): InPath<(String, String)>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let after = query.number("after");
    let limit = query.limit();
    query.finish()?;
    let mut db = api.engine.pool().acquire().await?;
    let collection = collection(&mut db, &operator, &name).await?;
    let record = find(&mut db, &collection, &id).await?;
    let found = records::history(&mut db, record.id, after, one_more(limit)).await?;
    let (revisions, next) = page(found, limit, |revision| revision.id);
    Ok(answer("revisions", &revisions, next))
}

/// `POST …/records/{id}/restore` `{"revision"?}`: a removed record lives again as it
/// was, a live one goes back to the revision before, or to the one named.
pub(in crate::http) async fn restore(
    operator: Operator,
    State(api): State<Api>,
    InPath((name, id)): InPath<(String, String)>,
    query: Parameters,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    query.finish()?;
    let wanted = revision::wanted(&bytes)?;
    let actor = operator.actor();
    let mut tx = api.engine.pool().begin().await?;
    let collection = collection(&mut tx, &operator, &name).await?;
    records::hold(&mut tx, &collection).await?;
    let record = find(&mut tx, &collection, &id).await?;
    let object = format!("record/{}/{}", collection.name, record.id);
    let removed = record.deleted_at.is_some();
    let (revision, columns) = if wanted.is_none() && removed {
        (None, record.body)
    } else {
        let found = records::revision(&mut tx, record.id, wanted).await?;
        let found = found.ok_or_else(|| match wanted {
            Some(id) => revision::absent(&object, id),
            None => revision::nothing_before(&object),
        })?;
        (Some(found.id), found.body)
    };
    if let Some(holder) = records::holder(&mut tx, &collection, record.id, &columns).await? {
        let unique = collection.unique.unwrap_or_default();
        return Err(ApiError::conflict(format!(
            "record {holder} has the same {unique} by now; change or remove it first"
        )));
    }
    records::bring_back(&mut tx, record.id, &columns, &actor).await?;
    let before = json!({ "deleted": removed });
    let after = json!({ "deleted": false, "revision": revision });
    let entry = audit::Entry {
        actor: &actor,
        action: "restore",
        kind: "records",
        object: &object,
        before: Some(&to_raw_value(&before).map_err(|error| ApiError::fault(&error))?),
        after: Some(&to_raw_value(&after).map_err(|error| ApiError::fault(&error))?),
    };
    audit::record(&mut tx, &operator.organisation, &entry).await?;
    let record = find(&mut tx, &collection, &id).await?;
    tx.commit().await?;
    #[derive(serde::Serialize)]
    struct Restored {
        record: Record,
        revision: Option<i64>,
    }
    Ok(body(StatusCode::OK, &Restored { record, revision }))
}
