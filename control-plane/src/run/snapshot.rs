//! What a turn offered, read once: offer and dispatch look at the same rows.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use sqlx::PgConnection;
use uuid::Uuid;

use super::error::RunError;
use super::offer::Source;
use crate::store::agents::{self, Agent};
use crate::store::runs;

/// Snapshots kept; a snapshot never changes, so keeping one is always right.
const KEPT: usize = 1_024;

/// What the path of a call needs of a turn.
#[derive(Debug)]
pub struct Snapshot {
    /// The agent with its configuration as the turn read it.
    pub agent: Agent,
    /// The offered names.
    pub offered: HashMap<String, Source>,
}

/// The snapshots of recent turns.
#[derive(Debug, Default)]
pub struct Snapshots {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_turn: HashMap<(Uuid, i32), Arc<Snapshot>>,
    order: VecDeque<(Uuid, i32)>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    source: Source,
}

impl Snapshots {
    /// A snapshot that is kept.
    pub fn kept(&self, run: Uuid, turn: i32) -> Option<Arc<Snapshot>> {
        self.lock().by_turn.get(&(run, turn)).cloned()
    }

    /// The snapshot of a turn.
    ///
    /// # Errors
    /// When the database does not answer or holds no such turn.
    pub async fn read(
        &self,
        db: &mut PgConnection,
        run: Uuid,
        turn: i32,
    ) -> Result<Arc<Snapshot>, RunError> {
        if let Some(kept) = self.kept(run, turn) {
            return Ok(kept);
        }
        let snapshot = Arc::new(load(db, run, turn).await?);
        let mut kept = self.lock();
        if kept
            .by_turn
            .insert((run, turn), Arc::clone(&snapshot))
            .is_none()
        {
            kept.order.push_back((run, turn));
        }
        while kept.order.len() > KEPT {
            if let Some(oldest) = kept.order.pop_front() {
                kept.by_turn.remove(&oldest);
            }
        }
        Ok(snapshot)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn load(db: &mut PgConnection, run: Uuid, turn: i32) -> Result<Snapshot, RunError> {
    let absent = || RunError::NotFound(format!("no run {run}"));
    let stored = runs::find(db, run).await?.ok_or_else(absent)?;
    let mut agent = agents::find(db, &stored.agent).await?.ok_or_else(absent)?;
    let turn = runs::turn(db, run, turn).await?.ok_or_else(absent)?;
    let entries: Vec<Entry> = serde_json::from_str(&turn.tools)?;
    agent.config = turn.config;
    Ok(Snapshot {
        agent,
        offered: entries
            .into_iter()
            .map(|entry| (entry.name, entry.source))
            .collect(),
    })
}
