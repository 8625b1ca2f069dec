//! `where`, `since` and `order` of the record tools, read against a definition.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ToolError;
use super::record_body::no_column;
use super::record_value::{TIME_FORM, found, outside};
use super::validation::{shown, storable};
use crate::store::collections::{Column, ColumnType};
use crate::store::records::body::Body;
use crate::store::records::conditions::{Condition, Key, Term};
use crate::store::records::decimal::{self, Decimal};
use crate::store::records::instant::{self, Instant, Moment};
use crate::store::records::reach::Definition;

/// Most columns of a `where`.
const MAX_COLUMNS: usize = 8;
/// Most characters of a term.
const MAX_TERM: usize = 200;
/// Names that every record has beside its columns.
const OWN: [&str; 3] = ["id", "created_at", "updated_at"];

/// What a record is sorted by.
#[derive(Debug, Deserialize)]
pub(super) struct Order {
    column: String,
    #[serde(default)]
    direction: Direction,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Direction {
    #[default]
    Asc,
    Desc,
}

/// Reads `where`.
///
/// # Errors
/// 422 with every problem.
pub(super) fn conditions(
    definition: &Definition,
    given: Option<&Body>,
) -> Result<Vec<Condition>, ToolError> {
    let Some(given) = given else {
        return Ok(Vec::new());
    };
    let mut problems = Vec::new();
    let mut conditions = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, term) in given.iter() {
        if !seen.insert(name) {
            problems.push(format!("where.{} is given more than once", shown(name)));
            continue;
        }
        match of_column(definition, name, term) {
            Ok(term) => conditions.push(Condition {
                column: name.to_owned(),
                term,
            }),
            Err(problem) => problems.push(format!("where.{} {problem}", shown(name))),
        }
    }
    if seen.len() > MAX_COLUMNS {
        problems.insert(
            0,
            format!(
                "where has {} columns; at most {MAX_COLUMNS} are allowed",
                seen.len()
            ),
        );
    }
    problems.truncate(20);
    match problems.is_empty() {
        true => Ok(conditions),
        false => Err(ToolError::invalid(problems.join("; "))),
    }
}

fn of_column(definition: &Definition, name: &str, term: &RawValue) -> Result<Term, String> {
    if let Ok(text) = serde_json::from_str::<String>(term.get()) {
        if text.is_empty() {
            return Err("is empty; give what to look for, null for a missing value, or leave the column out".to_owned());
        }
        let characters = text.chars().count();
        if characters > MAX_TERM {
            return Err(format!(
                "has {characters} characters; at most {MAX_TERM} are allowed"
            ));
        }
    }
    let is_null = term.get() == "null";
    match (name, definition.column(name)) {
        ("id" | "created_at" | "updated_at", _) if is_null => Ok(Term::Nothing),
        ("id", _) => id(term),
        ("created_at" | "updated_at", _) => {
            let (low, high) = times(term)?;
            Ok(Term::Stamped(low, high))
        }
        (_, None) => Err(no_column(definition, name, &OWN)),
        (_, Some(_)) if is_null => Ok(Term::Missing),
        (_, Some(column)) => match column.kind {
            ColumnType::Text => text(column, term, false),
            ColumnType::Array => text(column, term, true),
            ColumnType::Number => numbers(term),
            ColumnType::Datetime => {
                let (low, high) = times(term)?;
                Ok(Term::Times(low, high))
            }
            ColumnType::Boolean => boolean(term),
        },
    }
}

fn text(column: &Column, term: &RawValue, array: bool) -> Result<Term, String> {
    let Ok(text) = serde_json::from_str::<String>(term.get()) else {
        return Err(format!(
            "is {}; allowed: a text, or null for a missing value",
            found(term)
        ));
    };
    // As it would be stored.
    let text = storable(text);
    let Some(values) = &column.values else {
        return Ok(Term::Part { text, array });
    };
    if !values.contains(&text) {
        return Err(outside(&text, values));
    }
    Ok(Term::Exactly { value: text, array })
}

