//! Schedules that an operator pauses and resumes.

use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use super::{DecisionError, write};
use crate::operator::Session;
use crate::store::schedules::{stored, writing};

/// Pauses a schedule, or lets it fire again from now on. The state it has already changes
/// nothing.
///
/// # Errors
/// [`DecisionError::NotFound`], or a failure.
pub async fn set_state(
    pool: &PgPool,
    session: &Session<'_>,
    id: Uuid,
    paused: bool,
) -> Result<(), DecisionError> {
    let mut tx = pool.begin().await?;
    let held = stored::hold(&mut tx, session.organisation, None, id).await?;
    let held = held.ok_or_else(|| DecisionError::NotFound(format!("no schedule {id}")))?;
    if held.paused != paused {
        if paused {
            writing::pause(&mut tx, id).await?;
        } else {
            let next = held
                .next()
                .map_err(|error| DecisionError::Fault(error.into()))?;
            writing::activate(&mut tx, id, next.as_ref()).await?;
        }
        let state = |paused| json!({ "agent": held.agent, "state": if paused { "paused" } else { "active" } });
        let object = id.to_string();
        let (before, after) = (state(!paused), state(paused));
        write(
            &mut tx,
            session,
            ("schedules", &object),
            Some(before),
            after,
        )
        .await?;
    }
    tx.commit().await?;
    Ok(())
}
