//! What operators read of the document's kinds: lists, one object, the whole document.

use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};

use super::KINDS;
use super::document::ORGANISATION;
use super::kind::AnyKind;
use super::removal::ObjectError;
use crate::store::page::Page;

/// The plural words of the kinds, in the order of the document.
pub fn words() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.word())
}

/// The kind of a word; `id` is what is asked of it.
pub(super) fn kind(word: &str, id: &str) -> Result<&'static dyn AnyKind, ObjectError> {
    let kind = KINDS
        .into_iter()
        .find(|kind| kind.word() == word)
        .ok_or_else(|| ObjectError::missing("object", id))?;
    // Nothing stored holds U+0000, and the database refuses to be asked for it.
    if id.contains('\0') {
        return Err(ObjectError::missing(kind.one(), id));
    }
    Ok(kind)
}

/// A page of a list.
#[derive(Debug)]
pub struct Listed {
    /// The objects, by id.
    pub objects: Vec<Value>,
    /// The last id, when there are more.
    pub next: Option<String>,
}

/// A page of the objects of a kind, by id.
///
/// # Errors
/// When there is no such kind, or the database does not answer.
pub async fn list(
    pool: &PgPool,
    organisation: &str,
    word: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Listed, ObjectError> {
    let kind = kind(word, "")?;
    let page = Page {
        after,
        only: None,
        // One more, to see whether there are more.
        limit: i64::try_from(limit).unwrap_or(i64::MAX - 1) + 1,
    };
    let mut db = pool.acquire().await?;
    let mut rows = kind.read(&mut db, organisation, &page).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|(id, _)| id.clone());
    Ok(Listed {
        objects: rows.into_iter().map(|(_, object)| object).collect(),
        next,
    })
}

/// One object of a kind.
///
/// # Errors
/// When there is none, or the database does not answer.
pub async fn one(
    pool: &PgPool,
    organisation: &str,
    word: &str,
    id: &str,
) -> Result<Value, ObjectError> {
    let kind = kind(word, id)?;
    let page = Page {
        after: None,
        only: Some(id),
        limit: 1,
    };
    let mut db = pool.acquire().await?;
    let rows = kind.read(&mut db, organisation, &page).await?;
    match rows.into_iter().next() {
        Some((_, object)) => Ok(object),
        None => Err(ObjectError::absent(&mut db, organisation, kind, id).await?),
    }
}

/// That a list is asked for what there is: an empty list would say that it has nothing.
///
/// # Errors
/// When the organisation has no object of this kind and id, or the database does not answer.
pub async fn require(
    db: &mut PgConnection,
    organisation: &str,
    word: &str,
    id: &str,
) -> Result<(), ObjectError> {
    let kind = kind(word, id)?;
    if kind
        .load(db, organisation, &[id.to_owned()])
        .await?
        .is_empty()
    {
        return Err(ObjectError::absent(db, organisation, kind, id).await?);
    }
    Ok(())
}

/// The whole document of an organisation as one moment has it, without values and keys:
/// kinds in their order, objects by id, every field of each.
///
/// # Errors
/// When the database does not answer.
pub async fn export(pool: &PgPool, organisation: &str) -> sqlx::Result<Value> {
    let mut transaction = pool.begin().await?;
    sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        .execute(&mut *transaction)
        .await?;
    let mut document = Map::new();
    document.insert(ORGANISATION.to_owned(), organisation.into());
    for kind in KINDS {
        let objects = kind.export(&mut transaction, organisation).await?;
        if !objects.is_empty() {
            document.insert(kind.word().to_owned(), objects.into());
        }
    }
    transaction.rollback().await?;
    Ok(Value::Object(document))
}
