//! The rewriting of a schema before a model sees it; the original goes on validating.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use self::positions::{LIST, NAMED, ONE, step};

mod positions;
pub mod repair;

/// The line that an optional string's description carries.
const OMIT_LINE: &str = "Optional. Omit this key when unused; do not pass an empty value.";
/// How many subschemas are looked at to learn a property's type: references may
/// lead in a circle, or fan out without a useful end.
const MAX_LOOKS: usize = 256;

/// The schema that a model sees: `format` leaves optional and nullable
/// properties, `additionalProperties: false` and `$schema` leave everywhere, an
/// optional string says that it may be omitted, an object has `properties`.
///
/// Keywords are found by position, so a property named `format` is data. The
/// order of keys is kept and a second rewriting changes nothing.
#[must_use]
pub fn rewrite(schema: &str) -> Box<RawValue> {
    let original = match serde_json::from_str(schema) {
        Ok(value @ Value::Object(_)) => value,
        _ => json!({"type": "object", "properties": {}}),
    };
    let rewritten = rewrite_value(&original);
    serde_json::value::to_raw_value(&rewritten).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn rewrite_value(original: &Value) -> Value {
    let bare = bare_definitions(original);
    let mut walk = Walk::new(original, &bare);
    let mut copy = original.clone();
    walk.schema(&mut copy, "#", false);
    copy
}

/// The definitions that lose their formats: those that an optional or nullable
/// property refers to, and those that they refer to. Each is walked once.
fn bare_definitions(original: &Value) -> BTreeSet<String> {
    let none = BTreeSet::new();
    let mut first = Walk::new(original, &none);
    first.definitions = Some(BTreeMap::new());
    first.schema(&mut original.clone(), "#", false);
    let definitions = first.definitions.unwrap_or_default();
    let mut bare = BTreeSet::new();
    let mut open: Vec<String> = first.found.into_iter().collect();
    while let Some(target) = open.pop() {
        if let Some(named) = definitions.get(&target).filter(|_| !bare.contains(&target)) {
            for definition in named {
                let mut walk = Walk::new(original, &none);
                walk.schema(&mut definition.clone(), &target, true);
                open.extend(walk.found);
            }
        }
        bare.insert(target);
    }
    bare
}

struct Walk<'a> {
    root: &'a Value,
    /// Definitions known to lose their formats, as references name them.
    bare: &'a BTreeSet<String>,
    /// What properties that lose their formats refer to.
    found: BTreeSet<String>,
    /// Definitions as they are, by place and by anchor, when they are asked for.
    definitions: Option<BTreeMap<String, Vec<Value>>>,
}

impl<'a> Walk<'a> {
    const fn new(root: &'a Value, bare: &'a BTreeSet<String>) -> Self {
        Self {
            root,
            bare,
            found: BTreeSet::new(),
            definitions: None,
        }
    }

    /// Rewrites a schema; `strip` when it lies inside an optional or nullable property.
    fn schema(&mut self, node: &mut Value, at: &str, strip: bool) {
        let Value::Object(map) = node else { return };
        if strip {
            map.shift_remove("format");
            if let Some(Value::String(target)) = map.get("$ref") {
                self.found.insert(target.clone());
            }
        }
        map.shift_remove("$schema");
        if map.get("additionalProperties") == Some(&Value::Bool(false)) {
            map.shift_remove("additionalProperties");
        }
        if types(map).any(|word| word == "object") && !map.contains_key("properties") {
            map.insert("properties".to_owned(), json!({}));
        }
        for key in ONE {
            if let Some(inner @ Value::Object(_)) = map.get_mut(key) {
                self.schema(inner, &step(at, key), strip);
            }
        }
        for key in LIST {
            if let Some(Value::Array(list)) = map.get_mut(key) {
                for (index, inner) in list.iter_mut().enumerate() {
                    self.schema(inner, &format!("{at}/{key}/{index}"), strip);
                }
            }
        }
        for key in NAMED {
            self.named(map, key, at, strip);
        }
        self.properties(map, at, strip);
    }

