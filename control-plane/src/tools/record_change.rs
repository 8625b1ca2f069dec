//! Adding, changing and bringing back records: one set of rules, whoever asks.

use sqlx::PgConnection;

use super::ToolError;
use super::record_body::{Given, merged, misfits, missing, read, rejection, too_large};
use super::record_value::is_missing;
use crate::store::records::body::Body;
use crate::store::records::reach::Definition;
use crate::store::records::writing::{self, Live, Written};

/// Tries while others add and remove the same unique value.
const TRIES: u32 = 20;

/// Why a record did not change.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// What is wrong with the body, a line each.
    #[error("{}", rejection(.0))]
    Rejected(Vec<String>),
    /// There is nothing in the body.
    #[error("body is empty; give at least one column to change, null to clear it")]
    Empty,
    /// The collection has no such live record.
    #[error("no record {id} in collection {collection}")]
    Absent {
        /// The id that was asked for.
        id: i64,
        /// The collection's name.
        collection: String,
    },
    /// Others took and freed the unique value again and again.
    #[error("the unique value was taken and freed by others {TRIES} times")]
    Contended,
    /// The database.
    #[error("the database refused a statement about a record")]
    Store(#[from] sqlx::Error),
}

impl From<ChangeError> for ToolError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Rejected(_) | ChangeError::Empty => Self::invalid(error),
            ChangeError::Absent { .. } => Self::not_found(error),
            ChangeError::Store(error) => error.into(),
            contended @ ChangeError::Contended => Self::failed(contended),
        }
    }
}

/// What adding left behind.
#[derive(Debug)]
pub struct Added {
    /// The record.
    pub record: Live,
    /// Whether it was there and the body went into it.
    pub merged: bool,
}

/// Adds a record, or merges the body into the live one that has its unique value.
///
/// # Errors
/// [`ChangeError::Rejected`] with every problem.
pub async fn add(
    db: &mut PgConnection,
    definition: &Definition,
    body: &Body,
    actor: &str,
) -> Result<Added, ChangeError> {
    let given = read(definition, body);
    for _ in 0..TRIES {
        let held = writing::hold_unique(db, definition, &given.set).await?;
        let there = held.is_some();
        let written = match held {
            Some(live) => merge(db, definition, &given, &live, actor).await?,
            None => insert(db, definition, &given).await?,
        };
        if let Written::Stored(record) = written {
            return Ok(Added {
                record: *record,
                merged: there,
            });
        }
    }
    Err(ChangeError::Contended)
}

async fn insert(
    db: &mut PgConnection,
    definition: &Definition,
    given: &Given,
) -> Result<Written, ChangeError> {
    let mut problems = given.problems.clone();
    missing(definition, &given.set, &mut problems);
    too_large(&given.set, &mut problems);
    fine(problems)?;
    Ok(writing::insert(db, definition, &given.set).await?)
}

async fn merge(
    db: &mut PgConnection,
    definition: &Definition,
    given: &Given,
    live: &Live,
    actor: &str,
) -> Result<Written, ChangeError> {
    let body = merged(&live.body, given);
    // `null` is absent here: what is stored there stays, and is looked at like all of it.
    let touched = Given {
        set: given.set.clone(),
        ..Given::default()
    };
    let mut problems = given.problems.clone();
    problems.extend(misfits(definition, &live.body, &touched));
    missing(definition, &body, &mut problems);
    too_large(&body, &mut problems);
    fine(problems)?;
    Ok(writing::replace(db, definition, live.id, &body, actor).await?)
}

/// Merges a body into one live record; answers it, and what the definition would refuse of
/// the values in other columns.
///
/// # Errors
/// [`ChangeError`], every problem at once.
pub async fn update(
    db: &mut PgConnection,
    definition: &Definition,
    id: i64,
    body: &Body,
    actor: &str,
) -> Result<(Live, Vec<String>), ChangeError> {
    let Some(live) = writing::hold_live(db, definition, id).await? else {
        return Err(absent(definition, id));
    };
    if body.iter().next().is_none() {
        return Err(ChangeError::Empty);
    }
    let given = read(definition, body);
    let (changed, problems) = changed(definition, &live.body, &given);
    let stored = store(
        db,
        definition,
        (live.id, &changed),
        &given.set,
        problems,
        actor,
    )
    .await?;
    Ok((stored, misfits(definition, &live.body, &given)))
}