/// The text inside of quotes, else the term as it is written.
fn written(term: &RawValue) -> String {
    serde_json::from_str(term.get()).unwrap_or_else(|_| term.get().to_owned())
}

fn id(term: &RawValue) -> Result<Term, String> {
    let text = written(term);
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
    match (
        plain && (text == "0" || !text.starts_with('0')),
        found(term),
    ) {
        // One too large for any record finds none.
        (true, "a text" | "a number") => Ok(text.parse().map_or(Term::Nothing, Term::Id)),
        (_, "a text" | "a number") => Err(format!(
            "{} is no id; allowed: a whole number",
            shown(&text)
        )),
        (_, other) => Err(format!("is {other}; allowed: a whole number")),
    }
}

fn boolean(term: &RawValue) -> Result<Term, String> {
    match written(term).as_str() {
        "true" => Ok(Term::Boolean(true)),
        "false" => Ok(Term::Boolean(false)),
        _ => Err(format!(
            "is {}; allowed: true, false, or null for a missing value",
            match found(term) {
                "a text" => "another text",
                other => other,
            }
        )),
    }
}

/// What stands at `gte` and `lte`; none when the term is no object.
type Ends = (Option<Box<RawValue>>, Option<Box<RawValue>>);

fn ends(term: &RawValue) -> Result<Option<Ends>, String> {
    if found(term) != "an object" {
        return Ok(None);
    }
    let body: Body = serde_json::from_str(term.get()).map_err(|error| error.to_string())?;
    let mut seen = BTreeSet::new();
    for (name, value) in body.iter() {
        if !["gte", "lte"].contains(&name) {
            return Err(format!("has the key {}; allowed: gte, lte", shown(name)));
        }
        if !seen.insert(name) {
            return Err(format!("has {name} more than once"));
        }
        if found(value) == "null" {
            return Err(format!("has null at {name}; leave the key out instead"));
        }
    }
    if seen.is_empty() {
        return Err("is an empty object; allowed: gte, lte or both".to_owned());
    }
    Ok(Some((
        body.get("gte").map(ToOwned::to_owned),
        body.get("lte").map(ToOwned::to_owned),
    )))
}

fn number(term: &RawValue) -> Result<Decimal, String> {
    let text = written(term);
    match (found(term), decimal::parse(&text)) {
        ("a text" | "a number", Ok(number)) => Ok(number),
        ("a text" | "a number", Err(_)) => Err(format!(
            "{} is no number of at most {} digits; allowed: a number, {{\"gte\":…,\"lte\":…}}, or null for a missing value",
            shown(&text),
            decimal::MAX_DIGITS
        )),
        (other, _) => Err(format!(
            "is {other}; allowed: a number, {{\"gte\":…,\"lte\":…}}, or null for a missing value"
        )),
    }
}

fn numbers(term: &RawValue) -> Result<Term, String> {
    let Some((low, high)) = ends(term)? else {
        return Ok(Term::Number(number(term)?));
    };
    let low = low.as_deref().map(number).transpose()?;
    let high = high.as_deref().map(number).transpose()?;
    if let (Some(low), Some(high)) = (&low, &high)
        && is_less(&high.canonical, &low.canonical)
    {
        return Err(format!(
            "has gte {} above lte {}; no number is in between",
            low.shown, high.shown
        ));
    }
    Ok(Term::Numbers(low, high))
}

/// Whether one canonical decimal is less than another.
fn is_less(one: &str, other: &str) -> bool {
    let (one_size, other_size) = (one.strip_prefix('-'), other.strip_prefix('-'));
    match (one_size, other_size) {
        (Some(_), None) => true,
        (None, Some(_)) => false,
        (Some(one), Some(other)) => is_smaller(other, one),
        (None, None) => is_smaller(one, other),
    }
}

/// The same without signs: the longer whole part is larger, else digit by digit.
fn is_smaller(one: &str, other: &str) -> bool {
    let parts = |text: &str| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        (whole.len(), whole.to_owned(), fraction.to_owned())
    };
    parts(one) < parts(other)
}

