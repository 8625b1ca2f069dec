//! Empty strings that a model sends to a connector in place of nothing, left out before validation.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Objects inside one another that are looked into.
const MAX_DEPTH: usize = 32;
/// Subschemas that are looked at for the keys of one object: references may fan out.
const MAX_LOOKS: usize = 1_000;

/// The arguments without the empty strings under keys that their schema declares and
/// requires nowhere, at the top and in objects it declares. What stands in arrays, in
/// free maps or under undeclared keys is the model's business, and every value
/// that stays is the same to the byte.
#[must_use]
pub fn without_empty(schema: &str, arguments: &RawValue) -> Box<RawValue> {
    let unchanged = || arguments.to_owned();
    if !arguments.get().contains("\"\"") {
        return unchanged();
    }
    let Ok(root) = serde_json::from_str::<Value>(schema) else {
        return unchanged();
    };
    dropped(&root, &[&root], arguments, MAX_DEPTH)
        .and_then(|text| RawValue::from_string(text).ok())
        .unwrap_or_else(unchanged)
}

/// What the schemas of one object say of its keys.
#[derive(Default)]
struct Declared<'a> {
    properties: Vec<(&'a str, &'a Value)>,
    required: BTreeSet<&'a str>,
}

impl<'a> Declared<'a> {
    fn gather(&mut self, root: &'a Value, node: &'a Value, looks: &mut usize) {
        let (Some(map), Some(left)) = (node.as_object(), looks.checked_sub(1)) else {
            return;
        };
        *looks = left;
        if let Some(properties) = map.get("properties").and_then(Value::as_object) {
            self.properties.extend(
                properties
                    .iter()
                    .map(|(key, schema)| (key.as_str(), schema)),
            );
        }
        if let Some(required) = map.get("required").and_then(Value::as_array) {
            self.required
                .extend(required.iter().filter_map(Value::as_str));
        }
        let target = map
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|target| root.pointer(target.strip_prefix('#')?));
        let unions = ["allOf", "anyOf", "oneOf"]
            .iter()
            .filter_map(|key| map.get(*key)?.as_array())
            .flatten();
        for inner in target.into_iter().chain(unions) {
            self.gather(root, inner, looks);
        }
    }

    fn of(&self, key: &str) -> Vec<&'a Value> {
        let same = self.properties.iter().filter(|(name, _)| *name == key);
        same.map(|(_, schema)| *schema).collect()
    }
}

/// The object's text without what has to go; none when nothing has to.
fn dropped(root: &Value, nodes: &[&Value], object: &RawValue, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let Members(members) = serde_json::from_str(object.get()).ok()?;
    let mut declared = Declared::default();
    let mut looks = MAX_LOOKS;
    for node in nodes {
        declared.gather(root, node, &mut looks);
    }
    let mut text = String::from("{");
    let mut changed = false;
    for (key, value) in members {
        let schemas = declared.of(&key);
        if !schemas.is_empty() && value.get() == "\"\"" && !declared.required.contains(key.as_str())
        {
            changed = true;
            continue;
        }
        let inner = if !schemas.is_empty() && value.get().starts_with('{') {
            dropped(root, &schemas, value, depth)
        } else {
            None
        };
        changed |= inner.is_some();
        if text.len() > 1 {
            text.push(',');
        }
        let value = inner.as_deref().unwrap_or_else(|| value.get());
        let _ = write!(text, "{}:{value}", Value::String(key));
    }
    text.push('}');
    changed.then_some(text)
}

/// Keys and values in their order, a repeated key as often as it stands.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &'de RawValue>()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &str, arguments: &str, expected: &str) {
        let raw = RawValue::from_string(arguments.to_owned()).unwrap();
        assert_eq!(without_empty(schema, &raw).get(), expected);
    }

    const SCHEMA: &str = r##"{"type":"object","properties":{"q":{"type":"string"},"since":{"type":"string"},"n":{"type":"number"},"page":{"type":"object","properties":{"after":{"type":"string"},"kind":{"type":"string"}},"required":["kind"]},"map":{"type":"object","additionalProperties":{"type":"string"}},"tags":{"type":"array","items":{"type":"object","properties":{"t":{"type":"string"}}}},"who":{"anyOf":[{"$ref":"#/$defs/Who"},{"type":"null"}]}},"required":["q"],"$defs":{"Who":{"type":"object","properties":{"id":{"type":"string"},"mail":{"type":"string"}},"required":["id"]}}}"##;

    #[test]
    fn an_optional_key_loses_its_empty_string_and_a_required_one_keeps_it() {
        check(SCHEMA, r#"{"q":"","since":""}"#, r#"{"q":""}"#);
        check(SCHEMA, r#"{"since":"","q":"x"}"#, r#"{"q":"x"}"#);
        check(SCHEMA, r#"{"since":""}"#, "{}");
    }

    #[test]
    fn objects_that_are_declared_are_looked_into() {
        check(
            SCHEMA,
            r#"{"q":"x","page":{"after":"","kind":""}}"#,
            r#"{"q":"x","page":{"kind":""}}"#,
        );
        check(
            SCHEMA,
            r#"{"who":{"id":"","mail":""}}"#,
            r#"{"who":{"id":""}}"#,
        );
    }

    #[test]
    fn maps_arrays_and_undeclared_keys_are_left_alone() {
        let arguments =
            r#"{"q":"x","map":{"a":""},"tags":[{"t":""},""],"other":"","more":{"since":""}}"#;
        check(SCHEMA, arguments, arguments);
    }

    #[test]
    fn what_stays_is_the_same_to_the_byte() {
        check(
            SCHEMA,
            r#"{ "n": 1.50e400, "since": "", "q": "\u00e4", "since" : "" }"#,
            r#"{"n":1.50e400,"q":"\u00e4"}"#,
        );
        let spaced = r#"{ "q" : " ", "n": "" , "since": " "}"#;
        check(r#"{"type":"object"}"#, spaced, spaced);
        check("no schema", spaced, spaced);
    }

    #[test]
    fn a_key_that_one_branch_requires_keeps_its_empty_string() {
        let schema = r#"{"anyOf":[{"properties":{"a":{},"b":{}},"required":["a"]},{"properties":{"b":{}}}]}"#;
        check(schema, r#"{"a":"","b":""}"#, r#"{"a":""}"#);
    }

    #[test]
    fn references_without_an_end_have_one_here() {
        let schema = r##"{"allOf":[{"$ref":"#"},{"$ref":"#"}],"properties":{"a":{"$ref":"#"}}}"##;
        check(schema, r#"{"a":{"a":""}}"#, r#"{"a":{}}"#);
    }
}
