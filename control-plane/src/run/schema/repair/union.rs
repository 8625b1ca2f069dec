//! A union or a reference at the top made one object, which is all that model APIs take there.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::positions::everywhere;
use super::{Unfit, described, object_typed};

/// References and unions that are followed one inside the other.
const MAX_DEPTH: usize = 16;
/// The unions of JSON Schema.
const UNIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords that no model API takes at the top; the original goes on validating them.
const DROPPED: [&str; 6] = ["not", "enum", "const", "if", "then", "else"];

/// What one branch says about the object.
#[derive(Default)]
struct Shape {
    properties: Map<String, Value>,
    required: Vec<String>,
    patterns: Map<String, Value>,
    others: Option<Value>,
}

/// Makes the top an object with the keys of every branch; required is what each
/// alternative requires, and a line tells the alternatives.
pub(super) fn flatten(root: &mut Value) -> Result<(), Unfit> {
    keep_targets(root);
    let whole = root.clone();
    let Value::Object(map) = root else {
        return Err(Unfit::NoObject(described(root)));
    };
    if map.contains_key("$ref") || UNIONS.iter().any(|key| map.contains_key(*key)) {
        let mut lines = Vec::new();
        let shape = shape_of(&whole, &whole, MAX_DEPTH, &mut lines)?;
        let Some(shape) = shape else {
            let found = if may_be_object(map) {
                "no object".to_owned()
            } else {
                described(&whole["type"])
            };
            return Err(Unfit::NoObject(found));
        };
        put(map, shape, &lines);
    }
    for key in DROPPED {
        map.shift_remove(key);
    }
    object_typed(map)
}

/// Moves unions at the top that references point into to the definitions.
fn keep_targets(root: &mut Value) {
    for key in UNIONS {
        let (from, to) = (format!("#/{key}/"), format!("#/$defs/{key}/{key}/"));
        let mut pointed = false;
        everywhere(root, &mut |schema| {
            if let Some(Value::String(target)) = schema.get_mut("$ref")
                && let Some(rest) = target.strip_prefix(&from)
            {
                *target = format!("{to}{rest}");
                pointed = true;
            }
        });
        if let (true, Value::Object(map)) = (pointed, &mut *root) {
            let union = map.get(key).cloned().unwrap_or_default();
            let definitions = map.entry("$defs").or_insert_with(|| json!({}));
            definitions[key] = json!({ key: union });
        }
    }
}

/// What a schema says about an object; nothing when no object fits it.
fn shape_of(
    whole: &Value,
    node: &Value,
    depth: usize,
    lines: &mut Vec<String>,
) -> Result<Option<Shape>, Unfit> {
    let Value::Object(map) = node else {
        return Ok((*node == Value::Bool(true)).then(Shape::default));
    };
    if depth == 0 {
        return Err(Unfit::Unusable("its unions are too deep".to_owned()));
    }
    if !may_be_object(map) {
        return Ok(None);
    }
    let mut shape = own(map);
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|at| whole.pointer(at));
        match shape_of(whole, target.unwrap_or(&json!({})), depth - 1, lines)? {
            Some(found) => join(&mut shape, found, "allOf"),
            None => return Ok(None),
        }
    }
    for branch in list(map, "allOf") {
        match shape_of(whole, branch, depth - 1, lines)? {
            Some(found) => join(&mut shape, found, "allOf"),
            None => return Ok(None),
        }
    }
    for key in ["anyOf", "oneOf"] {
        if !map.contains_key(key) {
            continue;
        }
        let mut kept = Vec::new();
        for branch in list(map, key) {
            kept.extend(shape_of(whole, branch, depth - 1, lines)?);
        }
        if kept.is_empty() {
            return Ok(None);
        }
        alternatives(&mut shape, kept, lines);
    }
    Ok(Some(shape))
}

fn may_be_object(map: &Map<String, Value>) -> bool {
    match map.get("type") {
        None => true,
        Some(Value::Array(words)) => words.iter().any(|word| word == "object"),
        Some(word) => word == "object",
    }
}

fn list<'a>(map: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    map.get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// What a schema says itself, beside its references and unions.
fn own(map: &Map<String, Value>) -> Shape {
    let object = |key: &str| {
        let found = map.get(key).and_then(Value::as_object);
        found.cloned().unwrap_or_default()
    };
    Shape {
        properties: object("properties"),
        required: list(map, "required")
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        patterns: object("patternProperties"),
        others: map
            .get("additionalProperties")
            .filter(|others| others.is_object())
            .cloned(),
    }
}