/// Gives a record, live or removed, a whole body; it lives afterwards.
///
/// # Errors
/// [`ChangeError::Rejected`] with what the present definition refuses.
pub async fn bring_back(
    db: &mut PgConnection,
    definition: &Definition,
    id: i64,
    body: &Body,
    actor: &str,
) -> Result<Live, ChangeError> {
    let given = read(definition, body);
    let mut problems = given.problems;
    missing(definition, &given.set, &mut problems);
    let record = (id, &given.set);
    store(db, definition, record, &given.set, problems, actor).await
}

/// Stores a body; a unique value in `given` that another record has is a problem too.
async fn store(
    db: &mut PgConnection,
    definition: &Definition,
    (id, body): (i64, &Body),
    given: &Body,
    mut problems: Vec<String>,
    actor: &str,
) -> Result<Live, ChangeError> {
    if let Some(holder) = writing::holder(db, definition, id, given).await? {
        problems.push(taken(definition, holder));
    }
    fine(problems)?;
    for _ in 0..TRIES {
        match writing::replace(db, definition, id, body, actor).await? {
            Written::Stored(stored) => return Ok(*stored),
            Written::Taken(holder) => fine(vec![taken(definition, holder)])?,
            Written::Again => {}
        }
    }
    Err(ChangeError::Contended)
}

/// Removes a live record.
///
/// # Errors
/// [`ChangeError::Absent`].
pub async fn remove(
    db: &mut PgConnection,
    definition: &Definition,
    id: i64,
    actor: &str,
) -> Result<(), ChangeError> {
    match writing::remove(db, definition, id, actor).await? {
        true => Ok(()),
        false => Err(absent(definition, id)),
    }
}

fn fine(problems: Vec<String>) -> Result<(), ChangeError> {
    match problems.is_empty() {
        true => Ok(()),
        false => Err(ChangeError::Rejected(problems)),
    }
}

fn absent(definition: &Definition, id: i64) -> ChangeError {
    ChangeError::Absent {
        id,
        collection: definition.name.clone(),
    }
}

fn taken(definition: &Definition, holder: i64) -> String {
    format!(
        "{}: record {holder} has this value already, and no two records share one",
        definition.unique.as_deref().unwrap_or_default()
    )
}

/// The record with what is given in it, and everything wrong about that.
fn changed(definition: &Definition, stored: &Body, given: &Given) -> (Body, Vec<String>) {
    let mut problems = given.problems.clone();
    let mut body = merged(stored, given);
    for name in &given.cleared {
        body.clear(name);
    }
    for column in definition.columns.iter().filter(|column| column.required) {
        let name = &column.name;
        if given.cleared.contains(name) {
            problems.push(format!("{name}: is required and can't be cleared"));
        } else if given
            .set
            .get(name)
            .is_some_and(|value| is_missing(Some(value)))
        {
            problems.push(format!("{name}: is empty; a value is required"));
        }
    }
    too_large(&body, &mut problems);
    (body, problems)
}

#[cfg(test)]
mod tests {
    use super::super::record_body::tests::contacts;
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: Result<&str, &[&str]>) {
        let stored = serde_json::from_str(r#"{"email":"a@b.c","amount":1}"#).unwrap();
        let given = read(&contacts(), &serde_json::from_str(given).unwrap());
        let (body, problems) = changed(&contacts(), &stored, &given);
        match expected {
            Ok(text) => {
                assert_eq!(problems, [""; 0]);
                assert_eq!(serde_json::to_string(&body).unwrap(), text);
            }
            Err(lines) => assert_eq!(problems, lines),
        }
    }

    #[test]
    fn columns_are_replaced_cleared_or_stay() {
        check(
            r#"{"stage":"lead"}"#,
            Ok(r#"{"email":"a@b.c","amount":1,"stage":"lead"}"#),
        );
        check(r#"{"amount":null}"#, Ok(r#"{"email":"a@b.c"}"#));
        check(r#"{"tags":null}"#, Ok(r#"{"email":"a@b.c","amount":1}"#));
    }

    #[test]
    fn a_required_column_keeps_a_value() {
        check(
            r#"{"email":null}"#,
            Err(&["email: is required and can't be cleared"]),
        );
        check(
            r#"{"email":"","amount":"x"}"#,
            Err(&[
                "amount: is a text; allowed: a number, without quotes",
                "email: is empty; a value is required",
            ]),
        );
    }
}