fn moment(term: &RawValue) -> Result<Moment, String> {
    let text = match found(term) {
        "a text" => written(term),
        other => {
            return Err(format!(
                "is {other}; allowed: {TIME_FORM}, a date for that day of UTC, {{\"gte\":…,\"lte\":…}}, or null for a missing value"
            ));
        }
    };
    instant::parse(&text).ok_or_else(|| {
        format!(
            "{} is no time; allowed: {TIME_FORM}, or a date for that day of UTC",
            shown(&text)
        )
    })
}

const fn first(moment: Moment) -> Instant {
    match moment {
        Moment::At(instant) | Moment::Day(instant, _) => instant,
    }
}

fn last(moment: Moment) -> Instant {
    match moment {
        Moment::At(instant) => instant,
        Moment::Day(_, next) => next.plus_micros(-1),
    }
}

fn times(term: &RawValue) -> Result<(Option<Instant>, Option<Instant>), String> {
    let Some((low, high)) = ends(term)? else {
        let moment = moment(term)?;
        return Ok((Some(first(moment)), Some(last(moment))));
    };
    let low = low.as_deref().map(moment).transpose()?.map(first);
    let high = high.as_deref().map(moment).transpose()?.map(last);
    if let (Some(low), Some(high)) = (low, high)
        && low > high
    {
        return Err(format!(
            "has gte {low} after lte {high}; no time is in between"
        ));
    }
    Ok((low, high))
}

/// Reads `since`: an instant, or a date for the beginning of that day of UTC.
///
/// # Errors
/// 422 with what is allowed.
pub(super) fn since(given: Option<&str>) -> Result<Option<Instant>, ToolError> {
    let read = |text: &str| {
        instant::parse(text).map(first).ok_or_else(|| {
            ToolError::invalid(format!(
                "since {} is no time; allowed: {TIME_FORM}, or a date",
                shown(text)
            ))
        })
    };
    given.map(read).transpose()
}

/// Reads `order`; without one a list since a time goes by its changes, any other by id.
///
/// # Errors
/// 422 with the columns that sort.
pub(super) fn order(
    definition: &Definition,
    given: Option<&Order>,
    since: bool,
) -> Result<Vec<(Key, bool)>, ToolError> {
    let Some(Order { column, direction }) = given else {
        return Ok(match since {
            true => vec![(Key::Own("updated_at"), false)],
            false => Vec::new(),
        });
    };
    let own = OWN.into_iter().find(|own| own == column);
    let key = match (own, definition.column(column)) {
        (Some(own), _) => Key::Own(own),
        (None, Some(declared)) if declared.kind == ColumnType::Array => {
            return Err(ToolError::invalid(format!(
                "order.column {column} is an array, which does not sort; allowed: {}",
                sortable(definition).join(", ")
            )));
        }
        (None, Some(declared)) => Key::Column(column.clone(), declared.kind),
        (None, None) => {
            return Err(ToolError::invalid(format!(
                "order.column {} {}",
                shown(column),
                no_column(definition, column, &OWN)
            )));
        }
    };
    Ok(vec![(key, *direction == Direction::Desc)])
}

