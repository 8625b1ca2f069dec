//! What checking a value against a schema may cost: subschemas for one value, references, patterns.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::shown;

/// Most subschemas that hold for one value at once.
const MAX_DEPTH: usize = 64;
/// Most subschemas that one value may be checked against: a reference used twice in
/// each of thirty definitions would be a thousand million.
const MAX_STEPS: usize = 1_000;
/// Most different patterns of a schema: each is a program of its own.
const MAX_PATTERNS: usize = 64;

/// What one schema costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// Most subschemas that one value is checked against.
    pub(super) steps: usize,
    /// Different patterns.
    pub(super) patterns: usize,
}

/// The cost of a schema.
///
/// # Errors
/// [`Fault`] when there is no bound, or one that is too high.
pub(super) fn cost(schema: &Value) -> Result<Cost, Fault> {
    let steps = Walk::over(schema)?;
    let mut patterns = BTreeSet::new();
    collect_patterns(schema, &mut patterns);
    if patterns.len() > MAX_PATTERNS {
        return Err(Fault::Patterned);
    }
    Ok(Cost {
        steps,
        patterns: patterns.len(),
    })
}

/// Every text that may be a pattern.
pub(super) fn collect_patterns<'a>(node: &'a Value, found: &mut BTreeSet<&'a str>) {
    if let Value::Object(map) = node {
        if let Some(Value::String(pattern)) = map.get("pattern") {
            found.insert(pattern);
        }
        if let Some(Value::Object(named)) = map.get("patternProperties") {
            found.extend(named.keys().map(String::as_str));
        }
    }
    for inner in inside(node) {
        collect_patterns(inner, found);
    }
}

/// What makes a schema one that checking a value against it might never end, or
/// not in time, or that can't be told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A subschema comes back to itself for one and the same value.
    Endless,
    /// References fan out to more subschemas for one value than are looked at.
    Fanned,
    /// A reference of another form than a place in this schema.
    Elsewhere(String),
    /// A subschema names itself, which gives its references another meaning.
    Named,
    /// It has more patterns than are compiled.
    Patterned,
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
            Self::Patterned => write!(f, "have more than {MAX_PATTERNS} different patterns"),
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
    /// The most of them.
    most: usize,
}

impl<'a> Walk<'a> {
    /// Looks at every subschema as the one that a value is checked against.
    fn over(root: &'a Value) -> Result<usize, Fault> {
        let mut walk = Self {
            root,
            anchors: BTreeMap::new(),
            seen: BTreeSet::new(),
            steps: 0,
            most: 0,
        };
        walk.collect(root, true)?;
        walk.each(root)?;
        Ok(walk.most)
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
        self.most = self.most.max(self.steps);
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
