//! A problem of arguments in words that a model can act on: the key, what was found, what is allowed.

use std::fmt::Write as _;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::{nearest, one_line, quoted, shown};

/// Forms told side by side, and problems told of each.
const MAX_FORMS: usize = 3;

pub(super) fn describe(error: &ValidationError<'_>, schema: &Value, problems: &mut Vec<String>) {
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
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }
            if told_by_form(error, context, schema, problems) => {}
        kind => problems.push(format!("{} {}", subject(&path), rule(kind, error))),
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

fn subject(path: &str) -> &str {
    if path.is_empty() { "the object" } else { path }
}

/// Tells of the form that was most likely meant; false when none can be told.
fn told_by_form(
    error: &ValidationError<'_>,
    forms: &[Vec<ValidationError<'static>>],
    schema: &Value,
    problems: &mut Vec<String>,
) -> bool {
    let at = error.instance_path();
    let of_type: Vec<&Vec<ValidationError<'static>>> = forms
        .iter()
        .filter(|form| {
            !form.iter().any(|inner| {
                inner.instance_path() == at
                    && matches!(inner.kind(), ValidationErrorKind::Type { .. })
            })
        })
        .collect();
    if of_type.is_empty() {
        let mut allowed: Vec<String> = Vec::new();
        for inner in forms.iter().flatten() {
            if let ValidationErrorKind::Type { kind } = inner.kind() {
                let words = types(kind);
                if !allowed.contains(&words) {
                    allowed.push(words);
                }
            }
        }
        let found = kind_of(error.instance());
        let path = place(at.as_str());
        problems.push(format!(
            "{} is {found}; allowed: {}",
            subject(&path),
            allowed.join(" or ")
        ));
        return true;
    }
    // A form whose key names another kind of thing was not meant.
    let named = |form: &&&Vec<ValidationError<'static>>| {
        !form
            .iter()
            .any(|inner| matches!(inner.kind(), ValidationErrorKind::Constant { .. }))
    };
    let of_kind: Vec<_> = of_type.iter().filter(named).copied().collect();
    let meant = if of_kind.is_empty() { of_type } else { of_kind };
    if let [one] = meant.as_slice() {
        for inner in *one {
            describe(inner, schema, problems);
        }
        return true;
    }
    if meant.len() > MAX_FORMS {
        return false;
    }
    let told: Vec<String> = meant
        .iter()
        .map(|form| {
            let mut inner = Vec::new();
            for error in form.iter().take(MAX_FORMS) {
                describe(error, schema, &mut inner);
            }
            inner.join(" and ")
        })
        .collect();
    problems.push(format!(
        "of these one has to be mended: {}",
        told.join(", or ")
    ));
    true
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(set) => {
            let words: Vec<String> = set.iter().map(|one| one.to_string()).collect();
            words.join(" or ")
        }
    }
}

/// What was found, by its type and size, and what is allowed; never a long value itself.
fn rule(kind: &ValidationErrorKind, error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as K;
    let found = kind_of(error.instance());
    let sized = || format!("is {}", sized(error.instance()));
    match kind {
        K::Type { kind } => format!("is {found}; allowed: {}", types(kind)),
        K::Enum { options } => {
            let mut words = format!("is {found} that is not allowed; allowed: {}", list(options));
            if let Some(near) = near(error.instance(), options) {
                let _ = write!(words, "; did you mean {}?", quoted(near));
            }
            words
        }
        K::Constant { expected_value } => {
            format!(
                "is {found} that is not allowed; allowed: {}",
                shown(&expected_value.to_string())
            )
        }
        K::Minimum { limit } => format!("{}; allowed: at least {limit}", sized()),
        K::Maximum { limit } => format!("{}; allowed: at most {limit}", sized()),
        K::ExclusiveMinimum { limit } => format!("{}; allowed: more than {limit}", sized()),
        K::ExclusiveMaximum { limit } => format!("{}; allowed: less than {limit}", sized()),
        K::MultipleOf { multiple_of } => {
            format!("{}; allowed: multiples of {multiple_of}", sized())
        }
        K::MinLength { limit } | K::MinItems { limit } | K::MinProperties { limit } => {
            format!("{}; allowed: at least {limit}", sized())
        }
        K::MaxLength { limit } | K::MaxItems { limit } | K::MaxProperties { limit } => {
            format!("{}; allowed: at most {limit}", sized())
        }
        K::Pattern { pattern } => format!("is {found} that does not match {}", shown(pattern)),
        K::BacktrackLimitExceeded { .. } | K::RegexEngineFailure { .. } => {
            format!("is {found} that can't be matched with its pattern in time; send a shorter one")
        }
        K::Format { format } => format!("is {found} that is not in the format {}", shown(format)),
        K::UniqueItems => "has an item twice; allowed: each once".to_owned(),
        K::FalseSchema => "is not allowed".to_owned(),
        K::AnyOf { .. } | K::OneOfNotValid { .. } => {
            format!("is {found} that fits none of the allowed forms")
        }
        K::OneOfMultipleValid { .. } => {
            format!(
                "is {found} that fits more than one of the allowed forms, of which it has to fit one"
            )
        }
        _ => one_line(&error.masked_with("the value").to_string()),
    }
}

/// A value by its type and size; a short number itself.
fn sized(value: &Value) -> String {
    match value {
        Value::Number(number) if number.to_string().len() <= 24 => number.to_string(),
        Value::String(text) => format!("a string of {} characters", text.chars().count()),
        Value::Array(list) => format!("an array of {} items", list.len()),
        Value::Object(map) => format!("an object of {} keys", map.len()),
        other => kind_of(other).to_owned(),
    }
}

/// The allowed word that a misspelt one most likely means.
fn near<'a>(found: &Value, options: &'a Value) -> Option<&'a str> {
    let words = options.as_array()?.iter().filter_map(Value::as_str);
    nearest(found.as_str()?, words)
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
