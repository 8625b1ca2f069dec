//! The body of a record as it is given: every problem at once, and what is stored of it.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::value::RawValue;

use super::record_value::{Checked, check, is_missing};
use super::validation::{nearest, shown};
use crate::store::records::body::Body;
use crate::store::records::reach::Definition;
use crate::store::records::writing::Live;
use crate::store::time::rfc3339;

/// Most bytes of a body as JSON.
const MAX_BYTES: usize = 262_144;
/// Problems told one by one; more would bury the first.
const MAX_TOLD: usize = 100;

/// A record as the tools answer it.
#[derive(Debug, Serialize)]
pub struct Shown {
    collection: String,
    /// Its id.
    pub id: i64,
    created_at: String,
    updated_at: String,
    body: Body,
}

impl Shown {
    /// The record with its columns in the order of the definition.
    #[must_use]
    pub fn of(definition: &Definition, live: Live) -> Self {
        Self {
            collection: definition.name.clone(),
            id: live.id,
            created_at: rfc3339(live.created_ms),
            updated_at: rfc3339(live.updated_ms),
            body: live.body.ordered(&definition.columns),
        }
    }
}

/// What a caller gave, read against the definition.
#[derive(Debug, Default)]
pub struct Given {
    /// Columns with values that fit.
    pub set: Body,
    /// Columns given as `null`.
    pub cleared: Vec<String>,
    /// What is wrong, a line each.
    pub problems: Vec<String>,
}

/// Reads a body.
#[must_use]
pub fn read(definition: &Definition, body: &Body) -> Given {
    let mut given = Given::default();
    let mut seen = BTreeSet::new();
    for (name, value) in body.iter() {
        if !seen.insert(name) {
            given
                .problems
                .push(format!("{}: is given more than once", shown(name)));
            continue;
        }
        let Some(column) = definition.column(name) else {
            given.problems.push(format!(
                "{}: {}",
                shown(name),
                no_column(definition, name, &[])
            ));
            continue;
        };
        match check(column, value) {
            Checked::Absent => given.cleared.push(name.to_owned()),
            Checked::Fits(value) => given.set.set(name, value),
            Checked::Problem(problem) => given.problems.push(format!("{name}: {problem}")),
        }
    }
    given
}

/// The words for a column that a collection lacks; `own` are further names that would do.
#[must_use]
pub fn no_column(definition: &Definition, name: &str, own: &[&str]) -> String {
    let columns = definition.columns.iter().map(|column| column.name.as_str());
    let names: Vec<&str> = columns.chain(own.iter().copied()).collect();
    let mut words = format!(
        "is no column of {}; allowed: {}",
        definition.name,
        names.join(", ")
    );
    if let Some(near) = nearest(name, names) {
        words.push_str(&format!("; did you mean {near}?"));
    }
    words
}

/// A problem for each column that has to have a value and has none, unless the problems
/// already name the column.
pub fn missing(definition: &Definition, body: &Body, problems: &mut Vec<String>) {
    for column in definition.columns.iter().filter(|column| column.required) {
        let named = format!("{}: ", column.name);
        if is_missing(body.get(&column.name)) && !problems.iter().any(|p| p.starts_with(&named)) {
            let what = match body.get(&column.name).map(RawValue::get) {
                Some("\"\"") => "is empty; a value is required",
                _ => "is missing (required)",
            };
            problems.push(format!("{named}{what}"));
        }
    }
}

/// A problem when a body is too large as a whole.
pub fn too_large(body: &Body, problems: &mut Vec<String>) {
    let bytes: usize = body
        .iter()
        .map(|(name, value)| name.len() + value.get().len() + 4)
        .sum();
    if bytes > MAX_BYTES {
        problems.push(format!(
            "body: has {bytes} bytes; at most 262,144 are allowed"
        ));
    }
}

/// What the present definition would refuse of the stored values in columns that are not touched.
#[must_use]
pub fn misfits(definition: &Definition, stored: &Body, touched: &Given) -> Vec<String> {
    let is_touched = |name: &str| {
        touched.set.get(name).is_some() || touched.cleared.iter().any(|cleared| cleared == name)
    };
    let mut found = Vec::new();
    for (name, value) in stored.iter().filter(|(name, _)| !is_touched(name)) {
        match definition.column(name) {
            None => found.push(format!("{name}: {}", no_column(definition, name, &[]))),
            Some(column) => {
                if let Checked::Problem(problem) = check(column, value) {
                    found.push(format!("{name}: the stored value {problem}"));
                }
            }
        }
    }
    for column in definition.columns.iter().filter(|column| column.required) {
        if is_missing(stored.get(&column.name)) && !is_touched(&column.name) {
            found.push(format!("{}: is missing (required)", column.name));
        }
    }
    found
}

