//! A JSON object read field by field, every problem kept, so that a caller learns all of them at once.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::ApiError;

/// Most problems told of one body; more would bury the first.
const MAX_PROBLEMS: usize = 20;
/// Most bytes of a field's name in a problem.
const MAX_SHOWN: usize = 60;

/// The fields of one object.
pub(super) struct Fields<'a> {
    /// Where the object is, with a trailing dot: empty, or `calls[2].`.
    at: String,
    fields: BTreeMap<String, &'a RawValue>,
    allowed: Vec<&'static str>,
    problems: Vec<String>,
}

impl<'a> Fields<'a> {
    /// The whole body.
    pub(super) fn body(bytes: &'a [u8]) -> Result<Self, ApiError> {
        let raw: &RawValue = serde_json::from_slice(bytes)
            .map_err(|error| ApiError::malformed(format!("the body is not JSON: {error}")))?;
        Self::object(String::new(), raw).map_err(|found| {
            ApiError::invalid(format!("the body is {found}; it has to be an object"))
        })
    }

    /// An object inside it; the error says what it is instead.
    pub(super) fn object(at: String, raw: &'a RawValue) -> Result<Self, &'static str> {
        let found = kind(raw);
        if found != "an object" {
            return Err(found);
        }
        let members: Members<'_> =
            serde_json::from_str(raw.get()).map_err(|_| "an object that can't be read")?;
        let mut object = Self {
            at,
            fields: members.fields,
            allowed: Vec::new(),
            problems: Vec::new(),
        };
        for name in members.repeated {
            object.problem(cut(&name), "is given more than once");
        }
        Ok(object)
    }

    /// A field as it stands; `null` counts as absent.
    pub(super) fn raw(&mut self, name: &'static str) -> Option<&'a RawValue> {
        self.allowed.push(name);
        self.fields.remove(name).filter(|raw| raw.get() != "null")
    }

    /// A field of a type; `wanted` names it.
    pub(super) fn optional<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
        wanted: &str,
    ) -> Option<T> {
        let raw = self.raw(name)?;
        match serde_json::from_str(raw.get()) {
            Ok(value) => Some(value),
            Err(_) => {
                self.problem(name, &format!("is {}; it has to be {wanted}", shown(raw)));
                None
            }
        }
    }

    /// A field that must be there.
    pub(super) fn required<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
        wanted: &str,
    ) -> Option<T> {
        if self.fields.get(name).is_none_or(|raw| raw.get() == "null") {
            self.allowed.push(name);
            self.fields.remove(name);
            self.problem(name, &format!("is missing; it has to be {wanted}"));
            return None;
        }
        self.optional(name, wanted)
    }

    /// Adds a problem with a field.
    pub(super) fn problem(&mut self, name: &str, what: &str) {
        self.problems.push(format!("`{}{name}` {what}", self.at));
    }

    /// Whether nothing was wrong so far.
    pub(super) fn is_fine(&self) -> bool {
        self.problems.is_empty()
    }

    /// Adds a problem that another object had.
    pub(super) fn adopt(&mut self, problems: Vec<String>) {
        self.problems.extend(problems);
    }

    /// Every problem, undeclared fields included. What is beyond those that are
    /// told is not written out.
    pub(super) fn into_problems(mut self) -> Vec<String> {
        let unknown: Vec<String> = self
            .fields
            .keys()
            .take(MAX_PROBLEMS + 1)
            .map(|name| cut(name).to_owned())
            .collect();
        for name in unknown {
            let allowed = self.allowed.join(", ");
            self.problem(&name, &format!("is no field; allowed are {allowed}"));
        }
        self.problems
    }

    /// Refuses the body when anything was wrong.
    pub(super) fn finish(self) -> Result<(), ApiError> {
        let mut problems = self.into_problems();
        if problems.is_empty() {
            return Ok(());
        }
        let more = problems.len() > MAX_PROBLEMS;
        problems.truncate(MAX_PROBLEMS);
        let mut message = problems.join("; ");
        if more {
            message.push_str("; and more");
        }
        Err(ApiError::invalid(message))
    }
}

/// The members of an object, and the names that stand in it more than once: no
/// two readers of such an object need agree on what it says.
struct Members<'a> {
    fields: BTreeMap<String, &'a RawValue>,
    repeated: BTreeSet<String>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members {
                    fields: BTreeMap::new(),
                    repeated: BTreeSet::new(),
                };
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    match members.fields.entry(name) {
                        Entry::Vacant(place) => {
                            place.insert(value);
                        }
                        Entry::Occupied(first) => {
                            members.repeated.insert(first.key().clone());
                        }
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Read)
    }
}

/// A name cut to a length worth repeating.
fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_SHOWN)]
}

/// What a JSON value is.
pub(super) fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// A short value itself, a long one by its type.
fn shown(raw: &RawValue) -> &str {
    if raw.get().len() <= 40 {
        raw.get()
    } else {
        kind(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_stands_twice_is_a_problem() {
        let mut fields = Fields::body(br#"{"id":"a","id":"b"}"#).unwrap();
        let _ = fields.optional::<String>("id", "a string");
        assert_eq!(fields.into_problems(), ["`id` is given more than once"]);
    }

    #[test]
    fn a_body_of_nothing_but_faults_gets_a_short_answer() {
        let members: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":1")).collect();
        let body = format!("{{{}}}", members.join(","));
        let fields = Fields::body(body.as_bytes()).unwrap();
        let message = format!("{:?}", fields.finish().unwrap_err());
        assert!(
            message.len() < 4_000 && message.contains("; and more"),
            "{message}"
        );
    }

    #[test]
    fn every_problem_is_named_at_once() {
        let body = br#"{"agent":5,"extra":1,"max_tool_calls":"many","id":null}"#;
        let mut fields = Fields::body(body).unwrap();
        assert_eq!(fields.required::<String>("agent", "a string"), None);
        assert_eq!(fields.required::<String>("kind", "a string"), None);
        assert_eq!(fields.optional::<u32>("max_tool_calls", "an integer"), None);
        assert_eq!(fields.optional::<String>("id", "a string"), None);
        assert_eq!(
            fields.into_problems(),
            [
                "`agent` is 5; it has to be a string",
                "`kind` is missing; it has to be a string",
                "`max_tool_calls` is \"many\"; it has to be an integer",
                "`extra` is no field; allowed are agent, kind, max_tool_calls, id",
            ]
        );
    }
}
