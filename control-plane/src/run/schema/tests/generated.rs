//! Claims over schemas that a generator makes: what rewriting and repair never do, whatever is published.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::positions::inside;
use super::super::repair::fit;
use super::super::rewrite;

/// Schemas of each claim, and of the one about repair, which compiles each.
const ROUNDS: u64 = 1_000;
const REPAIRS: u64 = 200;

/// Numbers that are the same in every run (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.roll(of.len())]
    }
}

const NAMES: [&str; 9] = [
    "a",
    "b",
    "format",
    "$schema",
    "additionalProperties",
    "properties",
    "required",
    "a/b",
    "~",
];
const TARGETS: [&str; 9] = [
    "#",
    "#/$defs/a",
    "#/$defs/b",
    "#/$defs/a~1b",
    "#/definitions/a",
    "#/properties/a",
    "#/anyOf/0",
    "#nowhere",
    "https://example.com/s.json",
];
/// What rewriting must leave alone although it looks like a schema.
const DATA: [&str; 4] = ["default", "const", "enum", "examples"];

fn data() -> Value {
    json!({"format": "date", "additionalProperties": false, "$schema": "x", "type": "object"})
}

fn schema(dice: &mut Dice, depth: usize) -> Value {
    let mut map = Map::new();
    for _ in 0..=dice.roll(4) {
        keyword(dice, depth, &mut map);
    }
    Value::Object(map)
}

fn keyword(dice: &mut Dice, depth: usize, map: &mut Map<String, Value>) {
    let types = ["string", "integer", "object", "array", "null", "boolean"];
    let deep = depth > 0;
    let (key, value) = match dice.roll(16) {
        0 | 1 => ("type", json!(dice.one(&types.map(|word| word)))),
        2 => ("type", json!([dice.one(&types.map(|word| word)), "null"])),
        3 => ("format", json!("date-time")),
        4 => ("additionalProperties", json!(dice.roll(2) == 0)),
        5 => ("$schema", json!("http://json-schema.org/draft-07/schema#")),
        6 => (
            "description",
            json!(dice.one(&["Words.", "", "Omit it."].map(|word| word))),
        ),
        7 => {
            let key = DATA[dice.roll(DATA.len())];
            let listed = key == "enum" || key == "examples";
            (key, if listed { json!([data()]) } else { data() })
        }
        8 => ("$ref", json!(dice.one(&TARGETS.map(|word| word)))),
        9 => ("required", json!([dice.one(&NAMES.map(|word| word))])),
        10 if deep => ("items", schema(dice, depth - 1)),
        11 if deep => {
            let key = dice.one(&["anyOf", "oneOf", "allOf", "prefixItems"].map(|word| word));
            (
                key,
                json!([schema(dice, depth - 1), schema(dice, depth - 1)]),
            )
        }
        12 if deep => ("additionalProperties", schema(dice, depth - 1)),
        13 if deep => {
            let key = dice.one(&["$defs", "definitions", "patternProperties"].map(|word| word));
            (key, named(dice, depth))
        }
        _ if deep => ("properties", named(dice, depth)),
        _ => ("minimum", json!(1)),
    };
    map.insert(key.to_owned(), value);
}

fn named(dice: &mut Dice, depth: usize) -> Value {
    let mut map = Map::new();
    for _ in 0..=dice.roll(3) {
        let name = dice.one(&NAMES.map(|word| word)).to_owned();
        map.insert(name, schema(dice, depth - 1));
    }
    Value::Object(map)
}

fn each(claim: impl Fn(&Value)) {
    each_of(ROUNDS, claim);
}

fn each_of(rounds: u64, claim: impl Fn(&Value)) {
    for seed in 1..=rounds {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut made = schema(&mut dice, 4);
        made["type"] = json!("object");
        claim(&made);
    }
}

fn rewritten(schema: &Value) -> Value {
    serde_json::from_str(rewrite(&schema.to_string()).get()).unwrap()
}

/// Every schema with whether it lies in an optional or nullable property, by the
/// rules told anew: `required` of its own object, `null` among types or branches.
fn placed<'a>(node: &'a Value, at: &str, bare: bool, found: &mut Vec<(String, &'a Value, bool)>) {
    found.push((at.to_owned(), node, bare));
    for (place, inner, _) in inside(node, at) {
        let parent = &place[..place.rfind('/').unwrap()];
        let name = place[parent.len() + 1..]
            .replace("~1", "/")
            .replace("~0", "~");
        let is_property = parent.len() == at.len() + "/properties".len()
            && parent.ends_with("/properties")
            && node["properties"]
                .get(&name)
                .is_some_and(|of| std::ptr::eq(of, inner));
        let is_definition = ["/$defs", "/definitions"]
            .iter()
            .any(|key| parent.len() == at.len() + key.len() && parent.ends_with(key));
        let optional = !node["required"]
            .as_array()
            .is_some_and(|names| names.contains(&json!(name)));
        let inherited = bare && !is_definition;
        placed(
            inner,
            &place,
            inherited || is_property && (optional || nullable(inner)),
            found,
        );
    }
}

