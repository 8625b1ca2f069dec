//! What the record tools say about collections that an agent doesn't reach or may not change.

use sqlx::PgConnection;

use super::ToolError;
use super::validation::{nearest, shown};
use crate::store::access::Access;
use crate::store::agents::Agent;
use crate::store::records::reach::{self, Definition};
use crate::store::records::reading;

/// Most names told in one refusal.
const MAX_NAMES: usize = 50;

/// The collection, when the agent may read it.
///
/// # Errors
/// 404 in one form for what is absent and what is out of reach.
pub(super) async fn readable(
    db: &mut PgConnection,
    agent: &Agent,
    name: &str,
) -> Result<Definition, ToolError> {
    let found = match is_name(name) {
        true => reach::find(db, agent, name).await?,
        false => None,
    };
    match found {
        Some(definition) => Ok(definition),
        None => Err(absent(db, agent, name).await?),
    }
}

/// The collection, when the agent may change its records; held until the transaction ends.
///
/// # Errors
/// 404 as [`readable`], 403 when the agent may only read.
pub(super) async fn writable(
    db: &mut PgConnection,
    agent: &Agent,
    name: &str,
) -> Result<Definition, ToolError> {
    let found = match is_name(name) {
        true => reach::find_for_write(db, agent, name).await?,
        false => None,
    };
    match found {
        Some(definition) if definition.access == Access::Write => Ok(definition),
        Some(definition) => Err(ToolError::forbidden(format!(
            "you may read collection {} and not change it",
            definition.name
        ))),
        None => Err(absent(db, agent, name).await?),
    }
}

/// A text of another form names no collection, and the database is not asked.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 63 && !name.contains('\0')
}

async fn absent(db: &mut PgConnection, agent: &Agent, name: &str) -> Result<ToolError, ToolError> {
    let all = reach::all(db, agent).await?;
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    Ok(no_collection(name, &names))
}

fn no_collection(name: &str, names: &[&str]) -> ToolError {
    let bare = name
        .strip_prefix("collection/")
        .or_else(|| name.strip_prefix("record/"))
        .and_then(|rest| rest.split('/').next());
    let mut words = format!("no collection {} that you can read", shown(name));
    if names.is_empty() {
        words.push_str("; you can read none");
    } else {
        let told = &names[..names.len().min(MAX_NAMES)];
        words.push_str(&format!("; you can read: {}", told.join(", ")));
        if names.len() > told.len() {
            words.push_str(&format!(" and {} more", names.len() - told.len()));
        }
    }
    if let Some(near) = nearest(bare.unwrap_or(name), names.iter().copied()) {
        words.push_str(&format!("; did you mean {near}?"));
    }
    ToolError::not_found(words)
}

/// A search that took too long is the agent's to narrow; anything else is a failure.
pub(super) fn in_time<T>(result: sqlx::Result<T>) -> Result<T, ToolError> {
    result.map_err(|error| {
        if reading::took_too_long(&error) {
            ToolError::invalid(
                "this takes longer than 10 seconds, and was ended; narrow it with longer words, with where or with since",
            )
        } else {
            error.into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, names: &[&str], expected: &str) {
        assert_eq!(no_collection(name, names).to_string(), expected);
    }

    #[test]
    fn what_is_out_of_reach_gets_the_names_in_reach() {
        check(
            "contcats",
            &["contacts", "deals"],
            "404 no collection contcats that you can read; you can read: contacts, deals; did you mean contacts?",
        );
        check(
            "record/contacts/7",
            &["contacts"],
            "404 no collection record/contacts/7 that you can read; you can read: contacts; did you mean contacts?",
        );
        check(
            "x",
            &[],
            "404 no collection x that you can read; you can read none",
        );
    }
}
