//! Where a JSON Schema holds schemas: everything else in it is data.

use serde_json::{Map, Value};

/// Keywords that hold one schema.
pub(super) const ONE: [&str; 12] = [
    "items",
    "additionalItems",
    "contains",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];
/// Keywords that hold a list of schemas; `items` did before draft 2020-12.
pub(super) const LIST: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords that hold schemas by name, beside `properties`.
pub(super) const NAMED: [&str; 5] = [
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "$defs",
    "definitions",
];
/// Keywords whose schemas look at the very value that their owner looks at.
const SAME_VALUE: [&str; 9] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
];

/// Calls `visit` with each schema that stands directly in another.
pub(super) fn each_inside(node: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    let Value::Object(map) = node else { return };
    for key in ONE {
        if let Some(inner @ Value::Object(_)) = map.get_mut(key) {
            visit(inner);
        }
    }
    for key in LIST {
        if let Some(Value::Array(list)) = map.get_mut(key) {
            list.iter_mut().for_each(&mut *visit);
        }
    }
    for key in NAMED.into_iter().chain(["properties"]) {
        if let Some(Value::Object(named)) = map.get_mut(key) {
            named.values_mut().for_each(&mut *visit);
        }
    }
}

/// Calls `visit` with each schema, the outermost last.
pub(super) fn everywhere(node: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    each_inside(node, &mut |inner| everywhere(inner, visit));
    if let Value::Object(map) = node {
        visit(map);
    }
}

/// The schemas directly in one, each with its place, and whether it looks at the same value.
pub(super) fn inside<'a>(node: &'a Value, at: &str) -> Vec<(String, &'a Value, bool)> {
    let Value::Object(map) = node else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for key in ONE {
        if let Some(inner @ Value::Object(_)) = map.get(key) {
            found.push((step(at, key), inner, SAME_VALUE.contains(&key)));
        }
    }
    for key in LIST {
        if let Some(Value::Array(list)) = map.get(key) {
            found.extend(list.iter().enumerate().map(|(index, inner)| {
                let place = format!("{at}/{key}/{index}");
                (place, inner, SAME_VALUE.contains(&key))
            }));
        }
    }
    for key in NAMED.into_iter().chain(["properties"]) {
        if let Some(Value::Object(named)) = map.get(key) {
            found.extend(named.iter().map(|(name, inner)| {
                let place = step(&step(at, key), name);
                (place, inner, SAME_VALUE.contains(&key))
            }));
        }
    }
    found
}

/// One more step of a JSON pointer (RFC 6901).
pub(super) fn step(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}
