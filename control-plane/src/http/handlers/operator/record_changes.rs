//! `/v1/operator/collections/{name}/records`: operators add, change, remove and bring back records.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use sqlx::PgConnection;

use super::{records, revision};
use crate::http::Api;
use crate::http::auth::Operator;
use crate::http::error::{ApiError, body};
use crate::http::fields::Fields;
use crate::http::handlers::InPath;
use crate::http::handlers::query::Parameters;
use crate::http::payload::Payload;
use crate::store::audit;
use crate::store::records::body::Body;
use crate::store::records::reach::{self, Definition};
use crate::store::records::{Record, revision as revision_of};
use crate::tools::record_body::Shown;
use crate::tools::record_change::{self, ChangeError};

/// Most records added by one request.
const MAX_ADDED: usize = 1_000;

/// The words of a refusal; what the database refused is a fault.
fn refused(error: ChangeError) -> ApiError {
    match error {
        ChangeError::Rejected(_) | ChangeError::Empty => ApiError::invalid(error.to_string()),
        ChangeError::Absent { .. } => ApiError::not_found(error.to_string()),
        ChangeError::Contended => ApiError::conflict(error.to_string()),
        ChangeError::Store(error) => error.into(),
    }
}

/// The definition, held until the transaction ends.
async fn definition(
    db: &mut PgConnection,
    operator: &Operator,
    name: &str,
) -> Result<Definition, ApiError> {
    let collection = records::collection(db, operator, name).await?;
    let held = reach::for_operator(db, &operator.organisation, &collection.name).await?;
    held.ok_or_else(|| ApiError::not_found(format!("no collection {}", collection.name)))
}

fn record_id(definition: &Definition, id: &str) -> Result<i64, ApiError> {
    id.parse().map_err(|_| {
        let id = &id[..id.floor_char_boundary(60)];
        ApiError::not_found(format!("no record {id} in collection {}", definition.name))
    })
}

/// Writes who did what to a record; its values are in its history, not here.
async fn told(
    db: &mut PgConnection,
    operator: &Operator,
    action: &str,
    object: &str,
    (before, after): (serde_json::Value, serde_json::Value),
) -> Result<(), ApiError> {
    let raw = |value| to_raw_value(&value).map_err(|error| ApiError::fault(&error));
    let entry = audit::Entry {
        actor: &operator.actor(),
        action,
        kind: "records",
        object,
        before: Some(&raw(before)?),
        after: Some(&raw(after)?),
    };
    audit::record(db, &operator.organisation, &entry).await?;
    Ok(())
}

fn object_of(definition: &Definition, id: i64) -> String {
    format!("record/{}/{id}", definition.name)
}

#[derive(Serialize)]
struct Added {
    id: i64,
    merged: bool,
}

/// `POST …/records` `{"records":[{…}]}`: all are added, or merged into what has their unique
/// value, or none.
pub(in crate::http) async fn add(
    operator: Operator,
    State(api): State<Api>,
    InPath(name): InPath<String>,
    query: Parameters,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    query.finish()?;
    let mut fields = Fields::body(&bytes)?;
    let bodies = fields.required::<Vec<Body>>("records", "a list of objects");
    let count = bodies.as_ref().map_or(1, Vec::len);
    if !(1..=MAX_ADDED).contains(&count) {
        fields.problem(
            "records",
            &format!("has {count} items; 1 to 1,000 are allowed"),
        );
    }
    fields.finish()?;
    let actor = operator.actor();
    let mut tx = api.engine.pool().begin().await?;
    let definition = definition(&mut tx, &operator, &name).await?;
    let mut added = Vec::new();
    let mut problems = Vec::new();
    for (nth, body) in bodies.unwrap_or_default().iter().enumerate() {
        match record_change::add(&mut tx, &definition, body, &actor).await {
            Ok(one) => added.push(Added {
                id: one.record.id,
                merged: one.merged,
            }),
            Err(ChangeError::Rejected(found)) => {
                let at = |problem| format!("records[{nth}].{problem}");
                problems.extend(found.into_iter().map(at));
            }
            Err(error) => return Err(refused(error)),
        }
    }
    if !problems.is_empty() {
        return Err(refused(ChangeError::Rejected(problems)));
    }
    let merged = added.iter().filter(|one| one.merged).count();
    let object = match added.as_slice() {
        [one] => object_of(&definition, one.id),
        _ => format!("record/{}", definition.name),
    };
    let after = json!({ "added": added.len() - merged, "merged": merged });
    told(&mut tx, &operator, "create", &object, (json!(null), after)).await?;
    tx.commit().await?;
    Ok(body(StatusCode::CREATED, &json!({ "records": added })))
}

