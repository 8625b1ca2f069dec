//! What drafts before 2020-12 and careless generators wrote, said as draft 2020-12 does.

use serde_json::{Map, Value, json};

use super::super::positions::{each_inside, everywhere};
use crate::tools::validation::is_pattern;

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];
/// Keywords, and whether a value has a form that they may have.
type Form = (&'static [&'static str], fn(&Value) -> bool);
/// What each keyword may be; a value of another form is dropped.
const FORMS: [Form; 6] = [
    (
        &["title", "description", "$comment", "format", "$anchor"],
        Value::is_string,
    ),
    (
        &["properties", "patternProperties", "$defs", "definitions"],
        Value::is_object,
    ),
    (&["allOf", "anyOf", "oneOf", "prefixItems"], is_list),
    (&["enum"], Value::is_array),
    (&["required"], is_names),
    (
        &[
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
        ],
        is_count,
    ),
];

pub(super) fn mend(root: &mut Map<String, Value>) {
    let mut whole = Value::Object(std::mem::take(root));
    // Before the forms are looked at: inside a property it has the wrong one.
    everywhere(&mut whole, &mut required_in_properties);
    everywhere(&mut whole, &mut |schema| {
        types(schema);
        tuples(schema);
        bounds(schema, "exclusiveMinimum", "minimum");
        bounds(schema, "exclusiveMaximum", "maximum");
        booleans(schema);
        patterns(schema);
        for (keys, is_form) in FORMS {
            for key in keys {
                if schema.get(*key).is_some_and(|value| !is_form(value)) {
                    schema.shift_remove(*key);
                }
            }
        }
    });
    // An id in the middle gives references inside it another meaning.
    each_inside(&mut whole, &mut |inner| {
        everywhere(inner, &mut |schema| {
            schema.shift_remove("$id");
        });
    });
    if let Value::Object(mended) = whole {
        *root = mended;
    }
}

/// `"required": true` inside a property, as draft 3 had it.
fn required_in_properties(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    let mut names = Vec::new();
    for (name, property) in properties {
        if let Value::Object(property) = property
            && let Some(Value::Bool(required)) = property.get("required")
        {
            if *required {
                names.push(json!(name));
            }
            property.shift_remove("required");
        }
    }
    if names.is_empty() {
        return;
    }
    match schema.get_mut("required") {
        Some(Value::Array(known)) => {
            for name in names {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
        }
        _ => {
            schema.insert("required".to_owned(), Value::Array(names));
        }
    }
}

/// Types in capitals, `any`, and words that are no type.
fn types(schema: &mut Map<String, Value>) {
    let known = |word: &Value| {
        let word = word.as_str()?.to_ascii_lowercase();
        TYPES.contains(&word.as_str()).then(|| Value::String(word))
    };
    let mended = match schema.get("type") {
        None => return,
        Some(Value::Array(words)) => {
            let all: Vec<Value> = words.iter().filter_map(known).collect();
            let mut distinct = Vec::new();
            for word in all {
                if !distinct.contains(&word) {
                    distinct.push(word);
                }
            }
            (distinct.len() == words.len() || !distinct.is_empty())
                .then_some(Value::Array(distinct))
        }
        Some(word) => known(word),
    };
    match mended {
        Some(mended) => schema.insert("type".to_owned(), mended),
        None => schema.shift_remove("type"),
    };
}

/// A list in `items` is `prefixItems` today, and what followed it `items`.
fn tuples(schema: &mut Map<String, Value>) {
    let Some(Value::Array(_)) = schema.get("items") else {
        return;
    };
    if let Some(list) = schema.shift_remove("items") {
        schema.entry("prefixItems").or_insert(list);
    }
    if let Some(rest) = schema.shift_remove("additionalItems") {
        schema.insert("items".to_owned(), rest);
    }
}

/// `"minimum": 3, "exclusiveMinimum": true`, as draft 4 had it.
fn bounds(schema: &mut Map<String, Value>, exclusive: &str, inclusive: &str) {
    let Some(Value::Bool(is_exclusive)) = schema.get(exclusive) else {
        return;
    };
    let limit = is_exclusive
        .then(|| schema.get(inclusive).cloned())
        .flatten();
    schema.shift_remove(exclusive);
    if let Some(limit) = limit {
        schema.shift_remove(inclusive);
        schema.insert(exclusive.to_owned(), limit);
    }
}

/// A property that is `true` may be anything, one that is `false` is none.
fn booleans(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    properties.retain(|_, property| *property != Value::Bool(false));
    for property in properties.values_mut() {
        if !property.is_object() {
            *property = json!({});
        }
    }
}

/// A pattern that is none holds nobody to anything.
fn patterns(schema: &mut Map<String, Value>) {
    let is_fine = match schema.get("pattern") {
        None => true,
        Some(Value::String(pattern)) => is_pattern(pattern),
        Some(_) => false,
    };
    if !is_fine {
        schema.shift_remove("pattern");
    }
    if let Some(Value::Object(named)) = schema.get_mut("patternProperties") {
        named.retain(|pattern, _| is_pattern(pattern));
    }
}

fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| {
        !list.is_empty()
            && list
                .iter()
                .all(|schema| schema.is_object() || schema.is_boolean())
    })
}

fn is_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| {
        let mut distinct = std::collections::BTreeSet::new();
        names
            .iter()
            .all(|name| name.as_str().is_some_and(|name| distinct.insert(name)))
    })
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some()
}
