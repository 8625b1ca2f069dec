//! A message on its way into the database: redacted with what the organisation's secrets are at that moment.

use std::sync::Arc;

use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use super::super::engine::Engine;
use super::super::error::RunError;
use super::super::result::{self, Facts, Filtered, Redactor, Stamped, make};
use crate::store::calls::{self, Stored};
use crate::store::secrets::live;

/// Tries with secrets that may change meanwhile; the one after them holds the secrets.
pub(super) const FREE_TRIES: u32 = 4;

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
        for _ in 0..FREE_TRIES {
            let (stored, stamped) = self.put_once(db, draft, filtered, &redactor).await?;
            match stored {
                Stored::Now => return Ok(Some(stamped)),
                Stored::Before => return Ok(None),
                Stored::OldSecrets => {
                    redactor = self.read_redactor(db, draft.organisation).await?;
                }
            }
        }
        // A transaction of its own, or a savepoint in the one that is there.
        let mut tx = db.begin().await?;
        let redactor = self.held_redactor(&mut tx, draft.organisation).await?;
        let (stored, stamped) = self.put_once(&mut tx, draft, filtered, &redactor).await?;
        tx.commit().await?;
        match stored {
            Stored::Now => Ok(Some(stamped)),
            Stored::Before => Ok(None),
            Stored::OldSecrets => Err(changing()),
        }
    }

    /// Reads an organisation's secrets when nobody can change them until the end of the
    /// transaction that `db` is in, except that transaction itself.
    pub(super) async fn held_redactor(
        &self,
        db: &mut PgConnection,
        organisation: &str,
    ) -> Result<Arc<Redactor>, RunError> {
        live::hold(db, organisation).await?;
        self.read_redactor(db, organisation).await
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
        let redacted = redactor.apply_to_json(&stored);
        calls::set_arguments(db, draft.run, draft.call_id, &redacted).await?;
    }
    Ok(())
}

/// Secrets that changed although they were held: the row of the organisation was written without its lock.
pub(super) fn changing() -> RunError {
    RunError::Unavailable(
        "the organisation's secrets keep changing; send the same request again".to_owned(),
    )
}
