//! What an operator decides outside the document: issues resolved, secrets given or denied, schedules paused.

pub mod schedules;

use std::collections::BTreeSet;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::Session;
use crate::store::audit::{self, Entry};
use crate::store::events::{self, Event, What};
use crate::store::issues::reading::{self as issues, Issue};
use crate::store::sealing::SealError;
use crate::store::secret_requests::{self, SecretRequest};
use crate::store::secrets::{self, NewSecret, Secret, names};
use crate::store::{agents, organisations};

/// Why nothing was decided.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// There is nothing to decide on.
    #[error("{0}")]
    NotFound(String),
    /// What is stored stands against it.
    #[error("{0}")]
    Conflict(String),
    /// It can't be done at all.
    #[error("{0}")]
    Invalid(String),
    /// The database's fault.
    #[error("the database did not answer for the decision")]
    Store(#[from] sqlx::Error),
    /// The vault's fault.
    #[error("the decision could not be sealed")]
    Fault(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<SealError> for DecisionError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Store(error) if is_taken(&error) => Self::Conflict(
                "a secret of that name was stored at this moment; look at it and decide again"
                    .to_owned(),
            ),
            SealError::Store(error) => Self::Store(error),
            SealError::Vault(error) => Self::Fault(error.into()),
        }
    }
}

impl From<serde_json::Error> for DecisionError {
    fn from(error: serde_json::Error) -> Self {
        Self::Fault(error.into())
    }
}

fn is_taken(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(error) if error.constraint() == Some("secrets_name_key"))
}

/// What an agent is given.
#[derive(Debug)]
pub enum Gift {
    /// A value, stored under the name that was asked for.
    Value(SecretString),
    /// The secret that has that name already.
    Existing,
}

/// Opens or resolves an issue. The status it has already changes nothing.
///
/// # Errors
/// [`DecisionError::NotFound`], or a failure.
pub async fn set_issue_status(
    pool: &PgPool,
    session: &Session<'_>,
    id: i64,
    status: &str,
) -> Result<Issue, DecisionError> {
    let missing = || DecisionError::NotFound(format!("no issue {id}"));
    let mut tx = pool.begin().await?;
    let before = issues::set_status(&mut tx, session.organisation, id, status).await?;
    let before = before.ok_or_else(missing)?;
    if before != status {
        let object = id.to_string();
        let (before, after) = (json!({ "status": before }), json!({ "status": status }));
        write(&mut tx, session, ("issues", &object), Some(before), after).await?;
    }
    let issue = issues::find(&mut tx, session.organisation, id).await?;
    tx.commit().await?;
    issue.ok_or_else(missing)
}

/// Gives an agent the secret it asked for: stored, granted, audited and told in one transaction.
///
/// # Errors
/// [`DecisionError`]; then nothing was changed.
pub async fn fulfil(
    pool: &PgPool,
    session: &Session<'_>,
    id: Uuid,
    gift: &Gift,
) -> Result<SecretRequest, DecisionError> {
    let mut tx = pool.begin().await?;
    let request = hold_pending(&mut tx, session, id).await?;
    let stored = secrets::find(&mut tx, session.organisation, &request.name).await?;
    match (gift, stored) {
        (Gift::Value(value), None) => store(&mut tx, session, &request, value).await?,
        (Gift::Value(value), Some(secret)) => {
            check_value(value)?;
            if !secrets::has_value(&mut tx, session.vault, secret.id, value).await? {
                return Err(DecisionError::Conflict(format!(
                    "secret {} exists and has another value; to grant it as it is, send {{\"grant_existing\":true}}; to change it for everyone who uses it, apply a document",
                    request.name
                )));
            }
            grant(&mut tx, session, &secret, &request.agent).await?;
        }
        (Gift::Existing, Some(secret)) => {
            grant(&mut tx, session, &secret, &request.agent).await?;
        }
        (Gift::Existing, None) => {
            return Err(DecisionError::Conflict(format!(
                "no secret {} is stored; send its `value`",
                request.name
            )));
        }
    }
    let decided = decide(&mut tx, session, &request, "fulfilled", None).await?;
    let agent = agents::find(&mut tx, &request.agent).await?;
    let event = Event {
        organisation: session.organisation.to_owned(),
        guild: Some(agent.map_or_else(|| request.guild.clone(), |agent| agent.guild)),
        agent: Some(request.agent),
        what: What::SecretGranted {
            request: id,
            name: request.name,
        },
    };
    events::record(&mut tx, &event).await?;
    tx.commit().await?;
    Ok(decided)
}

