//! Validation of arguments against a tool's schema: every problem at once, in words a model can act on.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Compiled schemas kept; scripts bring new ones, so there is an end.
const MAX_COMPILED: usize = 1_024;
/// Problems told in one answer; more would bury the first.
const MAX_PROBLEMS: usize = 20;
/// Characters of an allowed value or pattern shown.
const MAX_SHOWN: usize = 200;

type Compiled = HashMap<Arc<str>, Arc<Validator>>;
static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(Mutex::default);

/// Checks arguments against the original schema of a native tool or a script.
/// A key that it does not declare is a problem, also where the schema doesn't say
/// so itself; one that says what further keys may be stays open.
///
/// # Errors
/// One line (without `ERROR: `) that names every problem: the key, what was
/// found by its type, what is allowed.
pub fn validate(schema: &str, arguments: &RawValue) -> Result<(), String> {
    let mut problems = repeated_keys(arguments);
    let value: Value = serde_json::from_str(arguments.get())
        .map_err(|error| format!("the arguments are not readable as JSON: {error}"))?;
    let validator = compiled(schema)?;
    let mut errors = validator.iter_errors(&value).peekable();
    if errors.peek().is_some() {
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        for error in errors.take(MAX_PROBLEMS) {
            describe(&error, &schema, &mut problems);
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
    }
    Err(line)
}

/// Compiles a schema that reaches nothing outside itself.
///
/// # Errors
/// One sentence that says what is wrong with the schema.
pub(super) fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .offline()
        .build(schema)
        .map_err(|error| one_line(&error.masked().to_string()))
}

fn compiled(schema: &str) -> Result<Arc<Validator>, String> {
    let known = COMPILED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(schema)
        .cloned();
    if let Some(validator) = known {
        return Ok(validator);
    }
    let mut value: Value = serde_json::from_str(schema)
        .map_err(|error| format!("the tool's own schema is not JSON: {error}"))?;
    close(&mut value);
    let validator = Arc::new(
        compile(&value).map_err(|error| format!("the tool's own schema is not valid: {error}"))?,
    );
    let mut kept = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() >= MAX_COMPILED {
        kept.clear();
    }
    kept.insert(schema.into(), Arc::clone(&validator));
    Ok(validator)
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

fn describe(error: &ValidationError<'_>, schema: &Value, problems: &mut Vec<String>) {
    let path = place(error.instance_path().as_str());
    let at = |key: &str| {
        if path.is_empty() {
            quoted(key)
        } else {
            format!("{path}.{}", shown(key))
        }
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            problems.push(format!(
                "{} is missing (required)",
                at(property.as_str().unwrap_or_default())
            ));
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let allowed = declared(error, schema);
            for key in unexpected {
                problems.push(format!("{} is not a key of this {}", at(key), {
                    let owner = if path.is_empty() { "tool" } else { "object" };
                    unknown_key(owner, key, &allowed)
                }));
            }
        }
        kind => {
            let subject = if path.is_empty() {
                "the object".to_owned()
            } else {
                path
            };
            problems.push(format!("{subject} {}", rule(kind, error)));
        }
    }
}

fn unknown_key(owner: &str, key: &str, allowed: &[String]) -> String {
    let mut words = owner.to_owned();
    if allowed.is_empty() {
        words.push_str("; it takes none");
    } else {
        let _ = write!(words, "; allowed: {}", allowed.join(", "));
    }
    if let Some(near) = nearest(key, allowed.iter().map(String::as_str)) {
        let _ = write!(words, "; did you mean {}?", quoted(near));
    }
    words
}

/// What was found and what is allowed; never the value itself.
fn rule(kind: &ValidationErrorKind, error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as K;
    let found = kind_of(error.instance());
    match kind {
        K::Type { kind } => {
            let allowed = match kind {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(set) => {
                    let words: Vec<String> = set.iter().map(|one| one.to_string()).collect();
                    words.join(" or ")
                }
            };
            format!("is {found}; allowed: {allowed}")
        }
        K::Enum { options } => {
            format!("is {found} that is not allowed; allowed: {}", list(options))
        }
        K::Constant { expected_value } => {
            format!(
                "is {found} that is not allowed; allowed: {}",
                shown(&expected_value.to_string())
            )
        }
        K::Minimum { limit } => format!("is too small; at least {limit}"),
        K::Maximum { limit } => format!("is too large; at most {limit}"),
        K::ExclusiveMinimum { limit } => format!("is too small; more than {limit}"),
        K::ExclusiveMaximum { limit } => format!("is too large; less than {limit}"),
        K::MinLength { limit } => format!("is too short; at least {limit} characters"),
        K::MaxLength { limit } => format!("is too long; at most {limit} characters"),
        K::MinItems { limit } => format!("has too few items; at least {limit}"),
        K::MaxItems { limit } => format!("has too many items; at most {limit}"),
        K::MinProperties { limit } => format!("has too few keys; at least {limit}"),
        K::MaxProperties { limit } => format!("has too many keys; at most {limit}"),
        K::Pattern { pattern } => format!("is {found} that does not match {}", shown(pattern)),
        K::Format { format } => format!("is {found} that is not in the format {}", shown(format)),
        K::UniqueItems => "has an item twice".to_owned(),
        K::FalseSchema => "is not allowed".to_owned(),
        K::AnyOf { .. } | K::OneOfNotValid { .. } => {
            format!("is {found} that fits none of the allowed forms")
        }
        K::OneOfMultipleValid { .. } => {
            format!("is {found} that fits more than one of the allowed forms")
        }
        _ => one_line(&error.masked_with("the value").to_string()),
    }
}

