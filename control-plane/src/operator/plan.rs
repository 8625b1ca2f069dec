//! What becomes of an object: its stored form against the one the document asks for.

use std::collections::BTreeMap;

use serde::Serialize;

use super::known::Known;
use super::reader::{Place, Problems, not_allowed};
use super::{Action, Change, Session};

/// What planning looks at and where it tells of problems.
pub(super) struct Planning<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) known: &'a Known,
    pub(super) problems: Problems,
}

impl Planning<'_> {
    /// Refuses a name that nothing stored or in the document has.
    pub(super) fn refer(&mut self, at: &Place, one: &str, id: &str) {
        let known = self.known.of(one);
        if known.contains(id) || self.problems.is_full() {
            return;
        }
        let words: Vec<&str> = known.iter().map(String::as_str).collect();
        let missing = format!("there is no {one} {id} in this organisation");
        self.problems.add(at, not_allowed(&missing, id, &words));
    }
}

/// One object of the document.
#[derive(Debug)]
pub(super) struct Planned<T> {
    pub(super) at: Place,
    pub(super) change: Change,
    pub(super) before: Option<T>,
    pub(super) after: T,
}

impl<T: Serialize> Planned<T> {
    /// Compares an object with what is stored; `unseen` are fields that differ
    /// and don't show.
    pub(super) fn new(
        at: Place,
        kind: &'static str,
        id_field: &str,
        id: String,
        before: Option<T>,
        after: T,
        unseen: &[&str],
    ) -> Self {
        let mut fields = differing(before.as_ref(), &after, id_field);
        for field in unseen {
            if !fields.iter().any(|seen| seen == field) {
                fields.push((*field).to_owned());
            }
        }
        let action = match (&before, fields.is_empty()) {
            (None, _) => Action::Create,
            (Some(_), true) => Action::Unchanged,
            (Some(_), false) => Action::Update,
        };
        Self {
            at,
            change: Change {
                action,
                kind,
                id,
                fields,
            },
            before,
            after,
        }
    }
}

impl<T> Planned<T> {
    /// Whether there is anything to write.
    pub(super) fn changes(&self) -> bool {
        self.change.action != Action::Unchanged
    }

    /// Whether a field differs.
    pub(super) fn differs_in(&self, field: &str) -> bool {
        self.change.fields.iter().any(|name| name == field)
    }
}

/// The fields that differ, in the order of the object; the one that names it is none.
fn differing<T: Serialize>(before: Option<&T>, after: &T, id_field: &str) -> Vec<String> {
    let fields = |object: &T| match serde_json::to_value(object) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let old = before.map(fields).unwrap_or_default();
    fields(after)
        .into_iter()
        .filter(|(key, value)| key != id_field && old.get(key) != Some(value))
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
