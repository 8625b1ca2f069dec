//! What hangs on an agent or a guild and goes with it: bindings, logins, rows of access lists, grants.

use sqlx::PgConnection;

use super::Session;
use super::kind::Kind as _;
use super::logins::{self, Logins};
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
    for login in logins::of_organisation(db, organisation).await? {
        if (login.level.as_str(), login.owner.as_str()) == (level, owner) {
            let message = format!("the login of {} at this {level} goes", login.connector);
            uses.push(Use::new("logins", login.id, Effect::Removed, message));
        }
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
    for login in logins::of_organisation(db, organisation).await? {
        if (login.level.as_str(), login.owner.as_str()) == (level, owner) {
            Logins::remove(db, session, &login.id).await?;
        }
    }
    list::forget(db, organisation, level, owner).await
}