    fn named(&mut self, map: &mut Map<String, Value>, key: &str, at: &str, strip: bool) {
        let Some(Value::Object(named)) = map.get_mut(key) else {
            return;
        };
        let defines = key == "$defs" || key == "definitions";
        for (name, inner) in named {
            let place = step(&step(at, key), name);
            if defines && let Some(definitions) = &mut self.definitions {
                if let Some(name) = inner.get("$anchor").and_then(Value::as_str) {
                    let known = definitions.entry(format!("#{name}")).or_default();
                    known.push(inner.clone());
                }
                let known = definitions.entry(place.clone()).or_default();
                known.push(inner.clone());
            }
            // What surrounds a definition says nothing about who uses it.
            let strip = if defines {
                self.bare.contains(&place) || anchored(inner, self.bare)
            } else {
                strip
            };
            self.schema(inner, &place, strip);
        }
    }

    fn properties(&mut self, map: &mut Map<String, Value>, at: &str, strip: bool) {
        let required: BTreeSet<String> = match map.get("required") {
            Some(Value::Array(names)) => names
                .iter()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
            _ => BTreeSet::new(),
        };
        let Some(Value::Object(properties)) = map.get_mut("properties") else {
            return;
        };
        for (name, inner) in properties {
            let optional = !required.contains(name);
            let mut looks = MAX_LOOKS;
            if optional && self.is_string(inner, &mut looks) {
                say_omit(inner);
            }
            let place = step(&step(at, "properties"), name);
            let strip = strip || optional || is_nullable(inner);
            self.schema(inner, &place, strip);
        }
    }

    /// Whether a property holds text, or text or null, and nothing else.
    fn is_string(&self, node: &Value, looks: &mut usize) -> bool {
        let (Value::Object(map), Some(left)) = (node, looks.checked_sub(1)) else {
            return false;
        };
        *looks = left;
        let mut words = types(map).filter(|word| *word != "null").peekable();
        if words.peek().is_some() {
            return words.all(|word| word == "string");
        }
        if map.contains_key("type") {
            return false;
        }
        if let Some(Value::Array(options)) = map.get("enum") {
            return options.iter().any(Value::is_string)
                && options.iter().all(|o| o.is_string() || o.is_null());
        }
        if let Some(value) = map.get("const") {
            return value.is_string();
        }
        if let Some(Value::String(target)) = map.get("$ref") {
            return target
                .strip_prefix('#')
                .and_then(|pointer| self.root.pointer(pointer))
                .is_some_and(|target| self.is_string(target, looks));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = map.get(key) {
                let mut branches = branches.iter().filter(|b| !is_null_type(b)).peekable();
                return branches.peek().is_some()
                    && branches.all(|branch| self.is_string(branch, looks));
            }
        }
        match map.get("allOf") {
            Some(Value::Array(parts)) => parts.iter().any(|part| self.is_string(part, looks)),
            _ => false,
        }
    }
}

fn anchored(node: &Value, bare: &BTreeSet<String>) -> bool {
    node.get("$anchor")
        .and_then(Value::as_str)
        .is_some_and(|name| bare.contains(&format!("#{name}")))
}

/// The words of `type`, one or a list.
fn types(map: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let words = match map.get("type") {
        Some(Value::Array(words)) => words.as_slice(),
        Some(word) => std::slice::from_ref(word),
        None => &[],
    };
    words.iter().filter_map(Value::as_str)
}

fn is_null_type(node: &Value) -> bool {
    node.as_object()
        .is_some_and(|map| types(map).any(|word| word == "null"))
}

fn is_nullable(node: &Value) -> bool {
    is_null_type(node)
        || ["anyOf", "oneOf"].iter().any(|key| {
            node.get(key)
                .and_then(Value::as_array)
                .is_some_and(|branches| branches.iter().any(is_null_type))
        })
}

fn say_omit(node: &mut Value) {
    let Value::Object(map) = node else { return };
    match map.get_mut("description") {
        Some(Value::String(words)) => {
            if words.is_empty() {
                words.push_str(OMIT_LINE);
            } else if !words.to_lowercase().contains("omit") {
                words.push('\n');
                words.push_str(OMIT_LINE);
            }
        }
        Some(_) => {}
        None => {
            map.insert(
                "description".to_owned(),
                Value::String(OMIT_LINE.to_owned()),
            );
        }
    }
}

#[cfg(test)]
mod tests;