/// Adds a schema that holds beside the others.
fn join(shape: &mut Shape, found: Shape, how: &str) {
    for (key, schema) in found.properties {
        match shape.properties.get_mut(&key) {
            None => {
                shape.properties.insert(key, schema);
            }
            Some(known) => combine(known, schema, how),
        }
    }
    for name in found.required {
        if !shape.required.contains(&name) {
            shape.required.push(name);
        }
    }
    for (pattern, schema) in found.patterns {
        shape.patterns.entry(pattern).or_insert(schema);
    }
    shape.others = shape.others.take().or(found.others);
}

/// Adds alternatives: every key of each, required what all require.
fn alternatives(shape: &mut Shape, kept: Vec<Shape>, lines: &mut Vec<String>) {
    let every: Vec<BTreeSet<String>> = kept
        .iter()
        .map(|one| one.required.iter().cloned().collect())
        .collect();
    let common = |name: &String| every.iter().all(|names| names.contains(name));
    let told: Vec<String> = kept.iter().map(|one| keys_of(one, &common)).collect();
    let differ = told.iter().collect::<BTreeSet<_>>().len() > 1;
    if differ && told.iter().all(|keys| !keys.is_empty()) {
        lines.push(format!(
            "Give the keys of one of these: {}.",
            told.join(" | ")
        ));
    }
    let mut merged: Option<Shape> = None;
    for mut one in kept {
        one.required.retain(&common);
        match &mut merged {
            None => merged = Some(one),
            Some(merged) => join(merged, one, "anyOf"),
        }
    }
    join(shape, merged.unwrap_or_default(), "allOf");
}

/// The keys that tell an alternative from the others: what it alone requires, or what it has.
fn keys_of(one: &Shape, common: &impl Fn(&String) -> bool) -> String {
    let own: Vec<&str> = one
        .required
        .iter()
        .filter(|name| !common(name))
        .map(String::as_str)
        .collect();
    if own.is_empty() {
        let all: Vec<&str> = one.properties.keys().map(String::as_str).collect();
        return all.join(", ");
    }
    own.join(", ")
}

/// Two schemas of one key as one.
fn combine(known: &mut Value, new: Value, how: &str) {
    if *known == new {
        return;
    }
    if how == "anyOf"
        && let (Some(one), Some(other)) = (values(known), values(&new))
    {
        let mut all = one;
        for value in other {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        if let Value::Object(map) = known {
            map.shift_remove("const");
            map.insert("enum".to_owned(), Value::Array(all));
        }
        return;
    }
    if let Value::Object(map) = &mut *known
        && map.len() == 1
        && let Some(Value::Array(list)) = map.get_mut(how)
    {
        if !list.contains(&new) {
            list.push(new);
        }
        return;
    }
    *known = json!({ how: [known.take(), new] });
}

/// The values that a schema names, when it names all it allows.
fn values(schema: &Value) -> Option<Vec<Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), None) => Some(vec![value.clone()]),
        (None, Some(Value::Array(all))) => Some(all.clone()),
        _ => None,
    }
}

fn put(map: &mut Map<String, Value>, shape: Shape, lines: &[String]) {
    for key in UNIONS.into_iter().chain(["$ref"]) {
        map.shift_remove(key);
    }
    map.insert("type".to_owned(), json!("object"));
    map.insert("properties".to_owned(), Value::Object(shape.properties));
    if shape.required.is_empty() {
        map.shift_remove("required");
    } else {
        map.insert("required".to_owned(), json!(shape.required));
    }
    if !shape.patterns.is_empty() {
        map.insert(
            "patternProperties".to_owned(),
            Value::Object(shape.patterns),
        );
    }
    if let Some(others) = shape.others {
        map.insert("additionalProperties".to_owned(), others);
    }
    if lines.is_empty() {
        return;
    }
    let lines = lines.join("\n");
    let words = match map.get("description").and_then(Value::as_str) {
        Some(words) if !words.is_empty() => format!("{words}\n{lines}"),
        _ => lines,
    };
    map.insert("description".to_owned(), words.into());
}