/// `PATCH …/records/{id}` `{"body":{…}}`: columns given are replaced, `null` clears one.
pub(in crate::http) async fn change(
    operator: Operator,
    State(api): State<Api>,
    InPath((name, id)): InPath<(String, String)>,
    query: Parameters,
    Payload(bytes): Payload,
) -> Result<Response, ApiError> {
    query.finish()?;
    let mut fields = Fields::body(&bytes)?;
    let given = fields.required::<Body>("body", "an object");
    fields.finish()?;
    let given = given.unwrap_or_default();
    let actor = operator.actor();
    let mut tx = api.engine.pool().begin().await?;
    let definition = definition(&mut tx, &operator, &name).await?;
    let id = record_id(&definition, &id)?;
    let (live, warnings) = record_change::update(&mut tx, &definition, id, &given, &actor)
        .await
        .map_err(refused)?;
    let columns: Vec<&str> = given.iter().map(|(name, _)| name).collect();
    let object = object_of(&definition, id);
    let after = json!({ "columns": columns });
    told(&mut tx, &operator, "update", &object, (json!(null), after)).await?;
    tx.commit().await?;
    #[derive(Serialize)]
    struct Changed {
        record: Shown,
        warnings: Vec<String>,
    }
    let record = Shown::of(&definition, live);
    Ok(body(StatusCode::OK, &Changed { record, warnings }))
}

/// `DELETE …/records/{id}`: it can be brought back.
pub(in crate::http) async fn remove(
    operator: Operator,
    State(api): State<Api>,
    InPath((name, id)): InPath<(String, String)>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let actor = operator.actor();
    let mut tx = api.engine.pool().begin().await?;
    let definition = definition(&mut tx, &operator, &name).await?;
    let id = record_id(&definition, &id)?;
    record_change::remove(&mut tx, &definition, id, &actor)
        .await
        .map_err(refused)?;
    let object = object_of(&definition, id);
    let states = (json!({ "deleted": false }), json!({ "deleted": true }));
    told(&mut tx, &operator, "delete", &object, states).await?;
    tx.commit().await?;
    Ok(body(StatusCode::OK, &json!({ "removed": id })))
}

/// `POST …/records/{id}/restore` `{"revision"?}`: a removed record lives again as it
/// was, a live one goes back to the revision before, or to the one named. What comes back
/// has to fit the collection as it is defined now.
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
    let collection = records::collection(&mut tx, &operator, &name).await?;
    let definition = definition(&mut tx, &operator, &name).await?;
    let record = records::find(&mut tx, &collection, &id).await?;
    let object = object_of(&definition, record.id);
    let removed = record.deleted_at.is_some();
    let (revision, columns) = if wanted.is_none() && removed {
        (None, record.body)
    } else {
        let found = revision_of(&mut tx, record.id, wanted).await?;
        let found = found.ok_or_else(|| match wanted {
            Some(id) => revision::absent(&object, id),
            None => revision::nothing_before(&object),
        })?;
        (Some(found.id), found.body)
    };
    let given = read_body(&columns)?;
    record_change::bring_back(&mut tx, &definition, record.id, &given, &actor)
        .await
        .map_err(|error| match error {
            ChangeError::Rejected(problems) => ApiError::conflict(format!(
                "{object} does not fit the collection any more: {}; change the definition or the other record first",
                problems.join("; ")
            )),
            other => refused(other),
        })?;
    let states = (
        json!({ "deleted": removed }),
        json!({ "deleted": false, "revision": revision }),
    );
    told(&mut tx, &operator, "restore", &object, states).await?;
    let record = records::find(&mut tx, &collection, &id).await?;
    tx.commit().await?;
    #[derive(Serialize)]
    struct Restored {
        record: Record,
        revision: Option<i64>,
    }
    Ok(body(StatusCode::OK, &Restored { record, revision }))
}

fn read_body(raw: &RawValue) -> Result<Body, ApiError> {
    serde_json::from_str(raw.get()).map_err(|error| ApiError::fault(&error))
}
