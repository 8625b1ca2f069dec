//! Compiled schemas, kept by their text: what a turn's snapshot offers is compiled once, not once a call.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::super::TOOLS;
use super::bounds::{Cost, collect_patterns, cost};
use super::{one_line, shown};

/// Schemas kept beside those of the native tools, which always are.
const MAX_KEPT: usize = 1_024;
/// Bytes that those schemas may come to; a pattern counts as what its program may be.
const MAX_WEIGHT: usize = 64 * 1024 * 1024;
/// Bytes of a pattern's program, and as many of what it keeps while it runs.
const PATTERN_BYTES: usize = 1024 * 1024;
/// Steps back that a pattern with look-around or back-references may take on one text.
const STEPS_BACK: usize = 10_000;
/// Checks of one value against one subschema that a validation may take: about a second.
const MAX_CHECKS: usize = 50_000_000;
/// Checks up to which every problem is told; each takes memory until it is.
const MAX_CHECKS_FOR_ALL: usize = 200_000;
/// Bytes of arguments times patterns.
const MAX_MATCHED: usize = 4 * 1024 * 1024;

/// Whether keys that a schema does not declare are problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Undeclared {
    /// Of native tools and scripts.
    Refused,
    /// Of connectors: as their schemas say.
    Allowed,
}

/// A schema ready to check values.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) validator: Validator,
    /// What was compiled.
    pub(super) schema: Value,
    cost: Cost,
    /// A pattern of it may go back on its way.
    backtracks: bool,
}

impl Compiled {
    fn of(text: &str, undeclared: Undeclared) -> Result<Self, String> {
        let mut schema: Value = serde_json::from_str(text)
            .map_err(|error| format!("the tool's own schema is not JSON: {error}"))?;
        if undeclared == Undeclared::Refused {
            close(&mut schema);
        }
        let unfit = |why: String| format!("the tool's own schema is not valid: {why}");
        let cost = cost(&schema).map_err(|fault| unfit(fault.to_string()))?;
        let validator = compile(&schema).map_err(unfit)?;
        let mut patterns = BTreeSet::new();
        collect_patterns(&schema, &mut patterns);
        let backtracks = patterns.into_iter().any(|pattern| !is_linear(pattern));
        Ok(Self {
            validator,
            schema,
            cost,
            backtracks,
        })
    }

    /// Whether every problem of a value of so many parts is told, or only the first.
    ///
    /// # Errors
    /// A sentence when checking it at all would take too long.
    pub(super) fn tells_all(&self, parts: usize, bytes: usize) -> Result<bool, String> {
        let weight = if self.backtracks { STEPS_BACK } else { 1 };
        let checks = parts
            .saturating_mul(self.cost.steps.max(1))
            .saturating_mul(weight);
        if checks > MAX_CHECKS || bytes.saturating_mul(self.cost.patterns) > MAX_MATCHED {
            return Err(format!(
                "the arguments are too large to be checked against this schema: {bytes} bytes with {parts} values; send less at once"
            ));
        }
        Ok(checks <= MAX_CHECKS_FOR_ALL)
    }
}

/// Refuses undeclared keys of an object that declares some and says nothing of others.
fn close(schema: &mut Value) {
    const SAID: [&str; 3] = [
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
    ];
    if let Value::Object(map) = schema
        && map.contains_key("properties")
        && !SAID.iter().any(|key| map.contains_key(*key))
    {
        map.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
    }
}

/// Compiles a schema that reaches nothing outside itself.
fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(
            PatternOptions::fancy_regex()
                .backtrack_limit(STEPS_BACK)
                .size_limit(PATTERN_BYTES)
                .dfa_size_limit(PATTERN_BYTES),
        )
        .offline()
        .build(schema)
        .map_err(|error| one_line(&error.masked().to_string()))
}

/// Whether a pattern takes time in proportion to the text.
fn is_linear(pattern: &str) -> bool {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
        .build(&serde_json::json!({ "pattern": pattern }))
        .is_ok()
}

/// Whether a text is a pattern that is compiled here.
#[must_use]
pub fn is_pattern(text: &str) -> bool {
    compile(&serde_json::json!({ "pattern": text })).is_ok()
}

/// Refuses a schema that is none, reaches outside itself, or may take too long to check.
///
/// # Errors
/// What is wrong, as the end of a sentence about several: "are no valid JSON Schema …".
pub fn check_schema(schema: &Value) -> Result<(), String> {
    jsonschema::draft202012::meta::validate(schema).map_err(|error| {
        let place = error.instance_path().to_string();
        format!(
            "are no valid JSON Schema: at {}: {}",
            if place.is_empty() { "the top" } else { &place },
            shown(&one_line(&error.masked().to_string()))
        )
    })?;
    cost(schema).map_err(|fault| fault.to_string())?;
    compile(schema)
        .map(drop)
        .map_err(|words| format!("can't be used: {}", shown(&words)))
}

