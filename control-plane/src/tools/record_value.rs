//! One value of a record: whether its column takes it, and the form in which it is stored.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::validation::{nearest, shown, storable};
use crate::store::collections::{Column, ColumnType};
use crate::store::records::decimal::{self, MAX_DIGITS, Refused};
use crate::store::records::instant::Instant;

/// Most characters of a text.
pub(super) const MAX_TEXT: usize = 32_768;
/// Most items of an array.
const MAX_ITEMS: usize = 1_000;
/// Values of a list that a problem tells; more would bury the rest.
const MAX_VALUES: usize = 50;

/// What a value is to its column.
#[derive(Debug)]
pub(super) enum Checked {
    /// `null`.
    Absent,
    /// It fits, in the form in which it is stored.
    Fits(Box<RawValue>),
    /// It doesn't: what was wrong, what is allowed.
    Problem(String),
}

/// Checks a value against its column; whether the column has to have one is not asked.
pub(super) fn check(column: &Column, value: &RawValue) -> Checked {
    if value.get() == "null" {
        return Checked::Absent;
    }
    let fits = match column.kind {
        ColumnType::Text => text(column, value),
        ColumnType::Number => number(value),
        ColumnType::Boolean => boolean(value),
        ColumnType::Datetime => datetime(value),
        ColumnType::Array => array(column, value),
    };
    match fits {
        Ok(value) => Checked::Fits(value),
        Err(problem) => Checked::Problem(problem),
    }
}

/// Whether a stored value counts as none where the column has to have one.
pub(super) fn is_missing(value: Option<&RawValue>) -> bool {
    value.is_none_or(|value| matches!(value.get(), "null" | "\"\""))
}

fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, String> {
    to_raw_value(value).map_err(|_| "is not readable".to_owned())
}

/// What was found, by its type: never a long value.
pub(super) fn found(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'"') => "a text",
        Some(b'[') => "an array",
        Some(b'{') => "an object",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

fn text(column: &Column, value: &RawValue) -> Result<Box<RawValue>, String> {
    let Ok(text) = serde_json::from_str::<String>(value.get()) else {
        return Err(format!("is {}; allowed: {}", found(value), allowed(column)));
    };
    let text = storable(text);
    if let Some(values) = &column.values
        && !values.contains(&text)
    {
        return Err(outside(&text, values));
    }
    if text.chars().count() > MAX_TEXT {
        return Err(format!(
            "has {} characters; at most 32,768 are allowed",
            text.chars().count()
        ));
    }
    raw(&text)
}

fn allowed(column: &Column) -> String {
    match (&column.values, column.kind) {
        (Some(values), ColumnType::Text) => list(values),
        (Some(values), _) => format!("an array of {}", list(values)),
        (None, ColumnType::Text) => "a text in quotes".to_owned(),
        (None, _) => "an array of texts".to_owned(),
    }
}

/// The values of a column.
pub(super) fn list(values: &[String]) -> String {
    let told = &values[..values.len().min(MAX_VALUES)];
    let mut words = told.join(", ");
    if values.len() > told.len() {
        words.push_str(&format!(" and {} more", values.len() - told.len()));
    }
    words
}

/// A value that the column's list lacks.
pub(super) fn outside(value: &str, values: &[String]) -> String {
    let mut words = match value {
        "" => "is empty".to_owned(),
        value => format!("{} is none of its values", shown(value)),
    };
    words.push_str(&format!("; allowed: {}", list(values)));
    if let Some(near) = nearest(value, values.iter().map(String::as_str)) {
        words.push_str(&format!("; did you mean {near}?"));
    }
    words
}

fn number(value: &RawValue) -> Result<Box<RawValue>, String> {
    match (decimal::parse(value.get()), found(value)) {
        (Ok(decimal), _) => {
            RawValue::from_string(decimal.shown).map_err(|_| "is not readable".to_owned())
        }
        (Err(Refused::Digits), _) => Err(format!(
            "has too many digits; allowed: a number of at most {MAX_DIGITS} digits"
        )),
        (Err(Refused::Form), "a text") => {
            Err("is a text; allowed: a number, without quotes".to_owned())
        }
        (Err(Refused::Form), other) => Err(format!("is {other}; allowed: a number")),
    }
}

fn boolean(value: &RawValue) -> Result<Box<RawValue>, String> {
    match value.get() {
        "true" | "false" => Ok(value.to_owned()),
        _ => Err(format!(
            "is {}; allowed: true or false, without quotes",
            found(value)
        )),
    }
}

/// How a time has to be written.
pub(super) const TIME_FORM: &str =
    "a time with its offset as RFC 3339 writes it, for example 2026-03-01T09:30:00Z";

fn datetime(value: &RawValue) -> Result<Box<RawValue>, String> {
    let Ok(text) = serde_json::from_str::<String>(value.get()) else {
        return Err(format!("is {}; allowed: {TIME_FORM}", found(value)));
    };
    match Instant::parse(&text) {
        Some(instant) => raw(&instant.to_string()),
        None if text.is_empty() => Err(format!("is empty; allowed: {TIME_FORM}")),
        None => Err(format!("{} is no time; allowed: {TIME_FORM}", shown(&text))),
    }
}

