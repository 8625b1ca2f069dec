//! What hangs on an agent or a guild and goes with it: bindings, logins, rows of access lists, grants.

use sqlx::PgConnection;

use super::Session;
use super::removal::{Effect, Use};
use crate::store::access::list;
use crate::store::bindings::rows;

/// What hangs on the owner of a level.
///
/// # Errors
/// When the database does not answer.
pub(super) async fn uses(
    db: &mut PgConnection,
    session: &Session<'_>,
    level: &str,
    owner: &str,
) -> sqlx::Result<Vec<Use>> {
    let organisation = session.organisation;
    let mut uses = Vec::new();
    for row in rows::of_owner(db, organisation, level, owner).await? {
        let message = format!("the binding of {} at this {level} goes", row.name());
        uses.push(Use::new("bindings", row.id, Effect::Removed, message));
    }
    for shared in list::naming(db, organisation, level, owner).await? {
        let message = format!(
            "the {level}'s row ({}) leaves its access list",
            shared.access
        );
        uses.push(Use::new(shared.kind(), shared.id(), Effect::Loses, message));
    }
    Ok(uses)
}

/// Removes it.
///
/// # Errors
/// When the database does not answer.
pub(super) async fn remove(
    db: &mut PgConnection,
    session: &Session<'_>,
    level: &str,
    owner: &str,
) -> sqlx::Result<()> {
    let organisation = session.organisation;
    let bindings = rows::of_owner(db, organisation, level, owner).await?;
    let ids: Vec<String> = bindings.into_iter().map(|row| row.id).collect();
    rows::delete(db, organisation, &ids).await?;
    list::forget(db, organisation, level, owner).await
}
