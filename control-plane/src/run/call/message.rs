//! A message on its way into the database: redacted with what the organisation's secrets are at that moment.

use sqlx::PgConnection;
use uuid::Uuid;

use super::super::engine::Engine;
use super::super::error::RunError;
use super::super::result::{self, Facts, Filtered, Redactor, Stamped, make};
use crate::store::calls::{self, Stored};

/// Readings of secrets that changed again while a message was made.
const READINGS: u32 = 50;

/// A message to be.
pub(in super::super) struct Draft<'a> {
    /// Whose secrets are taken out.
    pub(in super::super) organisation: &'a str,
    /// Its run.
    pub(in super::super) run: Uuid,
    /// Its call.
    pub(in super::super) call_id: &'a str,
    /// N of the trailer.
    pub(in super::super) remaining: u32,
    /// For the metadata.
    pub(in super::super) facts: Facts<'a>,
    /// Version of the secrets that were taken out of the stored arguments, where it is known.
    pub(in super::super) arguments: Option<i64>,
}

impl Engine {
    /// Makes the message of a call and stores it, with the run's next sequence. `None` when
    /// the call has a message already. Nothing of it is durable before the caller's commit.
    ///
    /// # Errors
    /// When the database does not answer or the organisation's secrets can't be read.
    pub(in super::super) async fn put(
        &self,
        db: &mut PgConnection,
        draft: &Draft<'_>,
        filtered: &Filtered,
    ) -> Result<Option<Stamped>, RunError> {
        let mut redactor = self.redactor_at_hand(db, draft.organisation).await?;
        let mut arguments = draft.arguments;
        for _ in 0..READINGS {
            if arguments != Some(redactor.version()) {
                redact_arguments(db, draft, &redactor).await?;
                arguments = Some(redactor.version());
            }
            let stamped = self.made(draft, filtered, &redactor);
            match result::store(&stamped, db, draft.run, draft.call_id).await? {
                Stored::Now => return Ok(Some(stamped)),
                Stored::Before => return Ok(None),
                Stored::OldSecrets => {
                    redactor = self.read_redactor(db, draft.organisation).await?;
                }
            }
        }
        Err(changing())
    }

    /// One try of [`Engine::put`] with these secrets, for a call whose handler has to look
    /// at new ones too.
    pub(super) async fn put_once(
        &self,
        db: &mut PgConnection,
        draft: &Draft<'_>,
        filtered: &Filtered,
        redactor: &Redactor,
    ) -> Result<(Stored, Stamped), RunError> {
        if draft.arguments != Some(redactor.version()) {
            redact_arguments(db, draft, redactor).await?;
        }
        let stamped = self.made(draft, filtered, redactor);
        let stored = result::store(&stamped, db, draft.run, draft.call_id).await?;
        Ok((stored, stamped))
    }

    fn made(&self, draft: &Draft<'_>, filtered: &Filtered, redactor: &Redactor) -> Stamped {
        make(
            filtered,
            redactor,
            self.cap_bytes,
            draft.remaining,
            &draft.facts,
        )
    }
}

/// Takes secrets that came since the claim out of the stored arguments.
async fn redact_arguments(
    db: &mut PgConnection,
    draft: &Draft<'_>,
    redactor: &Redactor,
) -> Result<(), RunError> {
    let Some(stored) = calls::arguments(db, draft.run, draft.call_id).await? else {
        return Ok(());
    };
    if !redactor.finds_nothing(&stored) {
        let redacted = super::redacted_json(redactor, &stored);
        calls::set_arguments(db, draft.run, draft.call_id, &redacted).await?;
    }
    Ok(())
}

/// Secrets that change faster than a message is made.
pub(super) fn changing() -> RunError {
    RunError::Unavailable(
        "the organisation's secrets keep changing; send the same request again".to_owned(),
    )
}
