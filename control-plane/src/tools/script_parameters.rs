//! The schema that a script declares for its arguments, checked before it is stored.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serde_json::value::RawValue;

use super::ToolError;
use super::validation::{compile, one_line, shown};

/// Most bytes of a script's schema.
const MAX_BYTES: usize = 65_536;
/// Most subschemas that hold for one value at once.
const MAX_DEPTH: usize = 64;
/// Most subschemas that one value may be checked against: a reference used twice in
/// each of thirty definitions would be a thousand million.
const MAX_STEPS: usize = 1_000;

/// Refuses a schema that is none, reaches outside itself or describes no object.
///
/// # Errors
/// 422 with what is wrong.
pub(super) fn check(parameters: &RawValue) -> Result<(), ToolError> {
    let refuse = |what: String| Err(ToolError::invalid(format!("parameters {what}")));
    if parameters.get().len() > MAX_BYTES {
        return refuse(format!("are larger than {MAX_BYTES} bytes"));
    }
    if parameters.get().contains("\\u0000") {
        return refuse("hold U+0000".to_owned());
    }
    let schema: Value = match serde_json::from_str(parameters.get()) {
        Ok(schema) => schema,
        Err(error) => return refuse(format!("are not readable as JSON: {error}")),
    };
    let Value::Object(map) = &schema else {
        return refuse("are no JSON Schema object".to_owned());
    };
    if map.get("type").and_then(Value::as_str) != Some("object") {
        return refuse(
            r#"must describe an object: give them "type": "object" and the keys in "properties""#
                .to_owned(),
        );
    }
    let valid = jsonschema::draft202012::meta::validate(&schema).map_err(|error| {
        (
            error.instance_path().to_string(),
            error.masked().to_string(),
        )
    });
    if let Err((place, words)) = valid {
        return refuse(format!(
            "are no valid JSON Schema: at {}: {}",
            if place.is_empty() { "the top" } else { &place },
            shown(&one_line(&words))
        ));
    }
    if let Err(fault) = Walk::over(&schema) {
        return refuse(fault.to_string());
    }
    match compile(&schema) {
        Ok(_) => Ok(()),
        Err(words) => refuse(format!("can't be used: {}", shown(&words))),
    }
}

/// What makes a schema one that checking a value against it might never end, or
/// not in time, or that can't be told.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// A subschema comes back to itself for one and the same value.
    Endless,
    /// References fan out to more subschemas for one value than are looked at.
    Fanned,
    /// A reference of another form than a place in this schema.
    Elsewhere(String),
    /// A subschema names itself, which gives its references another meaning.
    Named,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Endless => f.write_str("refer to themselves without an end"),
            Self::Fanned => write!(
                f,
                "refer to more than {MAX_STEPS} subschemas for one value; say less with $ref in anyOf, oneOf and allOf"
            ),
            Self::Elsewhere(target) => write!(
                f,
                "can't be used: $ref {} is no place in this schema; allowed is a form like #/$defs/name",
                shown(target)
            ),
            Self::Named => f.write_str("can't be used: only the top may have an $id"),
        }
    }
}

/// Follows the keywords of a schema that look at the same value again.
struct Walk<'a> {
    root: &'a Value,
    anchors: BTreeMap<&'a str, &'a Value>,
    /// References on the way from where the walk began.
    seen: BTreeSet<&'a str>,
    /// Subschemas that hold for the value where the walk began.
    steps: usize,
}

impl<'a> Walk<'a> {
    /// Looks at every subschema as the one that a value is checked against.
    fn over(root: &'a Value) -> Result<(), Fault> {
        let mut walk = Self {
            root,
            anchors: BTreeMap::new(),
            seen: BTreeSet::new(),
            steps: 0,
        };
        walk.collect(root, true)?;
        walk.each(root)
    }

    fn collect(&mut self, node: &'a Value, top: bool) -> Result<(), Fault> {
        if let Value::Object(map) = node {
            if !top && map.get("$id").is_some_and(Value::is_string) {
                return Err(Fault::Named);
            }
            for key in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = map.get(key).and_then(Value::as_str) {
                    self.anchors.insert(name, node);
                }
            }
        }
        inside(node).try_for_each(|inner| self.collect(inner, false))
    }

    fn each(&mut self, node: &'a Value) -> Result<(), Fault> {
        self.steps = 0;
        self.seen.clear();
        self.follow(node, MAX_DEPTH)?;
        inside(node).try_for_each(|inner| self.each(inner))
    }

    fn follow(&mut self, node: &'a Value, depth: usize) -> Result<(), Fault> {
        let Value::Object(map) = node else {
            return Ok(());
        };
        if depth == 0 {
            return Err(Fault::Endless);
        }
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(Fault::Fanned);
        }
        for key in ["$ref", "$dynamicRef"] {
            if let Some(Value::String(target)) = map.get(key) {
                if !self.seen.insert(target) {
                    return Err(Fault::Endless);
                }
                let next = self.resolve(target);
                let next = next.ok_or_else(|| Fault::Elsewhere(target.clone()))?;
                self.follow(next, depth - 1)?;
                self.seen.remove(target.as_str());
            }
        }
        let lists = ["allOf", "anyOf", "oneOf"]
            .iter()
            .filter_map(|key| map.get(*key).and_then(Value::as_array))
            .flatten();
        let single = ["not", "if", "then", "else"]
            .iter()
            .filter_map(|key| map.get(*key));
        let named = ["dependentSchemas", "dependencies"]
            .iter()
            .filter_map(|key| map.get(*key).and_then(Value::as_object))
            .flat_map(serde_json::Map::values);
        lists
            .chain(single)
            .chain(named)
            .try_for_each(|inner| self.follow(inner, depth - 1))
    }

    /// What a reference means.
    fn resolve(&self, target: &str) -> Option<&'a Value> {
        let fragment = target.strip_prefix('#')?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(fragment);
        }
        self.anchors.get(fragment).copied()
    }
}

