//! A JSON object read field by field, every problem kept, so that a caller learns all of them at once.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::error::ApiError;

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
        let fields = serde_json::from_str(raw.get()).map_err(|_| "an object that can't be read")?;
        Ok(Self {
            at,
            fields,
            allowed: Vec::new(),
            problems: Vec::new(),
        })
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

    /// Adds a problem that another object had.
    pub(super) fn adopt(&mut self, problems: Vec<String>) {
        self.problems.extend(problems);
    }

    /// Every problem, undeclared fields included.
    pub(super) fn into_problems(mut self) -> Vec<String> {
        let unknown: Vec<String> = self.fields.keys().cloned().collect();
        for name in unknown {
            let name = &name[..name.floor_char_boundary(60)];
            let allowed = self.allowed.join(", ");
            self.problem(name, &format!("is no field; allowed are {allowed}"));
        }
        self.problems
    }

    /// Refuses the body when anything was wrong.
    pub(super) fn finish(self) -> Result<(), ApiError> {
        let problems = self.into_problems();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(ApiError::invalid(problems.join("; ")))
        }
    }
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