fn sortable(definition: &Definition) -> Vec<&str> {
    let columns = definition.columns.iter();
    let declared = columns.filter(|column| column.kind != ColumnType::Array);
    declared
        .map(|column| column.name.as_str())
        .chain(OWN)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::record_body::tests::contacts;
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: Result<&str, &str>) {
        let given: Body = serde_json::from_str(given).unwrap();
        let found = conditions(&contacts(), Some(&given))
            .map(|all| {
                let words = |one: &Condition| format!("{} {:?}", one.column, one.term);
                all.iter().map(words).collect::<Vec<_>>().join("; ")
            })
            .map_err(|error| error.to_string());
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            _ => panic!("{found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_term_is_read_by_the_type_of_its_column() {
        check(
            r#"{"email":"Bob","stage":"lead","tags":"vip"}"#,
            Ok(
                r#"email Part { text: "Bob", array: false }; stage Exactly { value: "lead", array: false }; tags Part { text: "vip", array: true }"#,
            ),
        );
        check(r#"{"vip":"true"}"#, Ok("vip Boolean(true)"));
        check(r#"{"vip":false}"#, Ok("vip Boolean(false)"));
        check(r#"{"id":"7"}"#, Ok("id Id(7)"));
        check(r#"{"id":99999999999999999999}"#, Ok("id Nothing"));
        check(r#"{"stage":null}"#, Ok("stage Missing"));
        check(
            r#"{"amount":"1.50"}"#,
            Ok(r#"amount Number(Decimal { shown: "1.50", canonical: "1.5" })"#),
        );
    }

    #[test]
    fn what_a_column_does_not_take_is_refused_with_what_it_does() {
        check(
            r#"{"stage":"open"}"#,
            Err("422 where.stage open is none of its values; allowed: lead, client, lost"),
        );
        check(
            r#"{"emial":"x"}"#,
            Err(
                "where.emial is no column of contacts; allowed: email, stage, amount, met_at, tags, vip, id, created_at, updated_at; did you mean email?",
            ),
        );
        check(r#"{"email":""}"#, Err("where.email is empty"));
        check(
            r#"{"email":7}"#,
            Err("where.email is a number; allowed: a text"),
        );
        check(
            r#"{"amount":{"gte":10,"lte":9.5}}"#,
            Err("where.amount has gte 10 above lte 9.5"),
        );
        check(
            r#"{"amount":{"gte":-9,"lte":-10}}"#,
            Err("has gte -9 above"),
        );
        check(r#"{"amount":{}}"#, Err("is an empty object"));
        check(
            r#"{"amount":{"gt":1}}"#,
            Err("has the key gt; allowed: gte, lte"),
        );
        check(r#"{"amount":" 5"}"#, Err("is no number"));
        check(r#"{"amount":"5 EUR"}"#, Err("is no number"));
        check(r#"{"vip":"yes"}"#, Err("allowed: true, false"));
        check(r#"{"id":1.5}"#, Err("is no id"));
        check(r#"{"met_at":"soon"}"#, Err("soon is no time"));
        check(
            r#"{"met_at":{"gte":"2026-03-02","lte":"2026-03-01"}}"#,
            Err("has gte 2026-03-02T00:00:00Z after lte 2026-03-01T23:59:59.999999Z"),
        );
        check(
            &format!("{{\"email\":\"{}\"}}", "é".repeat(201)),
            Err("has 201 characters; at most 200"),
        );
        let nine: Vec<String> = (0..9).map(|n| format!("\"c{n}\":1")).collect();
        check(
            &format!("{{{}}}", nine.join(",")),
            Err("where has 9 columns; at most 8 are allowed; where.c0 is no column"),
        );
    }

    #[test]
    fn a_bare_date_is_a_day_and_both_ends_count() {
        let given = serde_json::from_str(r#"{"met_at":"2026-03-01"}"#).unwrap();
        let all = conditions(&contacts(), Some(&given)).unwrap();
        let Term::Times(Some(low), Some(high)) = all[0].term else {
            panic!("{all:?}");
        };
        assert_eq!(low.to_string(), "2026-03-01T00:00:00Z");
        assert_eq!(high.to_string(), "2026-03-01T23:59:59.999999Z");
    }

    #[test]
    fn a_list_sorts_by_what_sorts() {
        let order = |column: &str, since| {
            let given = (!column.is_empty()).then(|| Order {
                column: column.to_owned(),
                direction: Direction::Desc,
            });
            order(&contacts(), given.as_ref(), since).map_err(|error| error.to_string())
        };
        assert_eq!(order("", false), Ok(vec![]));
        assert_eq!(order("", true), Ok(vec![(Key::Own("updated_at"), false)]));
        assert_eq!(order("id", true), Ok(vec![(Key::Own("id"), true)]));
        let Err(refused) = order("tags", false) else {
            panic!("an array sorts");
        };
        assert!(refused.contains("allowed: email, stage, amount, met_at, vip, id"));
        assert!(
            order("emial", false)
                .unwrap_err()
                .contains("did you mean email?")
        );
    }
}
