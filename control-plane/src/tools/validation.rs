//! Validation of arguments against a tool's schema: every problem at once, in words a model can act on.

mod bounds;
mod compiled;
mod words;

use std::collections::BTreeSet;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use self::compiled::{Undeclared, compiled};
pub use self::compiled::{check_schema, is_pattern};

/// Problems told in one answer; more would bury the first.
const MAX_PROBLEMS: usize = 20;
/// Characters of an allowed value or pattern shown.
const MAX_SHOWN: usize = 200;

/// Checks arguments against the original schema of a native tool or a script.
/// A key that it does not declare is a problem, also where the schema doesn't say
/// so itself; one that says what further keys may be stays open.
///
/// # Errors
/// One line (without `ERROR: `) that names every problem: the key, what was
/// found by its type, what is allowed.
pub fn validate(schema: &str, arguments: &RawValue) -> Result<(), String> {
    check(schema, Undeclared::Refused, arguments)
}

/// Checks arguments against the schema of a connector's tool, whose undeclared keys
/// are what the schema says.
///
/// # Errors
/// As [`validate`].
pub fn validate_open(schema: &str, arguments: &RawValue) -> Result<(), String> {
    check(schema, Undeclared::Allowed, arguments)
}

fn check(schema: &str, undeclared: Undeclared, arguments: &RawValue) -> Result<(), String> {
    let mut problems = repeated_keys(arguments);
    let value: Value = serde_json::from_str(arguments.get())
        .map_err(|error| format!("the arguments are not readable as JSON: {error}"))?;
    let compiled = compiled(schema, undeclared)?;
    let tells_all = compiled.tells_all(parts(&value), arguments.get().len())?;
    let validator = &compiled.validator;
    let mut unsaid = false;
    if !validator.is_valid(&value) {
        if tells_all {
            for error in validator.iter_errors(&value).take(MAX_PROBLEMS + 1) {
                words::describe(&error, &compiled.schema, &mut problems);
            }
        } else if let Err(error) = validator.validate(&value) {
            words::describe(&error, &compiled.schema, &mut problems);
            unsaid = true;
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    let more = problems.len() > MAX_PROBLEMS;
    problems.truncate(MAX_PROBLEMS);
    let mut line = format!("invalid arguments: {}", problems.join("; "));
    if more {
        line.push_str("; and more");
    } else if unsaid {
        line.push_str("; there may be more, which so large arguments are not searched for");
    }
    Err(line)
}

/// Values in a value, itself counted.
fn parts(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(parts).sum(),
        Value::Object(map) => map.values().map(parts).sum::<usize>(),
        _ => 0,
    }
}

/// A key twice in one object would be read as either value.
fn repeated_keys(arguments: &RawValue) -> Vec<String> {
    struct Repeated(Vec<String>);
    impl<'de> Deserialize<'de> for Repeated {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Keys;
            impl<'de> Visitor<'de> for Keys {
                type Value = Repeated;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Repeated, A::Error> {
                    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
                    while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                        if !seen.insert(key.clone()) {
                            twice.insert(key);
                        }
                    }
                    let told = |key: &String| format!("{} is given more than once", quoted(key));
                    Ok(Repeated(twice.iter().map(told).collect()))
                }
            }
            deserializer.deserialize_map(Keys)
        }
    }
    serde_json::from_str(arguments.get()).map_or_else(|_| Vec::new(), |Repeated(list)| list)
}

fn quoted(key: &str) -> String {
    format!("\"{}\"", shown(key))
}

/// At most 200 characters of a text, on one line.
pub fn shown(text: &str) -> String {
    let line = one_line(text);
    if line.chars().count() <= MAX_SHOWN {
        return line;
    }
    line.chars().take(MAX_SHOWN).chain(['…']).collect()
}

pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Reads an integer that may be written with a fraction of zero, as JSON Schema allows.
///
/// # Errors
/// When it is no integer that fits.
pub(super) fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    // The schema bounded it, so the cast can't lose anything but a zero fraction.
    number
        .as_i64()
        .or_else(|| number.as_f64().map(|float| float as i64))
        .ok_or_else(|| serde::de::Error::custom("not an integer"))
}

/// Text as it is stored: PostgreSQL holds no U+0000.
pub(super) fn storable(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text
    }
}

/// The candidate that a misspelt word most likely means: at most a third of its
/// characters away, and at least one edit is always forgiven.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().take(64).collect();
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(edits, candidate)| {
            let length = candidate.chars().count();
            *edits < length && *edits <= (length / 3).max(1)
        })
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Edits between two words: insert, delete, replace, swap of neighbours.
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().take(64).collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests;