fn array(column: &Column, value: &RawValue) -> Result<Box<RawValue>, String> {
    let Ok(items) = serde_json::from_str::<Vec<Value>>(value.get()) else {
        return Err(format!("is {}; allowed: {}", found(value), allowed(column)));
    };
    if items.len() > MAX_ITEMS {
        return Err(format!(
            "has {} items; at most 1,000 are allowed",
            items.len()
        ));
    }
    let mut texts = Vec::new();
    let mut problems = Vec::new();
    for (nth, item) in items.into_iter().enumerate() {
        let Value::String(text) = item else {
            problems.push(format!("item {} is no text", nth + 1));
            continue;
        };
        let text = storable(text);
        match &column.values {
            Some(values) if !values.contains(&text) => {
                problems.push(format!("item {}: {}", nth + 1, outside(&text, values)));
            }
            _ => texts.push(text),
        }
    }
    if texts.iter().map(|text| text.chars().count()).sum::<usize>() > MAX_TEXT {
        problems.push("has more than 32,768 characters in all".to_owned());
    }
    if problems.is_empty() {
        return raw(&texts);
    }
    problems.truncate(5);
    let form = match column.values {
        // Each problem told the list.
        Some(_) => String::new(),
        None => format!("; allowed: {}", allowed(column)),
    };
    Err(format!("{}{form}", problems.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: ColumnType, values: &[&str]) -> Column {
        Column {
            name: "c".to_owned(),
            kind,
            required: false,
            values: (!values.is_empty()).then(|| values.iter().map(|v| (*v).to_owned()).collect()),
        }
    }

    #[track_caller]
    fn fits(kind: ColumnType, values: &[&str], given: &str, expected: Result<&str, &str>) {
        let raw = RawValue::from_string(given.to_owned()).unwrap();
        let found = match check(&column(kind, values), &raw) {
            Checked::Absent => Ok("absent".to_owned()),
            Checked::Fits(value) => Ok(value.get().to_owned()),
            Checked::Problem(problem) => Err(problem),
        };
        assert_eq!(
            found.as_ref().map(String::as_str).map_err(String::as_str),
            expected,
            "{given}"
        );
    }

    #[test]
    fn nothing_is_coerced() {
        use ColumnType::{Array, Boolean, Datetime, Number, Text};
        fits(Text, &[], "null", Ok("absent"));
        fits(
            Text,
            &[],
            "5",
            Err("is a number; allowed: a text in quotes"),
        );
        fits(
            Number,
            &[],
            "\"5\"",
            Err("is a text; allowed: a number, without quotes"),
        );
        fits(Number, &[], "true", Err("is a boolean; allowed: a number"));
        fits(
            Boolean,
            &[],
            "1",
            Err("is a number; allowed: true or false, without quotes"),
        );
        fits(
            Array,
            &[],
            "\"a\"",
            Err("is a text; allowed: an array of texts"),
        );
        fits(
            Datetime,
            &[],
            "\"2026-03-01\"",
            Err(
                "2026-03-01 is no time; allowed: a time with its offset as RFC 3339 writes it, for example 2026-03-01T09:30:00Z",
            ),
        );
    }

    #[test]
    fn values_are_stored_in_one_form() {
        use ColumnType::{Array, Boolean, Datetime, Number, Text};
        fits(Text, &[], r#""a\u0000b""#, Ok("\"a\u{fffd}b\""));
        fits(Text, &[], r#""""#, Ok(r#""""#));
        fits(Number, &[], "1.50", Ok("1.50"));
        fits(Number, &[], "15e1", Ok("150"));
        fits(Boolean, &[], "false", Ok("false"));
        fits(
            Datetime,
            &[],
            "\"2026-03-01T10:30:00+01:00\"",
            Ok("\"2026-03-01T09:30:00Z\""),
        );
        fits(Array, &[], r#"[ "a" , "" ]"#, Ok(r#"["a",""]"#));
    }

    #[test]
    fn a_value_outside_of_the_list_gets_the_list_and_the_nearest() {
        use ColumnType::{Array, Text};
        let values = ["lead", "client", "lost"];
        fits(Text, &values, "\"lead\"", Ok("\"lead\""));
        fits(
            Text,
            &values,
            "\"Cleint\"",
            Err("Cleint is none of its values; allowed: lead, client, lost; did you mean client?"),
        );
        fits(
            Text,
            &values,
            "\"\"",
            Err("is empty; allowed: lead, client, lost"),
        );
        fits(
            Array,
            &values,
            r#"["lead","x",3]"#,
            Err("item 2: x is none of its values; allowed: lead, client, lost; item 3 is no text"),
        );
        fits(Array, &values, "[]", Ok("[]"));
    }

    #[test]
    fn what_is_too_large_is_refused() {
        use ColumnType::{Array, Number, Text};
        let long = format!("\"{}\"", "é".repeat(32_769));
        fits(
            Text,
            &[],
            &long,
            Err("has 32769 characters; at most 32,768 are allowed"),
        );
        let digits = "1".repeat(61);
        fits(
            Number,
            &[],
            &digits,
            Err("has too many digits; allowed: a number of at most 60 digits"),
        );
        let items = format!("[{}]", vec!["\"\""; 1_001].join(","));
        fits(
            Array,
            &[],
            &items,
            Err("has 1001 items; at most 1,000 are allowed"),
        );
    }
}