/// Denies an agent the secret it asked for.
///
/// # Errors
/// [`DecisionError`]; then nothing was changed.
pub async fn deny(
    pool: &PgPool,
    session: &Session<'_>,
    id: Uuid,
    reason: &str,
) -> Result<SecretRequest, DecisionError> {
    let mut tx = pool.begin().await?;
    let request = hold_pending(&mut tx, session, id).await?;
    let decided = decide(&mut tx, session, &request, "denied", Some(reason)).await?;
    tx.commit().await?;
    Ok(decided)
}

/// The request, held with its organisation: documents that change the same secret wait.
async fn hold_pending(
    db: &mut PgConnection,
    session: &Session<'_>,
    id: Uuid,
) -> Result<SecretRequest, DecisionError> {
    let missing = || DecisionError::NotFound(format!("no secret request {id}"));
    organisations::hold(db, session.organisation).await?;
    if !secret_requests::hold(db, session.organisation, id).await? {
        return Err(missing());
    }
    let request = secret_requests::find(db, session.organisation, id).await?;
    let request = request.ok_or_else(missing)?;
    if request.status == "pending" {
        Ok(request)
    } else {
        Err(DecisionError::Conflict(format!(
            "secret request {id} was {}",
            request.decided()
        )))
    }
}

fn check_value(value: &SecretString) -> Result<(), DecisionError> {
    secrets::check_value(value.expose_secret())
        .map_err(|what| DecisionError::Invalid(format!("`value` {what}")))
}

/// Stores a new secret and grants it.
async fn store(
    db: &mut PgConnection,
    session: &Session<'_>,
    request: &SecretRequest,
    value: &SecretString,
) -> Result<(), DecisionError> {
    names::check(&request.name)
        .map_err(|what| DecisionError::Invalid(format!("{} {what}; deny it", request.name)))?;
    check_value(value)?;
    let new = NewSecret {
        name: &request.name,
        description: "",
        value,
        stored_by: None,
    };
    let id = secrets::insert(db, session.vault, session.organisation, &new).await?;
    secrets::grant(db, id, &request.agent).await?;
    let after = json!({
        "name": request.name, "description": "", "value": true, "grants": [request.agent],
    });
    write(db, session, ("secrets", &request.name), None, after).await
}

/// Grants a stored secret to one more agent.
async fn grant(
    db: &mut PgConnection,
    session: &Session<'_>,
    secret: &Secret,
    agent: &str,
) -> Result<(), DecisionError> {
    let before: BTreeSet<&str> = secret.grants.iter().map(String::as_str).collect();
    if before.contains(agent) {
        return Ok(());
    }
    secrets::grant(db, secret.id, agent).await?;
    let after: BTreeSet<&str> = before.iter().copied().chain([agent]).collect();
    let shown = |grants: &BTreeSet<&str>| json!({ "name": secret.name, "description": secret.description, "grants": grants });
    let (before, after) = (shown(&before), shown(&after));
    write(db, session, ("secrets", &secret.name), Some(before), after).await
}

async fn decide(
    db: &mut PgConnection,
    session: &Session<'_>,
    request: &SecretRequest,
    status: &str,
    answer: Option<&str>,
) -> Result<SecretRequest, DecisionError> {
    let actor = session.actor;
    secret_requests::decide(db, request.id, status, answer, actor).await?;
    let object = request.id.to_string();
    let facts = |status: &str, answer: Option<&str>| json!({ "agent": request.agent, "name": request.name, "status": status, "answer": answer });
    let (before, after) = (facts("pending", None), facts(status, answer));
    write(
        db,
        session,
        ("secret-requests", &object),
        Some(before),
        after,
    )
    .await?;
    let decided = secret_requests::find(db, session.organisation, request.id).await?;
    decided.ok_or(DecisionError::Store(sqlx::Error::RowNotFound))
}

/// A row of the audit; without `before` it is a creation.
async fn write(
    db: &mut PgConnection,
    session: &Session<'_>,
    (kind, object): (&str, &str),
    before: Option<Value>,
    after: Value,
) -> Result<(), DecisionError> {
    let before: Option<Box<RawValue>> = before.as_ref().map(to_raw_value).transpose()?;
    let after = to_raw_value(&after)?;
    let entry = Entry {
        actor: session.actor,
        action: if before.is_some() { "update" } else { "create" },
        kind,
        object,
        before: before.as_deref(),
        after: Some(&after),
    };
    audit::record(db, session.organisation, &entry).await?;
    Ok(())
}