fn nullable(node: &Value) -> bool {
    let has_null = |node: &Value| {
        node["type"] == "null"
            || node["type"]
                .as_array()
                .is_some_and(|words| words.contains(&json!("null")))
    };
    has_null(node)
        || ["anyOf", "oneOf"].iter().any(|key| {
            node[*key]
                .as_array()
                .is_some_and(|all| all.iter().any(has_null))
        })
}

#[test]
fn a_second_rewriting_changes_nothing() {
    each(|schema| {
        let once = rewrite(&schema.to_string());
        assert_eq!(rewrite(once.get()).get(), once.get(), "{schema}");
    });
}

#[test]
fn nothing_closed_no_dialect_and_no_format_where_it_has_to_go() {
    each(|schema| {
        let shown = rewritten(schema);
        let mut found = Vec::new();
        placed(&shown, "", false, &mut found);
        for (place, node, bare) in found {
            assert!(node.get("$schema").is_none(), "{place}: {schema}");
            assert_ne!(
                node.get("additionalProperties"),
                Some(&json!(false)),
                "{place}: {schema}"
            );
            assert!(!bare || node.get("format").is_none(), "{place}: {schema}");
        }
    });
}

#[test]
fn a_format_that_may_stay_stays() {
    each(|schema| {
        let shown = rewritten(schema);
        let mut before = Vec::new();
        placed(schema, "", false, &mut before);
        for (place, node, bare) in before {
            // In a definition it depends on who refers to it.
            let defined = place.contains("/$defs/") || place.contains("/definitions/");
            if !bare && !defined && node.get("format").is_some() {
                assert!(
                    shown.pointer(&place).unwrap().get("format").is_some(),
                    "{place}: {schema}"
                );
            }
        }
    });
}

#[test]
fn data_and_names_are_never_touched() {
    each(|schema| {
        let shown = rewritten(schema);
        let mut before = Vec::new();
        placed(schema, "", false, &mut before);
        for (place, node, _) in before {
            let after = shown
                .pointer(&place)
                .unwrap_or_else(|| panic!("{place}: {schema}"));
            for key in DATA {
                assert_eq!(after.get(key), node.get(key), "{place}: {schema}");
            }
            for key in ["type", "required", "$ref", "minimum"] {
                assert_eq!(after.get(key), node.get(key), "{place}: {schema}");
            }
        }
    });
}

#[test]
fn the_order_of_keys_is_kept() {
    each(|schema| {
        let shown = rewritten(schema);
        let mut before = Vec::new();
        placed(schema, "", false, &mut before);
        for (place, node, _) in before {
            let after = shown.pointer(&place).unwrap();
            let (Value::Object(before), Value::Object(after)) = (node, after) else {
                continue;
            };
            let kept: Vec<&String> = before
                .keys()
                .filter(|key| after.contains_key(*key))
                .collect();
            let now: Vec<&String> = after
                .keys()
                .filter(|key| before.contains_key(*key))
                .collect();
            assert_eq!(now, kept, "{place}: {schema}");
            let new: BTreeSet<&str> = after
                .keys()
                .filter(|key| !before.contains_key(*key))
                .map(String::as_str)
                .collect();
            assert!(
                new.is_subset(&BTreeSet::from(["description", "properties"])),
                "{new:?} at {place}: {schema}"
            );
        }
    });
}

#[test]
fn what_is_repaired_is_a_schema_that_every_api_takes_and_stays_so() {
    let fitted = std::cell::Cell::new(0);
    each_of(REPAIRS, |schema| {
        let Ok(made) = fit(&schema.to_string()) else {
            return;
        };
        fitted.set(fitted.get() + 1);
        let shown: Value = serde_json::from_str(made.shown.get()).unwrap();
        jsonschema::draft202012::meta::validate(&shown)
            .unwrap_or_else(|error| panic!("{error}: {shown} of {schema}"));
        assert_eq!(shown["type"], "object");
        for key in ["anyOf", "oneOf", "allOf", "not", "enum", "$ref"] {
            assert!(shown.get(key).is_none(), "{key}: {shown} of {schema}");
        }
        let mut all = Vec::new();
        placed(&shown, "", false, &mut all);
        for (place, node, _) in &all {
            if let Some(target) = node.get("$ref").and_then(Value::as_str) {
                let target = target.strip_prefix('#').and_then(|at| shown.pointer(at));
                assert!(target.is_some(), "{place}: {shown} of {schema}");
            }
        }
        let again = fit(made.shown.get()).unwrap_or_else(|unfit| panic!("{unfit}: {shown}"));
        assert_eq!(again.shown.get(), made.shown.get(), "of {schema}");
    });
    // Most are mended: a generator of rubbish would prove nothing.
    assert!(fitted.get() > REPAIRS / 2, "{}", fitted.get());
}
