//! The operator's document: read whole, every problem at once, then one transaction or nothing.

mod access;
mod agents;
mod attached;
mod bindings;
mod collections;
mod connectors;
pub mod decisions;
mod document;
mod field;
pub mod grants;
mod guilds;
mod kind;
mod known;
mod logins;
mod machines;
mod node;
mod notes;
mod plan;
mod reader;
mod reading;
mod removal;
mod secrets;
mod switched;
mod target;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool};

use self::document::Document;
use self::kind::{AnyKind, AnyPlan, Of};
use self::known::Known;
use self::plan::Planning;
use self::reader::{Place, Problems, Table};
use crate::store::organisations;
use crate::store::sealing::SealError;
use crate::vault::{Vault, VaultError};

pub use self::reader::MAX_PROBLEMS;
pub use self::reading::{Listed, export, list, one, require, words};
pub use self::removal::{Effect, ObjectError, Removal, Use, remove};

/// The kinds, in the order of the document, in which they are written too: what is
/// referred to stands before what refers to it.
static KINDS: [&dyn AnyKind; 9] = [
    &Of::<guilds::Guilds>::new(),
    &Of::<machines::Machines>::new(),
    &Of::<agents::Agents>::new(),
    &Of::<bindings::Bindings>::new(),
    &Of::<collections::Collections>::new(),
    &Of::<notes::Notes>::new(),
    &Of::<connectors::Connectors>::new(),
    &Of::<logins::Logins>::new(),
    &Of::<secrets::Secrets>::new(),
];

/// Who works on which organisation.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// The organisation of the operator's token.
    pub organisation: &'a str,
    /// The actor of the audit: `operator:<token>`.
    pub actor: &'a str,
    /// What seals values and keys.
    pub vault: &'a Vault,
}

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The API's.
    Json,
    /// For people; problems name their line.
    Toml,
}

/// What a document came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// One per object of the document, in its order.
    pub changes: Vec<Change>,
}

/// What becomes of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Made, changed, or as it was.
    pub action: Action,
    /// The plural word of its kind.
    pub kind: &'static str,
    /// Its id; a binding's is `<level>:<id>:<tool>`.
    pub id: String,
    /// Fields that differ from what is stored.
    pub fields: Vec<String>,
}

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is new.
    Create,
    /// Fields of it change.
    Update,
    /// It is already so.
    Unchanged,
}

impl Action {
    /// The word in changes and in the audit.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Unchanged => "unchanged",
        }
    }
}

/// One thing wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where: `agents[1].slot`.
    pub path: String,
    /// What, and what is allowed; for TOML it ends with the line.
    pub message: String,
}

/// Why a document was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Written for the operator; of more than [`MAX_PROBLEMS`] one more stands here.
    #[error("{}", counted(.0.len()))]
    Rejected(Vec<Problem>),
    /// The database's fault.
    #[error("the database did not apply the document")]
    Store(#[source] sqlx::Error),
    /// A value could not be sealed.
    #[error("a value of the document could not be sealed")]
    Vault(#[source] VaultError),
}

fn counted(problems: usize) -> String {
    match problems {
        1 => "the document has a problem".to_owned(),
        count if count > MAX_PROBLEMS => {
            format!(
                "the document has more than {MAX_PROBLEMS} problems; the first {MAX_PROBLEMS} follow"
            )
        }
        count => format!("the document has {count} problems"),
    }
}

impl From<SealError> for ApplyError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Store(error) => Self::Store(error),
            SealError::Vault(error) => Self::Vault(error),
        }
    }
}

impl ApplyError {
    /// Ids of machines and agents are unique over all organisations, and another one's
    /// operator may have taken one since it was looked for.
    fn taken_meanwhile(error: sqlx::Error, at: &Place) -> Self {
        match error {
            sqlx::Error::RowNotFound => Self::Rejected(vec![Problem {
                path: at.key("id").path,
                message: "was taken by another organisation at this moment; choose another id"
                    .to_owned(),
            }]),
            other => Self::Store(other),
        }
    }
}

impl From<sqlx::Error> for ApplyError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error)
    }
}

/// Applies a document of one organisation, or with `dry_run` says what it would change.
///
/// Two documents of one organisation are applied one after the other.
///
/// # Errors
/// [`ApplyError::Rejected`] with every problem, and then nothing was changed.
pub async fn apply(
    pool: &PgPool,
    session: &Session<'_>,
    body: &[u8],
    format: Format,
    dry_run: bool,
) -> Result<Applied, ApplyError> {
    let document = document::read(body, format, session).map_err(ApplyError::Rejected)?;
    let mut transaction = pool.begin().await?;
    let db = &mut *transaction;
    organisations::hold(db, session.organisation).await?;
    let plans = plan(db, session, document).await?;
    for plan in &plans {
        plan.write(db, session).await?;
    }
    if dry_run {
        transaction.rollback().await?;
    } else {
        for plan in &plans {
            plan.announce(db, session).await?;
        }
        transaction.commit().await?;
    }
    Ok(Applied {
        changes: plans.iter().flat_map(|plan| plan.changes()).collect(),
    })
}

/// What a document comes to, by kind in the order of the list.
async fn plan(
    db: &mut PgConnection,
    session: &Session<'_>,
    mut document: Document,
) -> Result<Vec<Box<dyn AnyPlan>>, ApplyError> {
    let known = Known::look(db, session.organisation, &document).await?;
    let mut cx = Planning {
        session,
        known: &known,
        problems: document.problems.take(),
    };
    let mut plans = Vec::new();
    for entries in document.entries {
        plans.push(entries.plan(db, &mut cx).await?);
    }
    cx.problems.into_result().map_err(ApplyError::Rejected)?;
    Ok(plans)
}

/// What a reading list shows, each with its id.
fn with_ids<T: Serialize>(listed: Vec<T>, id: impl Fn(&T) -> &String) -> Vec<(String, Value)> {
    listed
        .into_iter()
        .map(|object| (id(&object).clone(), json!(object)))
        .collect()
}

/// Objects by their id.
fn objects<T>(objects: Vec<T>, id: impl Fn(&T) -> &String) -> BTreeMap<String, T> {
    objects
        .into_iter()
        .map(|object| (id(&object).clone(), object))
        .collect()
}

/// The command line reads `<key>_env` and sends `<key>`; nothing here reads an environment.
fn sent_by_command_line(table: &Table<'_>, key: &str, problems: &mut Problems) {
    if let Some((at, _)) = table.text(&format!("{key}_env"), problems) {
        problems.add(
            &at,
            format!("is read by the command line, from its environment, and sent as {key}; here only {key} is allowed"),
        );
    }
}
