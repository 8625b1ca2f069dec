//! What the chat backend and operators read of agents beside runs: Memory, schedules, files, machines.

use machine_agent_api::{ErrorCode, ReadFile, check_path};
use serde::Serialize;
use uuid::Uuid;

use super::engine::Engine;
use super::error::RunError;
use super::result::Redactor;
use super::start::{machine_of, place_of};
use super::why::find_agent;
use crate::machine::file::FileBody;
use crate::machine::look::Look;
use crate::machine::{Machine, MachineError};
use crate::store::schedules::{self, Filter, Owned, Schedule};
use crate::store::time::rfc3339;
use crate::store::{memory, notes};

/// An agent's Memory.
#[derive(Debug, Serialize)]
pub struct MemoryView {
    content: String,
    updated_at: String,
}

impl Engine {
    /// An agent's Memory, without secrets.
    ///
    /// # Errors
    /// [`RunError::NotFound`], also for an agent without memory, or a failure.
    pub async fn memory_of(&self, agent: &str) -> Result<MemoryView, RunError> {
        let mut db = self.pool.acquire().await?;
        let agent = find_agent(&mut db, agent).await?;
        let found = if agent.config.memory {
            memory::read_dated(&mut db, &agent).await?
        } else {
            None
        };
        let (content, updated_ms) = found.ok_or_else(|| {
            RunError::NotFound(format!(
                "agent {} has no memory: config.memory is false",
                agent.id
            ))
        })?;
        let redactor = self.redactor(&mut db, &agent.organisation).await?;
        Ok(MemoryView {
            content: redactor.apply(&content),
            updated_at: rfc3339(updated_ms),
        })
    }

    /// An agent's schedules by id, after the schedule `after`, at most `limit`.
    ///
    /// # Errors
    /// [`RunError::NotFound`], or a failure.
    pub async fn schedules_of(
        &self,
        agent: &str,
        after: Option<Uuid>,
        limit: i64,
    ) -> Result<Vec<Schedule>, RunError> {
        let mut db = self.pool.acquire().await?;
        let agent = find_agent(&mut db, agent).await?;
        let filter = Filter {
            agent: Some(&agent.id),
            after,
            ..Filter::default()
        };
        let owned = schedules::page(&mut db, &agent.organisation, filter, limit).await?;
        let redactor = self.redactor(&mut db, &agent.organisation).await?;
        let shown = owned
            .into_iter()
            .map(|owned| without_secrets(owned, &redactor));
        Ok(shown.map(|owned| owned.schedule).collect())
    }

    /// An organisation's schedules by id, at most `limit`.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn schedules(
        &self,
        organisation: &str,
        filter: Filter<'_>,
        limit: i64,
    ) -> Result<Vec<Owned>, RunError> {
        let mut db = self.pool.acquire().await?;
        let owned = schedules::page(&mut db, organisation, filter, limit).await?;
        let redactor = self.redactor(&mut db, organisation).await?;
        let shown = owned
            .into_iter()
            .map(|owned| without_secrets(owned, &redactor));
        Ok(shown.collect())
    }

    /// A revision of a note with its content: a note's as it was written, a
    /// Memory's without secrets.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn note_revision(
        &self,
        organisation: &str,
        note: &notes::history::Present,
        id: i64,
    ) -> Result<Option<notes::history::Revision>, RunError> {
        let mut db = self.pool.acquire().await?;
        let mut found = notes::history::revision(&mut db, note.id, Some(id)).await?;
        if note.is_memory()
            && let Some(content) = found.as_mut().and_then(|found| found.content.as_mut())
        {
            let redactor = self.redactor(&mut db, organisation).await?;
            *content = redactor.apply(content);
        }
        Ok(found)
    }

    /// A file of an agent's home, read on its machine as the agent.
    ///
    /// # Errors
    /// [`RunError::NotFound`], [`RunError::Invalid`] for what is no file inside the
    /// home, [`RunError::Unavailable`] when the machine is away.
    pub async fn file_of(&self, agent: &str, path: &str) -> Result<FileBody, RunError> {
        check_path(path).map_err(|what| RunError::Invalid(format!("`path` {what}")))?;
        let agent = {
            let mut db = self.pool.acquire().await?;
            find_agent(&mut db, agent).await?
        };
        let operation = ReadFile {
            agent: &agent.id,
            path,
        };
        self.machines
            .read_file(&machine_of(&agent), &place_of(&agent), &operation)
            .await
            .map_err(no_file)
    }

    /// Looks at machines side by side; the answers stand in the order of the question.
    pub async fn look_at(&self, machines: &[Machine]) -> Vec<Look> {
        self.machines.look(machines).await
    }

    /// End of the control plane's own certificate, in seconds of the Unix clock.
    #[must_use]
    pub fn certificate_ends_s(&self) -> Option<i64> {
        self.machines.own_certificate_ends_s()
    }
}

fn no_file(error: MachineError) -> RunError {
    let message = error.to_string();
    match error {
        MachineError::Refused { code, .. } => match code {
            ErrorCode::NotFound => RunError::NotFound(message),
            ErrorCode::Invalid | ErrorCode::BodyTooLarge => RunError::Invalid(message),
            ErrorCode::Conflict => RunError::Conflict(message),
            _ => RunError::Unavailable(message),
        },
        MachineError::Unreachable { .. } | MachineError::Interrupted { .. } => {
            RunError::Unavailable(message)
        }
    }
}

fn without_secrets(mut owned: Owned, redactor: &Redactor) -> Owned {
    owned.schedule.description = redactor.apply(&owned.schedule.description);
    owned.instruction = redactor.apply(&owned.instruction);
    owned
}