/// The keys an object's schema declares: the siblings of the keyword that failed.
fn declared(error: &ValidationError<'_>, schema: &Value) -> Vec<String> {
    let keyword = error.schema_path().as_str();
    let owner = keyword.rsplit_once('/').map_or("", |(owner, _)| owner);
    schema
        .pointer(owner)
        .and_then(|owner| owner.get("properties"))
        .and_then(Value::as_object)
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default()
}

/// `/where/0/name` as `where[0].name`.
fn place(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            let _ = write!(path, "[{part}]");
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&shown(&part));
        }
    }
    path
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn list(options: &Value) -> String {
    match options {
        Value::Array(options) => {
            let words: Vec<String> = options.iter().map(ToString::to_string).collect();
            shown(&words.join(", "))
        }
        other => shown(&other.to_string()),
    }
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

pub(super) fn one_line(text: &str) -> String {
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
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","properties":{"name":{"type":"string","maxLength":5},"limit":{"type":"integer","minimum":1,"maximum":100},"level":{"enum":["agent","guild"]},"inner":{"type":"object","properties":{"deep":{"type":"boolean"}},"required":["deep"],"additionalProperties":false}},"required":["name"],"additionalProperties":false}"#;

    #[track_caller]
    fn check(arguments: &str, expected: Result<(), &str>) {
        let raw = RawValue::from_string(arguments.to_owned()).unwrap();
        assert_eq!(
            validate(SCHEMA, &raw),
            expected.map_err(|line| format!("invalid arguments: {line}"))
        );
    }

    #[test]
    fn what_the_schema_accepts_passes() {
        check(r#"{"name":"a","limit":5,"level":"guild"}"#, Ok(()));
    }

    #[test]
    fn a_problem_names_the_key_what_was_found_and_what_is_allowed() {
        check("{}", Err("\"name\" is missing (required)"));
        check(
            r#"{"name":"a","limit":"5"}"#,
            Err("limit is a string; allowed: integer"),
        );
        check(
            r#"{"name":"a","limit":101}"#,
            Err("limit is too large; at most 100"),
        );
        check(
            r#"{"name":"a","level":"org"}"#,
            Err(r#"level is a string that is not allowed; allowed: "agent", "guild""#),
        );
        check(
            r#"{"name":"abcdef"}"#,
            Err("name is too long; at most 5 characters"),
        );
        check(
            r#"{"name":"a","inner":{}}"#,
            Err("inner.deep is missing (required)"),
        );
    }

    #[test]
    fn an_undeclared_key_gets_the_allowed_ones_and_the_nearest() {
        check(
            r#"{"name":"a","limt":3}"#,
            Err(
                "\"limt\" is not a key of this tool; allowed: name, limit, level, inner; did you mean \"limit\"?",
            ),
        );
        check(
            r#"{"name":"a","inner":{"deep":true,"zzz":1}}"#,
            Err("inner.zzz is not a key of this object; allowed: deep"),
        );
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let raw = RawValue::from_string(r#"{"limit":0,"level":7}"#.to_owned()).unwrap();
        let line = validate(SCHEMA, &raw).unwrap_err();
        for part in [
            "limit is too small; at least 1",
            "level is an integer that is not allowed",
            "\"name\" is missing (required)",
        ] {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn a_key_given_twice_is_refused() {
        check(
            r#"{"name":"a","name":"b"}"#,
            Err("\"name\" is given more than once"),
        );
    }

    #[test]
    fn undeclared_keys_are_problems_unless_the_schema_opens_itself() {
        let check = |schema: &str, expected: Result<(), &str>| {
            let raw = RawValue::from_string(r#"{"a":1,"b":2}"#.to_owned()).unwrap();
            let expected = expected.map_err(|line| format!("invalid arguments: {line}"));
            assert_eq!(validate(schema, &raw), expected, "{schema}");
        };
        check(
            r#"{"type":"object","properties":{"a":{}}}"#,
            Err("\"b\" is not a key of this tool; allowed: a"),
        );
        check(
            r#"{"type":"object","properties":{"a":{}},"allOf":[{"properties":{"b":{}}}]}"#,
            Ok(()),
        );
        check(
            r#"{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"integer"}}"#,
            Ok(()),
        );
        check(r#"{"type":"object"}"#, Ok(()));
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("agnet", ["agent", "guild"]), Some("agent"));
        assert_eq!(nearest("xyz", ["agent", "guild"]), None);
        assert_eq!(nearest("ids", ["id"]), Some("id"));
    }
}
