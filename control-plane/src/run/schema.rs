//! The rewriting of a schema before a model sees it; the original goes on validating.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The line that an optional string's description carries.
const OMIT_LINE: &str = "Optional. Omit this key when unused; do not pass an empty value.";
/// How many subschemas are looked at to learn a property's type: references may
/// lead in a circle, or fan out without a useful end.
const MAX_LOOKS: usize = 256;

/// Keywords that hold one schema.
const ONE: [&str; 12] = [
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
const LIST: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords that hold schemas by name, beside `properties`.
const NAMED: [&str; 5] = [
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "$defs",
    "definitions",
];

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

/// One more step of a JSON pointer (RFC 6901).
fn step(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
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
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &str, expected: &str) {
        let once = rewrite(schema);
        assert_eq!(once.get(), expected);
        assert_eq!(rewrite(once.get()).get(), expected, "a second time");
    }

    #[test]
    fn format_leaves_optional_and_nullable_properties() {
        check(
            r#"{"type":"object","properties":{"a":{"type":"integer","format":"int32"},"b":{"type":"integer","format":"int64"}},"required":["b"]}"#,
            r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer","format":"int64"}},"required":["b"]}"#,
        );
        check(
            r#"{"type":"object","properties":{"a":{"type":["integer","null"],"format":"int32"},"b":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]},"c":{"oneOf":[{"type":"null"},{"type":"string","format":"uri"}]}},"required":["a","b","c"]}"#,
            r#"{"type":"object","properties":{"a":{"type":["integer","null"]},"b":{"anyOf":[{"type":"string"},{"type":"null"}]},"c":{"oneOf":[{"type":"null"},{"type":"string"}]}},"required":["a","b","c"]}"#,
        );
    }

    #[test]
    fn everything_inside_an_optional_property_loses_its_format() {
        check(
            r#"{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string","format":"date"}},"required":["at"]}}}}"#,
            r#"{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}}}}"#,
        );
    }

    #[test]
    fn objects_inside_a_required_property_go_by_their_own_required() {
        check(
            r#"{"type":"object","properties":{"o":{"type":"object","properties":{"in":{"type":"integer","format":"int32"},"out":{"type":"integer","format":"int32"}},"required":["in"]}},"required":["o"]}"#,
            r#"{"type":"object","properties":{"o":{"type":"object","properties":{"in":{"type":"integer","format":"int32"},"out":{"type":"integer"}},"required":["in"]}},"required":["o"]}"#,
        );
        check(
            r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","format":"date"}}},"required":["a"]}"#,
            r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","format":"date"}}},"required":["a"]}"#,
        );
    }

    #[test]
    fn a_definition_goes_by_the_properties_that_refer_to_it() {
        check(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/kept"},"b":{"$ref":"#/$defs/bare"},"c":{"$ref":"#/$defs/bare"}},"required":["a","b"],"$defs":{"kept":{"type":"integer","format":"int32"},"bare":{"type":"array","items":{"$ref":"#/$defs/deep"}},"deep":{"type":"integer","format":"int64"}}}"##,
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/kept"},"b":{"$ref":"#/$defs/bare"},"c":{"$ref":"#/$defs/bare"}},"required":["a","b"],"$defs":{"kept":{"type":"integer","format":"int32"},"bare":{"type":"array","items":{"$ref":"#/$defs/deep"}},"deep":{"type":"integer"}}}"##,
        );
    }

    #[test]
    fn a_long_chain_of_definitions_is_followed_to_its_end_in_no_time() {
        let chain = |last: &str| {
            let definitions: Vec<String> = (0..1_500)
                .map(|n| format!(r##""a{n}":{{"items":{{"$ref":"#/$defs/a{}"}}}}"##, n + 1))
                .collect();
            format!(
                r##"{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/a0"}}}},"$defs":{{{},"a1500":{last}}}}}"##,
                definitions.join(",")
            )
        };
        let began = std::time::Instant::now();
        check(
            &chain(r#"{"type":"integer","format":"int32"}"#),
            &chain(r#"{"type":"integer"}"#),
        );
        // One walk for each would take minutes.
        assert!(began.elapsed() < std::time::Duration::from_secs(10));
    }

    #[test]
    fn a_definition_is_known_by_its_anchor_and_where_it_is_nested() {
        check(
            r##"{"type":"object","properties":{"a":{"$ref":"#n"},"b":{"$ref":"#/$defs/o/$defs/p"}},"$defs":{"x":{"$anchor":"n","type":"array","items":{"$ref":"#m"}},"y":{"$anchor":"m","type":"integer","format":"int32"},"o":{"type":"integer","format":"int32","$defs":{"p":{"type":"integer","format":"int64"},"q":{"type":"integer","format":"int64"}}}}}"##,
            r##"{"type":"object","properties":{"a":{"$ref":"#n"},"b":{"$ref":"#/$defs/o/$defs/p"}},"$defs":{"x":{"$anchor":"n","type":"array","items":{"$ref":"#m"}},"y":{"$anchor":"m","type":"integer"},"o":{"type":"integer","format":"int32","$defs":{"p":{"type":"integer"},"q":{"type":"integer","format":"int64"}}}}}"##,
        );
    }

    #[test]
    fn closed_objects_open_and_dialects_leave_at_every_depth() {
        check(
            r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"o":{"$schema":"x","type":"object","properties":{},"additionalProperties":false},"m":{"type":"object","properties":{},"additionalProperties":{"type":"integer"}},"t":{"type":"object","properties":{},"additionalProperties":true}},"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"o":{"type":"object","properties":{}},"m":{"type":"object","properties":{},"additionalProperties":{"type":"integer"}},"t":{"type":"object","properties":{},"additionalProperties":true}}}"#,
        );
    }

    #[test]
    fn keywords_are_found_by_position() {
        check(
            r#"{"type":"object","properties":{"format":{"type":"integer","default":{"format":"x","additionalProperties":false},"examples":[{"$schema":"y"}]},"$schema":{"type":"integer"},"additionalProperties":{"const":{"format":"z"}}}}"#,
            r#"{"type":"object","properties":{"format":{"type":"integer","default":{"format":"x","additionalProperties":false},"examples":[{"$schema":"y"}]},"$schema":{"type":"integer"},"additionalProperties":{"const":{"format":"z"}}}}"#,
        );
    }

    #[test]
    fn an_optional_string_says_that_it_may_be_omitted() {
        check(
            r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","description":"B."},"c":{"type":"string","description":"OMIT it."},"d":{"type":"string","description":"D."}},"required":["d"]}"#,
            r#"{"type":"object","properties":{"a":{"type":"string","description":"Optional. Omit this key when unused; do not pass an empty value."},"b":{"type":"string","description":"B.\nOptional. Omit this key when unused; do not pass an empty value."},"c":{"type":"string","description":"OMIT it."},"d":{"type":"string","description":"D."}},"required":["d"]}"#,
        );
        check(
            r#"{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"enum":["x","y"]},"c":{"anyOf":[{"type":"string"},{"type":"null"}]},"d":{"type":["string","integer"]},"e":{"type":"integer"}}}"#,
            r#"{"type":"object","properties":{"a":{"type":["string","null"],"description":"Optional. Omit this key when unused; do not pass an empty value."},"b":{"enum":["x","y"],"description":"Optional. Omit this key when unused; do not pass an empty value."},"c":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"Optional. Omit this key when unused; do not pass an empty value."},"d":{"type":["string","integer"]},"e":{"type":"integer"}}}"#,
        );
        check(
            r#"{"type":"object","properties":{"o":{"type":"object","properties":{"in":{"type":"string"}}}},"required":["o"]}"#,
            r#"{"type":"object","properties":{"o":{"type":"object","properties":{"in":{"type":"string","description":"Optional. Omit this key when unused; do not pass an empty value."}}}},"required":["o"]}"#,
        );
    }

    #[test]
    fn an_object_without_properties_gets_an_empty_one() {
        check(
            r#"{"type":"object"}"#,
            r#"{"type":"object","properties":{}}"#,
        );
    }

    #[test]
    fn references_that_fan_out_are_not_all_followed() {
        let mut definitions: Vec<String> = (0..12)
            .map(|n| {
                let branches = vec![format!(r##"{{"$ref":"#/$defs/a{}"}}"##, n + 1); 50];
                format!(r#""a{n}":{{"anyOf":[{}]}}"#, branches.join(","))
            })
            .collect();
        definitions.push(r#""a12":{"type":"string"}"#.to_owned());
        let schema = format!(
            r##"{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/a0"}}}},"$defs":{{{}}}}}"##,
            definitions.join(",")
        );
        // To follow them all would take longer than anybody waits.
        check(&schema, &schema);
    }

    #[test]
    fn a_circle_of_references_ends() {
        check(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a","format":"x"}}}"##,
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
        );
    }

    #[test]
    fn keys_and_numbers_stay_as_they_were_written() {
        check(
            r#"{"required":["n"],"properties":{"z":{"minimum":1.50,"type":"number"},"n":{"maximum":10,"type":"integer"}},"type":"object"}"#,
            r#"{"required":["n"],"properties":{"z":{"minimum":1.5,"type":"number"},"n":{"maximum":10,"type":"integer"}},"type":"object"}"#,
        );
    }
}