/// The native tools' schemas by their text.
static NATIVE: LazyLock<HashMap<&'static str, Result<Arc<Compiled>, String>>> =
    LazyLock::new(|| {
        let texts = TOOLS.iter().map(|tool| tool.schema);
        texts
            .map(|text| (text, Compiled::of(text, Undeclared::Refused).map(Arc::new)))
            .collect()
    });
static OTHERS: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);

type Key = (Undeclared, Arc<str>);

/// Schemas of scripts and connectors; the oldest leave first.
#[derive(Default)]
struct Kept {
    by_text: HashMap<Key, (Arc<Compiled>, usize)>,
    order: VecDeque<Key>,
    weight: usize,
}

impl Kept {
    fn put(&mut self, key: Key, compiled: &Arc<Compiled>) {
        let weight = key.1.len() + compiled.cost.patterns * PATTERN_BYTES;
        if let Some((_, old)) = self
            .by_text
            .insert(key.clone(), (Arc::clone(compiled), weight))
        {
            self.weight -= old;
        } else {
            self.order.push_back(key);
        }
        self.weight += weight;
        while (self.weight > MAX_WEIGHT || self.order.len() > MAX_KEPT) && self.order.len() > 1 {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            if let Some((_, weight)) = self.by_text.remove(&oldest) {
                self.weight -= weight;
            }
        }
    }
}

/// The compiled form of a schema.
///
/// # Errors
/// One sentence that says what is wrong with the schema.
pub(super) fn compiled(text: &str, undeclared: Undeclared) -> Result<Arc<Compiled>, String> {
    if undeclared == Undeclared::Refused
        && let Some(native) = NATIVE.get(text)
    {
        return native.clone();
    }
    let key: Key = (undeclared, text.into());
    let kept = || OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((compiled, _)) = kept().by_text.get(&key) {
        return Ok(Arc::clone(compiled));
    }
    let compiled = Arc::new(Compiled::of(text, undeclared)?);
    kept().put(key, &compiled);
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_compiled_once_and_the_oldest_leave_first() {
        let schema = |n: usize| format!(r#"{{"type":"object","minProperties":{n}}}"#);
        let first = compiled(&schema(1), Undeclared::Allowed).unwrap();
        let again = compiled(&schema(1), Undeclared::Allowed).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        let native = TOOLS.first().unwrap().schema;
        let one = compiled(native, Undeclared::Refused).unwrap();
        assert!(Arc::ptr_eq(
            &one,
            &compiled(native, Undeclared::Refused).unwrap()
        ));
        let mut kept = Kept::default();
        for n in 0..MAX_KEPT + 5 {
            kept.put((Undeclared::Allowed, schema(n).into()), &first);
        }
        assert_eq!((kept.order.len(), kept.by_text.len()), (MAX_KEPT, MAX_KEPT));
        assert!(
            !kept
                .by_text
                .contains_key(&(Undeclared::Allowed, schema(4).into()))
        );
        assert!(
            kept.by_text
                .contains_key(&(Undeclared::Allowed, schema(5).into()))
        );
    }

    #[test]
    fn patterns_weigh_what_their_programs_may() {
        let text = r#"{"type":"object","properties":{"a":{"pattern":"^a"}}}"#;
        let one = Arc::new(Compiled::of(text, Undeclared::Allowed).unwrap());
        let mut kept = Kept::default();
        for n in 0..100 {
            kept.put((Undeclared::Allowed, n.to_string().into()), &one);
        }
        assert_eq!(kept.order.len(), 63);
    }

    #[test]
    fn what_a_schema_costs_is_bounded() {
        let fault = |schema: &str| check_schema(&serde_json::from_str(schema).unwrap());
        // A program of a thousand million states, and one that fits.
        let large = r#"{"pattern":"((a{1000}){1000}){1000}"}"#;
        assert!(fault(large).unwrap_err().starts_with("can't be used"));
        assert_eq!(fault(r#"{"pattern":"^[a-z]{1,64}$"}"#), Ok(()));
        let many: Vec<String> = (0..65)
            .map(|n| format!(r#""p{n}":{{"pattern":"^{n}$"}}"#))
            .collect();
        assert_eq!(
            fault(&format!(r#"{{"properties":{{{}}}}}"#, many.join(","))),
            Err("have more than 64 different patterns".to_owned())
        );
        let remote = r#"{"$ref":"https://example.com/s.json"}"#;
        assert!(
            fault(remote)
                .unwrap_err()
                .contains("is no place in this schema")
        );
    }

    #[test]
    fn patterns_that_go_back_are_known() {
        let backtracks = |pattern: &str| {
            let text = serde_json::json!({ "pattern": pattern }).to_string();
            Compiled::of(&text, Undeclared::Allowed).unwrap().backtracks
        };
        assert!(!backtracks("^(a+)+$"));
        assert!(backtracks("^(?!x)(a+)+$"));
        assert!(backtracks(r"^(a)\1$"));
    }
}