fn inside(node: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match node {
        Value::Object(map) => Box::new(map.values()),
        Value::Array(list) => Box::new(list.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_schema(schema: &str, expected: Result<(), &str>) {
        let raw = RawValue::from_string(schema.to_owned()).unwrap();
        match (check(&raw).map_err(|error| error.to_string()), expected) {
            (Ok(()), Ok(())) => {}
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            (found, expected) => panic!("{schema}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn parameters_describe_an_object() {
        check_schema(r#"{"type":"object"}"#, Ok(()));
        check_schema(
            r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#,
            Ok(()),
        );
        for schema in [
            r#"{"type":"string"}"#,
            "{}",
            r#"{"type":["object","null"]}"#,
        ] {
            check_schema(schema, Err("422 parameters must describe an object"));
        }
    }

    #[test]
    fn what_is_no_schema_is_refused_with_the_place() {
        check_schema(
            r#"{"type":"object","properties":{"n":{"type":"intger"}}}"#,
            Err("422 parameters are no valid JSON Schema: at /properties/n/type"),
        );
        check_schema(r#"{"type":"object","required":"n"}"#, Err("at /required"));
        check_schema(
            r#"{"type":"object","properties":{"n":{"pattern":"("}}}"#,
            Err("422 parameters"),
        );
    }

    #[test]
    fn a_schema_reaches_nothing_outside_itself() {
        check_schema(
            r#"{"type":"object","properties":{"n":{"$ref":"https://example.com/s.json"}}}"#,
            Err("422 parameters can't be used: $ref https://example.com/s.json"),
        );
    }

    #[test]
    fn a_reference_means_a_place_in_the_schema_and_nothing_else() {
        for schema in [
            r##"{"$id":"http://e/s","type":"object","allOf":[{"$ref":"http://e/s"}]}"##,
            r##"{"type":"object","$ref":"#/%24defs/a","$defs":{"a":{}}}"##,
            r##"{"type":"object","$ref":"#/$defs/b","$defs":{"a":{}}}"##,
        ] {
            check_schema(schema, Err("is no place in this schema"));
        }
        check_schema(
            r##"{"type":"object","properties":{"x":{"$id":"http://e/x","$ref":"#/$defs/q","$defs":{"q":{"$ref":"#"}}}}}"##,
            Err("only the top may have an $id"),
        );
        check_schema(
            r##"{"$id":"http://e/s","type":"object","properties":{"$id":{"$ref":"#name"},"$ref":{"type":"string"}},"$defs":{"n":{"$anchor":"name","type":"string"}}}"##,
            Ok(()),
        );
    }

    #[test]
    fn references_that_fan_out_are_refused() {
        let chain = |length: usize| {
            let definitions: Vec<String> = (0..length)
                .map(|n| {
                    let next = format!(r##"{{"$ref":"#/$defs/a{}"}}"##, n + 1);
                    format!(r#""a{n}":{{"anyOf":[{next},{next}]}}"#)
                })
                .collect();
            format!(
                r##"{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/a0"}}}},"$defs":{{{},"a{length}":{{"type":"string"}}}}}}"##,
                definitions.join(",")
            )
        };
        check_schema(&chain(5), Ok(()));
        check_schema(
            &chain(30),
            Err("refer to more than 1000 subschemas for one value"),
        );
    }

    #[test]
    fn a_reference_that_never_ends_is_refused_and_a_tree_is_not() {
        check_schema(
            r##"{"type":"object","$ref":"#"}"##,
            Err("422 parameters refer to themselves without an end"),
        );
        check_schema(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}"##,
            Err("without an end"),
        );
        check_schema(
            r##"{"type":"object","properties":{"next":{"$ref":"#"},"list":{"type":"array","items":{"$ref":"#"}}}}"##,
            Ok(()),
        );
    }
}
