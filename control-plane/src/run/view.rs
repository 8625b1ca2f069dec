//! A run as the chat backend sees it.

use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use uuid::Uuid;

use super::engine::Engine;
use super::error::RunError;
use super::offer::OfferedTool;
use super::token::RunToken;
use super::why::find_agent;
use super::words::{redacted, redacted_text};
use crate::store::{agents, memory, runs, secrets};

/// The answer to a run's start, and to a look at it later.
#[derive(Debug, Serialize)]
pub struct RunView {
    run: Uuid,
    agent: String,
    kind: String,
    state: String,
    turn: i32,
    remaining_tool_calls: i32,
    tools: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    secrets: Vec<String>,
    notices: Vec<String>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp: Option<McpView>,
}

/// How the run is reached over MCP.
#[derive(Debug, Serialize)]
struct McpView {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<RunToken>,
}

impl RunView {
    /// The run's id.
    #[must_use]
    pub const fn id(&self) -> Uuid {
        self.run
    }

    /// With where its MCP face is, and to whoever starts it, what opens that.
    #[must_use]
    pub fn with_mcp(mut self, url: String, token: Option<RunToken>) -> Self {
        self.mcp = Some(McpView { url, token });
        self
    }
}

/// A run in a list.
#[derive(Debug, Serialize)]
pub struct RunSummary {
    run: Uuid,
    agent: String,
    kind: String,
    state: String,
    turn: i32,
    remaining_tool_calls: i32,
    created_at: String,
}

impl From<runs::Run> for RunSummary {
    fn from(run: runs::Run) -> Self {
        Self {
            run: run.id,
            agent: run.agent,
            kind: run.kind,
            state: run.state,
            turn: run.turn,
            remaining_tool_calls: run.remaining,
            created_at: run.created_at,
        }
    }
}

impl RunSummary {
    /// Its id, the cursor of the list.
    #[must_use]
    pub const fn id(&self) -> Uuid {
        self.run
    }
}

impl Engine {
    /// A run as it stands.
    ///
    /// # Errors
    /// [`RunError::NotFound`], or a failure.
    pub async fn view(&self, id: Uuid) -> Result<RunView, RunError> {
        let mut db = self.pool.acquire().await?;
        let run = runs::touch(&mut db, id).await?;
        let run = run.ok_or_else(|| not_found(id))?;
        self.show(&mut db, run).await
    }

    /// Newest first, after the run `after`, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// [`RunError::NotFound`] for an agent that is not there and never had a run, or a failure.
    pub async fn list(
        &self,
        agent: Option<&str>,
        state: Option<&str>,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<(Vec<RunSummary>, bool), RunError> {
        let mut db = self.pool.acquire().await?;
        if let Some(after) = after
            && runs::find(&mut db, after).await?.is_none()
        {
            return Err(RunError::Invalid(format!("`after` names no run: {after}")));
        }
        let more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let mut rows = runs::list(&mut db, agent, state, after, more).await?;
        if rows.is_empty()
            && let Some(agent) = agent
            && runs::list(&mut db, Some(agent), None, None, 1)
                .await?
                .is_empty()
        {
            // One that is deleted has had runs, or nothing tells it from one that never was.
            find_agent(&mut db, agent).await?;
        }
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        Ok((rows.into_iter().map(RunSummary::from).collect(), has_more))
    }

    /// What the run's turn offers.
    ///
    /// # Errors
    /// [`RunError::NotFound`], or a failure.
    pub async fn tools(&self, id: Uuid) -> Result<Vec<OfferedTool>, RunError> {
        let mut db = self.pool.acquire().await?;
        let run = runs::touch(&mut db, id).await?;
        let run = run.ok_or_else(|| not_found(id))?;
        let turn = runs::turn(&mut db, id, run.turn).await?;
        let turn = turn.ok_or_else(|| not_found(id))?;
        let redactor = self.redactor(&mut db, &run.organisation).await?;
        Ok(redacted(serde_json::from_str(&turn.tools)?, &redactor))
    }

    /// Whether the run exists, for requests about what belongs to it.
    ///
    /// # Errors
    /// [`RunError::NotFound`], or a failure.
    pub async fn require(&self, id: Uuid) -> Result<(), RunError> {
        let mut db = self.pool.acquire().await?;
        runs::touch(&mut db, id)
            .await?
            .map(|_| ())
            .ok_or_else(|| not_found(id))
    }

    pub(super) async fn show(
        &self,
        db: &mut PgConnection,
        run: runs::Run,
    ) -> Result<RunView, RunError> {
        self.note_organisation(&run);
        let turn = runs::turn(db, run.id, run.turn).await?;
        let turn = turn.ok_or_else(|| not_found(run.id))?;
        let memory = if turn.config.memory {
            let agent = agents::find(db, &run.agent).await?;
            let agent = agent.ok_or_else(|| not_found(run.id))?;
            Some(memory::read(db, &agent).await?)
        } else {
            None
        };
        let secrets = secrets::granted(db, &run.agent).await?;
        let redactor = self.redactor(db, &run.organisation).await?;
        Ok(RunView {
            run: run.id,
            agent: run.agent,
            kind: run.kind,
            state: run.state,
            turn: run.turn,
            remaining_tool_calls: run.remaining,
            tools: RawValue::from_string(redacted_text(turn.tools, &redactor)?)?,
            memory: memory.map(|memory| redactor.apply(&memory)),
            secrets,
            notices: run
                .notices
                .iter()
                .map(|notice| redactor.apply(notice))
                .collect(),
            created_at: run.created_at,
            mcp: None,
        })
    }
}

pub(super) fn not_found(run: Uuid) -> RunError {
    RunError::NotFound(format!("no run {run}"))
}