/// The stored body with what was given in it.
#[must_use]
pub fn merged(stored: &Body, given: &Given) -> Body {
    let mut body = stored.clone();
    for (name, value) in given.set.iter() {
        body.set(name, value.to_owned());
    }
    body
}

/// `record rejected: <n> problems`, then a line each.
#[must_use]
pub fn rejection(problems: &[String]) -> String {
    let mut text = format!("record rejected: {} problems", problems.len());
    for problem in problems.iter().take(MAX_TOLD) {
        text.push('\n');
        text.push_str(problem);
    }
    if problems.len() > MAX_TOLD {
        text.push_str(&format!("\nand {} more", problems.len() - MAX_TOLD));
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::store::access::Access;
    use crate::store::collections::{Column, ColumnType};

    /// The collection of the contract's document.
    pub(in crate::tools) fn contacts() -> Definition {
        let column = |name: &str, kind, required, values: &[&str]| Column {
            name: name.to_owned(),
            kind,
            required,
            values: (!values.is_empty()).then(|| values.iter().map(|v| (*v).to_owned()).collect()),
        };
        Definition {
            id: 1,
            name: "contacts".to_owned(),
            unique: Some("email".to_owned()),
            columns: vec![
                column("email", ColumnType::Text, true, &[]),
                column(
                    "stage",
                    ColumnType::Text,
                    false,
                    &["lead", "client", "lost"],
                ),
                column("amount", ColumnType::Number, false, &[]),
                column("met_at", ColumnType::Datetime, false, &[]),
                column("tags", ColumnType::Array, false, &[]),
                column("vip", ColumnType::Boolean, false, &[]),
            ],
            access: Access::Write,
        }
    }

    #[track_caller]
    fn check(body: &str, expected: &[&str]) {
        let given = read(&contacts(), &serde_json::from_str(body).unwrap());
        let mut problems = given.problems;
        missing(&contacts(), &given.set, &mut problems);
        assert_eq!(problems, expected);
    }

    #[test]
    fn every_problem_is_told_at_once() {
        check(r#"{"email":"a@b.c","amount":0,"vip":false}"#, &[]);
        check(
            r#"{"emial":"a","stage":"Led","amount":"5"}"#,
            &[
                "emial: is no column of contacts; allowed: email, stage, amount, met_at, tags, vip; did you mean email?",
                "stage: Led is none of its values; allowed: lead, client, lost; did you mean lead?",
                "amount: is a text; allowed: a number, without quotes",
                "email: is missing (required)",
            ],
        );
        check(r#"{"email":null}"#, &["email: is missing (required)"]);
        check(r#"{"email":""}"#, &["email: is empty; a value is required"]);
        check(
            r#"{"email":5}"#,
            &["email: is a number; allowed: a text in quotes"],
        );
        check(
            r#"{"email":"a","email":"b"}"#,
            &["email: is given more than once"],
        );
    }

    #[test]
    fn a_rejection_counts_its_problems() {
        assert_eq!(
            rejection(&["a: x".to_owned(), "b: y".to_owned()]),
            "record rejected: 2 problems\na: x\nb: y"
        );
    }

    #[test]
    fn a_body_has_an_end() {
        let text = serde_json::to_string(&"é".repeat(131_060)).unwrap();
        let body = |text: &str| serde_json::from_str(&format!("{{\"email\":{text}}}")).unwrap();
        let mut problems = Vec::new();
        too_large(&body(&text), &mut problems);
        assert_eq!(problems, [""; 0]);
        too_large(&body(&text.replace("éé", "éééé")), &mut problems);
        assert_eq!(problems.len(), 1, "{problems:?}");
    }

    #[test]
    fn untouched_values_that_would_be_refused_now_are_told() {
        let stored = serde_json::from_str(r#"{"stage":"old","amount":1,"gone":"x"}"#).unwrap();
        let touched = read(
            &contacts(),
            &serde_json::from_str(r#"{"amount":2}"#).unwrap(),
        );
        assert_eq!(
            misfits(&contacts(), &stored, &touched),
            [
                "stage: the stored value old is none of its values; allowed: lead, client, lost",
                "gone: is no column of contacts; allowed: email, stage, amount, met_at, tags, vip",
                "email: is missing (required)",
            ]
        );
    }
}
