//! The columns of a collection as an entry has them.

use std::collections::BTreeSet;

use crate::operator::node::Node;
use crate::operator::reader::{Place, Problems, Table, as_text};
use crate::store::collections::{Column, ColumnType};
use crate::tools::validation::shown;

/// Most columns of a collection.
const MAX_COLUMNS: usize = 64;
/// Most bytes of a name.
const MAX_NAME: usize = 63;
/// Names that records and paths use themselves.
const RESERVED: [&str; 5] = ["id", "created_at", "updated_at", "collection", "note"];
/// Most values of a column, and most characters of one.
const MAX_VALUES: usize = 200;
const MAX_VALUE: usize = 200;

/// The name of a collection or column, `one` of them.
pub(super) fn name(table: &Table<'_>, one: &str, problems: &mut Problems) -> Option<String> {
    let (at, text) = table.text("name", problems)?;
    let mut bytes = text.bytes();
    let formed = text.len() <= MAX_NAME
        && bytes.next().is_some_and(|byte| byte.is_ascii_lowercase())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !formed {
        problems.add(
            &at,
            format!(
                "{} is no name of a {one}; a name opens with a lower-case letter and has lower-case letters, digits and underscores, at most {MAX_NAME} characters",
                shown(text)
            ),
        );
        return None;
    }
    if RESERVED.contains(&text) {
        problems.add(
            &at,
            format!(
                "{text} is reserved, as are {}; choose another name",
                RESERVED
                    .iter()
                    .filter(|word| **word != text)
                    .copied()
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        );
        return None;
    }
    Some(text.to_owned())
}

/// Reads `columns` of an entry; `None` when anything is wrong with them.
pub(super) fn parse(table: &Table<'_>, problems: &mut Problems) -> Option<Vec<Column>> {
    let items = table.list("columns", problems)?;
    let before = problems.count();
    let at = table
        .get("columns")
        .map_or_else(|| table.at.clone(), |(at, _)| at);
    if items.is_empty() {
        problems.add(&at, "is empty; a collection has at least one column");
    }
    if items.len() > MAX_COLUMNS {
        problems.add(
            &at,
            format!(
                "has {} columns; at most {MAX_COLUMNS} are allowed",
                items.len()
            ),
        );
        return None;
    }
    let mut names = BTreeSet::new();
    let mut columns = Vec::new();
    for (at, node) in items {
        let keys = ["name", "type", "required", "values"];
        if let Some(table) = Table::open(at, node, &keys, problems) {
            columns.extend(column(&table, &mut names, problems));
        }
    }
    (problems.count() == before).then_some(columns)
}

fn column(
    table: &Table<'_>,
    names: &mut BTreeSet<String>,
    problems: &mut Problems,
) -> Option<Column> {
    for key in ["name", "type"] {
        if table.get(key).is_none() {
            problems.add(&table.at.key(key), "is missing (required)");
        }
    }
    let name = name(table, "column", problems);
    if let Some(name) = &name
        && !names.insert(name.clone())
    {
        problems.add(
            &table.at.key("name"),
            format!("{name} is the name of another column of this collection"),
        );
    }
    let words = ColumnType::ALL.map(ColumnType::as_str);
    let kind = table.word("type", &words, problems).and_then(|word| {
        ColumnType::ALL
            .into_iter()
            .find(|kind| kind.as_str() == word)
    });
    let required = table.boolean("required", problems).unwrap_or(false);
    let given = table.list("values", problems);
    if let (Some((at, _)), Some(kind)) = (table.get("values"), kind)
        && !kind.takes_values()
    {
        problems.add(
            &at,
            format!(
                "stands on a column of type {}; columns of type text and array may list values",
                kind.as_str()
            ),
        );
    }
    let at = table.at.key("values");
    let values = given.map(|items| values(&at, items, problems));
    Some(Column {
        name: name?,
        kind: kind?,
        required,
        values,
    })
}

fn values(at: &Place, items: Vec<(Place, &Node)>, problems: &mut Problems) -> Vec<String> {
    if items.is_empty() || items.len() > MAX_VALUES {
        problems.add(
            at,
            format!(
                "has {} values; 1 to {MAX_VALUES} are allowed, and without the list any value is",
                items.len()
            ),
        );
        return Vec::new();
    }
    let mut values: Vec<String> = Vec::new();
    for (at, node) in items {
        let Some(text) = as_text(&at, node, problems) else {
            continue;
        };
        if text.is_empty() || text.chars().count() > MAX_VALUE {
            problems.add(
                &at,
                format!("is empty or too long; 1 to {MAX_VALUE} characters are allowed"),
            );
        } else if values.iter().any(|value| value == text) {
            problems.add(&at, format!("{} stands in the list already", shown(text)));
        } else {
            values.push(text.to_owned());
        }
    }
    values
}
