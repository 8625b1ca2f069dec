//! The start of a run: its first snapshot, and the agent made ready on its machine.

use std::sync::Arc;
use std::time::Duration;

use machine_agent_api::EnsureAgent;
use sqlx::PgConnection;
use uuid::Uuid;

use super::engine::Engine;
use super::error::RunError;
use super::offer::{OfferedTool, RunKind, offer};
use super::view::RunView;
use super::words::redacted;
use crate::machine::{Machine, MachineError, Place};
use crate::store::agents::{self, Agent};
use crate::store::scripts::{self, SnapshotScript};
use crate::store::{bindings, runs};

/// Most calls a run may be given.
pub const MAX_TOOL_CALLS: u32 = 1_000;
/// Time that a start waits for the agent's machine.
const READY_WITHIN: Duration = Duration::from_secs(4);

/// What a chat backend asks for.
#[derive(Debug)]
pub struct Start {
    /// Agent id.
    pub agent: String,
    /// What started it.
    pub kind: RunKind,
    /// Its budget, else the agent's.
    pub max_tool_calls: Option<u32>,
    /// Its id, which makes a retried start answer the first one.
    pub id: Option<Uuid>,
}

impl Engine {
    /// Starts a run, or answers the one that this id started before.
    ///
    /// # Errors
    /// [`RunError::NotFound`] for an unknown agent, [`RunError::Conflict`] when
    /// the id is another run's, or a failure.
    pub async fn start(self: &Arc<Self>, start: Start) -> Result<RunView, RunError> {
        let mut db = self.pool.acquire().await?;
        if let Some(id) = start.id
            && let Some(first) = runs::find(&mut db, id).await?
        {
            return self.first_start(&mut db, &start, first).await;
        }
        let agent = if agents::is_id(&start.agent) {
            agents::find(&mut db, &start.agent).await?
        } else {
            None
        };
        let agent = agent
            .ok_or_else(|| RunError::NotFound(format!("no agent {}", printable(&start.agent))))?;
        drop(db);
        let notices = match self.make_ready(&agent).await {
            Ok(()) => Vec::new(),
            Err(error) => vec![format!(
                "{error}; until it answers, each call of a tool on the machine fails by itself"
            )],
        };
        let (view, held) = self.begin(&start, &agent, &notices).await?;
        if notices.is_empty() {
            self.write_scripts(agent, held);
        }
        Ok(view)
    }

    async fn first_start(
        &self,
        db: &mut PgConnection,
        start: &Start,
        first: runs::Run,
    ) -> Result<RunView, RunError> {
        if first.agent != start.agent || first.kind != start.kind.as_str() {
            return Err(RunError::Conflict(format!(
                "run {} was started for agent {} as {}",
                first.id, first.agent, first.kind
            )));
        }
        self.show(db, first).await
    }

    /// The transaction that makes the run and its first snapshot.
    async fn begin(
        &self,
        start: &Start,
        agent: &Agent,
        notices: &[String],
    ) -> Result<(RunView, Vec<SnapshotScript>), RunError> {
        let mut tx = self.pool.begin().await?;
        if !agents::hold(&mut tx, &agent.id).await? {
            return Err(RunError::NotFound(format!("no agent {}", agent.id)));
        }
        let budget = start
            .max_tool_calls
            .unwrap_or(agent.config.max_tool_calls)
            .clamp(1, MAX_TOOL_CALLS);
        let id = start.id.unwrap_or_else(Uuid::now_v7);
        let new = runs::NewRun {
            id,
            agent,
            kind: start.kind.as_str(),
            max_tool_calls: i32::try_from(budget).unwrap_or(i32::MAX),
            notices,
        };
        let inserted = runs::insert(&mut tx, &new).await?;
        let mut held = Vec::new();
        if inserted {
            held = scripts::snapshot(&mut tx, id, agent).await?;
            let tools = self.offered(&mut tx, agent, start.kind, &held).await?;
            let tools = serde_json::to_string(&tools)?;
            runs::insert_turn(&mut tx, id, 1, &tools, &agent.config).await?;
        }
        let run = runs::find(&mut tx, id).await?;
        let run = run.ok_or_else(|| super::view::not_found(id))?;
        // An id that another request inserted meanwhile answers that one's run.
        let view = self.first_start(&mut tx, start, run).await?;
        tx.commit().await?;
        Ok((view, held))
    }

    /// What a turn offers now. Words that an agent wrote pass the redactor.
    pub(super) async fn offered(
        &self,
        db: &mut PgConnection,
        agent: &Agent,
        kind: RunKind,
        held: &[SnapshotScript],
    ) -> Result<Vec<OfferedTool>, RunError> {
        let bindings = bindings::for_agent(db, agent).await?;
        let redactor = self.redactor(db, &agent.organisation).await?;
        let tools = offer(agent, &bindings, kind, &[], held);
        Ok(redacted(tools, &redactor))
    }

    /// Asks the machine for account, home, cgroup and runner. Idempotent.
    pub(super) async fn make_ready(&self, agent: &Agent) -> Result<(), MachineError> {
        let operation = EnsureAgent { agent: &agent.id };
        self.machines
            .ask(
                &machine_of(agent),
                Some(&place_of(agent)),
                &operation,
                READY_WITHIN,
            )
            .await
            .map(|_| ())
    }
}

pub(super) fn machine_of(agent: &Agent) -> Machine {
    Machine {
        id: agent.machine.clone(),
        address: agent.machine_address.clone(),
    }
}

pub(super) fn place_of(agent: &Agent) -> Place<'_> {
    Place {
        organisation: &agent.organisation,
        slot: agent.slot,
    }
}

/// A name from a caller, cut to a length worth repeating.
pub(super) fn printable(name: &str) -> &str {
    &name[..name.floor_char_boundary(100)]
}
