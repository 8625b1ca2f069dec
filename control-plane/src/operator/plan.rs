//! What becomes of an object: its stored form against the one the document asks for.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::to_raw_value;
use sqlx::PgConnection;

use super::reader::{Place, Problems};
use super::{Action, Change};
use crate::store::audit;

/// One object of the document.
#[derive(Debug)]
pub(super) struct Planned<T> {
    pub(super) change: Change,
    pub(super) before: Option<T>,
    pub(super) after: T,
}

impl<T: Serialize + PartialEq> Planned<T> {
    /// Compares an object with what is stored.
    pub(super) fn new(kind: &'static str, id: String, before: Option<T>, after: T) -> Self {
        let action = match &before {
            None => Action::Create,
            Some(before) if *before == after => Action::Unchanged,
            Some(_) => Action::Update,
        };
        let change = Change {
            action,
            kind,
            id,
            fields: differing(before.as_ref(), &after),
        };
        Self {
            change,
            before,
            after,
        }
    }

    /// Whether there is anything to write.
    pub(super) fn changes(&self) -> bool {
        self.change.action != Action::Unchanged
    }

    /// Records the change.
    pub(super) async fn audit(
        &self,
        db: &mut PgConnection,
        organisation: &str,
        actor: &str,
    ) -> sqlx::Result<()> {
        let raw =
            |object: &T| to_raw_value(object).map_err(|error| sqlx::Error::Encode(error.into()));
        let before = self.before.as_ref().map(raw).transpose()?;
        let after = raw(&self.after)?;
        let entry = audit::Entry {
            actor,
            action: self.change.action.as_str(),
            kind: self.change.kind,
            object: &self.change.id,
            before: before.as_deref(),
            after: Some(&after),
        };
        audit::record(db, organisation, &entry).await
    }
}

/// The fields that differ, in the order of the object; `id` names it and is none.
fn differing<T: Serialize>(before: Option<&T>, after: &T) -> Vec<String> {
    let fields = |object: &T| match serde_json::to_value(object) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let old = before.map(fields).unwrap_or_default();
    fields(after)
        .into_iter()
        .filter(|(key, value)| key != "id" && old.get(key) != Some(value))
        .map(|(key, _)| key)
        .collect()
}

/// Tells of an object that the document names twice, at the field that names it.
pub(super) fn refuse_twice<'a>(
    objects: impl Iterator<Item = (&'a Place, &'a str)>,
    field: Option<&str>,
    problems: &mut Problems,
) {
    let mut first: BTreeMap<&str, &Place> = BTreeMap::new();
    for (place, id) in objects {
        let Some(earlier) = first.insert(id, place) else {
            continue;
        };
        let place = field.map_or_else(|| place.clone(), |field| place.key(field));
        problems.add(&place, format!("{id} stands at {} already", earlier.path));
        first.insert(id, earlier);
    }
}
