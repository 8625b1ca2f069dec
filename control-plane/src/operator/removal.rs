//! Deleting an object: what uses it first, then it and what goes with it in one transaction.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::{PgConnection, PgPool};

use super::kind::AnyKind;
use super::{KINDS, Session, reading};
use crate::store::page::Page;
use crate::store::{audit, organisations};
use crate::tools::validation::nearest;

/// What becomes of a user of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It keeps the object from being deleted.
    Blocks,
    /// It goes with the object.
    Removed,
    /// It stays and loses something.
    Loses,
}

/// One thing that uses the object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Use {
    /// The plural word of its kind.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// What becomes of it.
    pub effect: Effect,
    /// One sentence for the operator.
    pub message: String,
}

impl Use {
    pub(super) fn new(
        kind: &'static str,
        id: impl Into<String>,
        effect: Effect,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            id: id.into(),
            effect,
            message: message.into(),
        }
    }
}

/// What a deletion came to.
#[derive(Debug, Serialize)]
pub struct Removal {
    /// The plural word of the object's kind.
    pub kind: &'static str,
    /// The object's id.
    pub id: String,
    /// False for a dry run.
    pub deleted: bool,
    /// What uses it.
    pub uses: Vec<Use>,
}

/// Why an object was not shown or not deleted.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// There is none.
    #[error("no {one} {id}{}", .near.as_ref().map_or_else(String::new, |near| format!("; did you mean {near}?")))]
    NotFound {
        /// The word for one of its kind.
        one: &'static str,
        /// The id that was asked for.
        id: String,
        /// The id that is near it, when there is one.
        near: Option<String>,
    },
    /// Something uses it that must go first.
    #[error("{} is used: {}", .0.id, blocking(&.0.uses))]
    Blocked(Removal),
    /// The database's fault.
    #[error("the database did not answer for the object")]
    Store(#[from] sqlx::Error),
}

impl ObjectError {
    pub(super) fn missing(one: &'static str, id: &str) -> Self {
        Self::NotFound {
            one,
            id: id[..id.floor_char_boundary(200)].to_owned(),
            near: None,
        }
    }

    /// That an organisation has no object of this id, with the id that is near it.
    ///
    /// # Errors
    /// When the database does not answer.
    pub(super) async fn absent(
        db: &mut PgConnection,
        organisation: &str,
        kind: &dyn AnyKind,
        id: &str,
    ) -> sqlx::Result<Self> {
        let page = Page {
            after: None,
            only: None,
            limit: MOST_COMPARED,
        };
        let rows = kind.read(db, organisation, &page).await?;
        let ids = rows.iter().map(|(id, _)| id.as_str());
        let near = nearest(id, ids).map(str::to_owned);
        let mut absent = Self::missing(kind.one(), id);
        if let Self::NotFound { near: told, .. } = &mut absent {
            *told = near;
        }
        Ok(absent)
    }
}

/// Most ids that are compared for a near one.
const MOST_COMPARED: i64 = 1_000;
/// Most users that the sentence of a refusal names; all of them stand beside it.
const NAMED: usize = 5;

fn blocking(uses: &[Use]) -> String {
    let mut blocking = uses.iter().filter(|used| used.effect == Effect::Blocks);
    let named: Vec<&str> = blocking
        .by_ref()
        .take(NAMED)
        .map(|used| used.message.as_str())
        .collect();
    match blocking.count() {
        0 => named.join("; "),
        more => format!("{}; and {more} more", named.join("; ")),
    }
}

/// Deletes an object of a kind, or with `dry_run` says what uses it.
///
/// # Errors
/// [`ObjectError::Blocked`] when something has to go first; nothing was changed then.
pub async fn remove(
    pool: &PgPool,
    session: &Session<'_>,
    word: &str,
    id: &str,
    dry_run: bool,
) -> Result<Removal, ObjectError> {
    let kind = reading::kind(word, id)?;
    let mut transaction = pool.begin().await?;
    let db = &mut *transaction;
    organisations::hold(db, session.organisation).await?;
    let named = [id.to_owned()];
    let mut before = kind.load(db, session.organisation, &named).await?;
    let Some(object) = before.remove(id) else {
        return Err(ObjectError::absent(db, session.organisation, kind, id).await?);
    };
    let mut removal = Removal {
        kind: kind.word(),
        id: id.to_owned(),
        deleted: false,
        uses: kind.uses(db, session, id).await?,
    };
    let blocked = removal
        .uses
        .iter()
        .any(|used| used.effect == Effect::Blocks);
    if dry_run {
        transaction.rollback().await?;
        return Ok(removal);
    }
    if blocked {
        return Err(ObjectError::Blocked(removal));
    }
    write(db, session, kind, object, &removal).await?;
    transaction.commit().await?;
    removal.deleted = true;
    Ok(removal)
}

/// Objects by kind and id, as the audit shows them.
type Shown = BTreeMap<(&'static str, String), Box<RawValue>>;

/// Removes the object, and audits it and every object that goes or changes with it.
async fn write(
    db: &mut PgConnection,
    session: &Session<'_>,
    kind: &dyn AnyKind,
    object: Box<RawValue>,
    removal: &Removal,
) -> sqlx::Result<()> {
    let before = touched(db, session, &removal.uses).await?;
    kind.remove(db, session, &removal.id).await?;
    let mut after = touched(db, session, &removal.uses).await?;
    let mut entries = vec![audit::Owned {
        action: "delete",
        kind: kind.word(),
        object: removal.id.clone(),
        before: Some(object),
        after: None,
    }];
    for ((word, id), before) in before {
        let after = after.remove(&(word, id.clone()));
        if after.as_ref().is_some_and(|now| now.get() == before.get()) {
            continue;
        }
        entries.push(audit::Owned {
            action: if after.is_some() { "update" } else { "delete" },
            kind: word,
            object: id,
            before: Some(before),
            after,
        });
    }
    audit::record_all(db, session.organisation, session.actor, &entries).await
}

/// The objects of the document's kinds among the users.
async fn touched(
    db: &mut PgConnection,
    session: &Session<'_>,
    uses: &[Use],
) -> sqlx::Result<Shown> {
    let mut shown = Shown::new();
    for kind in KINDS {
        let ids: Vec<String> = uses
            .iter()
            .filter(|used| used.kind == kind.word())
            .map(|used| used.id.clone())
            .collect();
        if ids.is_empty() {
            continue;
        }
        let objects = kind.load(db, session.organisation, &ids).await?;
        shown.extend(
            objects
                .into_iter()
                .map(|(id, object)| ((kind.word(), id), object)),
        );
    }
    Ok(shown)
}
