//! A turn: bindings and flags are read again, and what is off leaves here and not before.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::engine::Engine;
use super::error::RunError;
use super::offer::RunKind;
use super::view::not_found;
use crate::store::{agents, runs, scripts, standing};

/// The answer to a new turn.
#[derive(Debug, Serialize)]
pub struct TurnView {
    turn: i32,
    tools: Box<RawValue>,
    added: Vec<String>,
    removed: Vec<String>,
    remaining_tool_calls: i32,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl Engine {
    /// Begins the next turn of a run.
    ///
    /// # Errors
    /// [`RunError::NotFound`], [`RunError::Ended`], or a failure.
    pub async fn next_turn(&self, id: Uuid) -> Result<TurnView, RunError> {
        let mut tx = self.pool.begin().await?;
        let run = runs::lock(&mut tx, id).await?;
        let run = run.ok_or_else(|| not_found(id))?;
        if !run.is_open() {
            return Err(RunError::Ended(id));
        }
        let kind = RunKind::parse(&run.kind).ok_or_else(|| not_found(id))?;
        let agent = agents::find(&mut tx, &run.agent).await?;
        let agent = agent.ok_or_else(|| not_found(id))?;
        let before = runs::turn(&mut tx, id, run.turn).await?;
        let offered = before.as_ref().map_or("[]", |turn| &turn.tools);
        let before = names(offered)?;
        let held = scripts::of_run(&mut tx, id).await?;
        let tools = self.offered(&mut tx, &agent, kind, &held).await?;
        let tools = serde_json::to_string(&tools)?;
        let now = names(&tools)?;
        let turn = run.turn + 1;
        runs::insert_turn(&mut tx, id, turn, &tools, &agent.config).await?;
        runs::begin_turn(&mut tx, id, turn).await?;
        if offered != tools {
            standing::tell(&mut tx, id).await?;
        }
        tx.commit().await?;
        Ok(TurnView {
            turn,
            tools: RawValue::from_string(tools)?,
            added: now.difference(&before).cloned().collect(),
            removed: before.difference(&now).cloned().collect(),
            remaining_tool_calls: run.remaining,
        })
    }
}

fn names(tools: &str) -> Result<BTreeSet<String>, RunError> {
    let tools: Vec<Named> = serde_json::from_str(tools)?;
    Ok(tools.into_iter().map(|tool| tool.name).collect())
}
