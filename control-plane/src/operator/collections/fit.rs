//! Whether the records there are fit a changed definition.

use std::collections::BTreeMap;

use sqlx::PgConnection;

use crate::operator::plan::Planned;
use crate::operator::reader::Problems;
use crate::store::collections::fit::{self, Standing};
use crate::store::collections::{Collection, Column};

/// Refuses a definition that live records would break, with how many they are.
///
/// # Errors
/// When the database does not answer.
pub(super) async fn check(
    planned: &Planned<Collection>,
    db: &mut PgConnection,
    problems: &mut Problems,
) -> sqlx::Result<()> {
    let (Some(before), after) = (&planned.before, &planned.after) else {
        return Ok(());
    };
    let Some(row) = before.row else {
        return Ok(());
    };
    // Of a column that stays, what it allows from now on counts.
    let mut columns: BTreeMap<&str, &Column> = BTreeMap::new();
    for column in before.columns.iter().chain(&after.columns) {
        columns.insert(&column.name, column);
    }
    let columns: Vec<&Column> = columns.into_values().collect();
    for standing in fit::look(db, row, &columns).await? {
        for what in misfits(before, after, &standing) {
            problems.add(&planned.at.key("columns"), what);
        }
        let unique = Some(&standing.name) == after.unique.as_ref();
        if unique && before.unique != after.unique && standing.repeated > 0 {
            problems.add(
                &planned.at.key("unique"),
                format!(
                    "{} with a value of column {} that another record has too; make them differ first",
                    records(standing.repeated),
                    standing.name
                ),
            );
        }
    }
    Ok(())
}

/// What is wrong about one column.
fn misfits(before: &Collection, after: &Collection, standing: &Standing) -> Vec<String> {
    let name = &standing.name;
    let named = |columns: &[Column]| columns.iter().find(|column| column.name == *name).cloned();
    let (old, new) = (named(&before.columns), named(&after.columns));
    let mut wrong = Vec::new();
    let Some(new) = new else {
        if standing.filled > 0 {
            wrong.push(format!(
                "column {name} is left out, and {} a value in it; clear it there first",
                holding(standing.filled)
            ));
        }
        return wrong;
    };
    if let Some(old) = &old
        && old.kind != new.kind
        && standing.filled > 0
    {
        wrong.push(format!(
            "column {name} becomes {}, and {} a value of type {}; clear it there first",
            new.kind.as_str(),
            holding(standing.filled),
            old.kind.as_str()
        ));
        return wrong;
    }
    let was_required = old.as_ref().is_some_and(|old| old.required);
    if new.required && !was_required && standing.missing > 0 {
        wrong.push(format!(
            "column {name} becomes required, and {} no value in it; fill it there first",
            holding(standing.missing)
        ));
    }
    if old.is_none_or(|old| old.values != new.values) && standing.outside > 0 {
        wrong.push(format!(
            "column {name} has other values, and {} one that is not among them; change it there first",
            holding(standing.outside)
        ));
    }
    wrong
}

fn holding(count: i64) -> String {
    if count == 1 {
        "1 record holds".to_owned()
    } else {
        format!("{count} records hold")
    }
}

fn records(count: i64) -> String {
    if count == 1 {
        "there is 1 record".to_owned()
    } else {
        format!("there are {count} records")
    }
}
