//! The messages of a run, for a reader that resumes.

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::engine::Engine;
use super::error::RunError;
use crate::store::messages;

/// One message.
#[derive(Debug, Serialize)]
pub struct MessageView {
    id: Uuid,
    call_id: String,
    name: String,
    arguments: Box<RawValue>,
    content: String,
    metadata: Box<RawValue>,
    at: String,
}

impl MessageView {
    /// Its id, the cursor of the list.
    #[must_use]
    pub const fn id(&self) -> Uuid {
        self.id
    }
}

impl Engine {
    /// Messages in the order they were stored, after the message `after`, at
    /// most `limit`; and whether there are more.
    ///
    /// # Errors
    /// [`RunError::NotFound`], [`RunError::Invalid`] when `after` is no message
    /// of the run, or a failure.
    pub async fn messages(
        &self,
        run: Uuid,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<(Vec<MessageView>, bool), RunError> {
        self.require(run).await?;
        let mut db = self.pool.acquire().await?;
        let after = match after {
            None => 0,
            Some(message) => messages::sequence(&mut db, run, message)
                .await?
                .ok_or_else(|| {
                    RunError::Invalid(format!("`after` is no message of this run: {message}"))
                })?,
        };
        let (rows, more) = messages::page(&mut db, run, after, limit).await?;
        let rows = rows.into_iter().map(show).collect::<Result<_, _>>()?;
        Ok((rows, more))
    }
}

fn show(row: messages::Listed) -> Result<MessageView, RunError> {
    Ok(MessageView {
        id: row.id,
        call_id: row.call_id,
        name: row.name,
        arguments: RawValue::from_string(row.arguments)?,
        content: row.content,
        metadata: RawValue::from_string(row.metadata)?,
        at: row.at,
    })
}
