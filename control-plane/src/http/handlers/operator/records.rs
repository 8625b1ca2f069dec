//! `/v1/operator/collections/{name}/records`: records and what they were.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use sqlx::PgConnection;

use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::handlers::InPath;
use crate::http::handlers::list::{answer, one_more, page};
use crate::http::handlers::query::Parameters;
use crate::store::records::{self, Collection, Record};

pub(super) async fn collection(
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

pub(super) async fn find(
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
