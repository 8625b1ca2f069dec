//! The files of an agent's scripts on its machine: written from a run's snapshot, removed with their script.

use std::sync::Arc;
use std::time::Duration;

use machine_agent_api::{DeleteScript, PutScript, Script};

use super::engine::Engine;
use super::start::{machine_of, place_of};
use crate::store::agents::Agent;
use crate::store::scripts::{self, SnapshotScript};

/// Time for each file.
const WITHIN: Duration = Duration::from_secs(10);

impl Engine {
    /// Brings the machine's files in line with a run that starts: those of scripts that were
    /// deleted while the machine was away go, those of the snapshot are written. Each
    /// `script_run` carries its source too, so a file that can't be written now is no failure.
    pub(super) fn write_scripts(self: &Arc<Self>, agent: Agent, held: Vec<SnapshotScript>) {
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            let deleted = async {
                let mut db = engine.pool.acquire().await?;
                scripts::deleted(&mut db, &agent).await
            };
            match deleted.await {
                Ok(names) => {
                    for name in names {
                        engine.remove_script(&agent, &name).await;
                    }
                }
                Err(error) => {
                    tracing::warn!(agent = agent.id, %error, "which script files to remove is not known");
                }
            }
            for SnapshotScript { script, .. } in held {
                if !engine.write_script(&agent, script).await {
                    return;
                }
            }
        });
    }

    /// False when the machine didn't write it.
    async fn write_script(&self, agent: &Agent, script: scripts::Script) -> bool {
        let script = Script {
            name: script.name,
            sha256: script.sha256,
            source: script.source,
        };
        let operation = PutScript {
            agent: &agent.id,
            script: &script,
        };
        let (machine, place) = (machine_of(agent), place_of(agent));
        let written = self
            .machines
            .ask(&machine, Some(&place), &operation, WITHIN)
            .await;
        if let Err(error) = &written {
            tracing::warn!(agent = agent.id, script = script.name, %error, "a script file was not written");
        }
        written.is_ok()
    }

    /// Removes the file of a script that was deleted. When the machine doesn't, the next run
    /// that starts asks again.
    pub(super) async fn remove_script(&self, agent: &Agent, name: &str) {
        let operation = DeleteScript {
            agent: &agent.id,
            name,
        };
        let (machine, place) = (machine_of(agent), place_of(agent));
        let removed = self
            .machines
            .ask(&machine, Some(&place), &operation, WITHIN)
            .await;
        let forgotten = match removed {
            Ok(_) => {
                async {
                    let mut db = self.pool.acquire().await?;
                    scripts::forget_deleted(&mut db, agent, name).await
                }
                .await
            }
            Err(error) => {
                tracing::warn!(agent = agent.id, script = name, %error, "a script file was not removed");
                return;
            }
        };
        if let Err(error) = forgotten {
            tracing::warn!(agent = agent.id, script = name, %error, "a removed script file is not noted as such");
        }
    }
}
