//! One grant: a secret given to one agent or taken from it, whatever happens to its other grants meanwhile.

use sqlx::PgPool;

use super::removal::ObjectError;
use super::{Action, Applied, Change, Session, reading};
use crate::store::{audit, organisations, secrets};

const SECRETS: &str = "secrets";
const AGENTS: &str = "agents";

/// Grants a secret to an agent, or with `granted` false takes it from the agent. What is
/// so already changes nothing and is not audited.
///
/// # Errors
/// [`ObjectError::NotFound`] when the organisation has no such secret or no such agent.
pub async fn set(
    pool: &PgPool,
    session: &Session<'_>,
    secret: &str,
    agent: &str,
    granted: bool,
) -> Result<Applied, ObjectError> {
    let kind = reading::kind(SECRETS, secret)?;
    let agents = reading::kind(AGENTS, agent)?;
    let organisation = session.organisation;
    let mut transaction = pool.begin().await?;
    let db = &mut *transaction;
    organisations::hold(db, organisation).await?;
    let Some(held) = secrets::hold(db, organisation, secret).await? else {
        return Err(ObjectError::absent(db, organisation, kind, secret).await?);
    };
    let named = [agent.to_owned()];
    if agents.load(db, organisation, &named).await?.is_empty() {
        return Err(ObjectError::absent(db, organisation, agents, agent).await?);
    }
    let named = [secret.to_owned()];
    let before = kind.load(db, organisation, &named).await?.remove(secret);
    let changed = if granted {
        secrets::grant(db, held, agent).await?
    } else {
        secrets::revoke(db, held, agent).await?
    };
    if changed {
        let entry = audit::Owned {
            action: Action::Update.as_str(),
            kind: SECRETS,
            object: secret.to_owned(),
            before,
            after: kind.load(db, organisation, &named).await?.remove(secret),
        };
        audit::record_all(db, organisation, session.actor, &[entry]).await?;
        transaction.commit().await?;
    }
    let (action, fields) = if changed {
        (Action::Update, vec!["grants".to_owned()])
    } else {
        (Action::Unchanged, Vec::new())
    };
    let id = secret.to_owned();
    Ok(Applied {
        changes: vec![Change {
            action,
            kind: SECRETS,
            id,
            fields,
        }],
    })
}
