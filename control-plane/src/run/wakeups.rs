//! Wake-ups: what is due fires, once over all replicas, and the chat backend is told.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sqlx::PgConnection;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::engine::Engine;
use super::error::RunError;
use super::result::Redactor;
use super::sweep::Told;
use crate::store::events::{self, Event, What};
use crate::store::schedules::firing::{self, Advance};
use crate::store::schedules::stored::Stored;
use crate::store::time::rfc3339;
use crate::telemetry::chain;

/// Between two looks at what is due.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Time for one look and what it fires.
const FIRE_WITHIN: Duration = Duration::from_secs(30);
/// Schedules that one transaction fires.
const AT_ONCE: i64 = 250;
/// Time for which an organisation whose secrets can't be read is left out.
const LEFT_OUT: Duration = Duration::from_secs(60);

/// Organisations that can't be told anything now, and since when.
type Mute = HashMap<String, Instant>;

impl Engine {
    /// Fires what is due until `stop` changes. A transaction that is cut off then has fired
    /// nothing; the next look of any replica does.
    pub async fn wake(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            () = self.fire_for_ever() => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }

    async fn fire_for_ever(&self) {
        let mut tick = interval(LOOK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut told, mut mute) = (Told::default(), Mute::new());
        loop {
            tick.tick().await;
            mute.retain(|_, since| since.elapsed() < LEFT_OUT);
            let fired = timeout(FIRE_WITHIN, self.fire_all(&mut mute));
            let fired = fired.await.unwrap_or_else(|_| {
                Err(RunError::Unavailable(format!(
                    "the database did not answer within {} s",
                    FIRE_WITHIN.as_secs()
                )))
            });
            told.tell("schedules were not fired", fired);
        }
    }

    /// Fires until nothing is due any more that nobody else is firing.
    async fn fire_all(&self, mute: &mut Mute) -> Result<(), RunError> {
        while firing::any_due(&self.pool).await? && self.fire_some(mute).await? {}
        Ok(())
    }

    /// Claims some due schedules, moves them on and tells, all or nothing. Answers whether
    /// there may be more.
    async fn fire_some(&self, mute: &mut Mute) -> Result<bool, RunError> {
        let mut tx = self.pool.begin().await?;
        let without: Vec<String> = mute.keys().cloned().collect();
        let due = firing::claim(&mut tx, &without, AT_ONCE).await?;
        if due.is_empty() {
            // Another replica is firing what is due.
            return Ok(false);
        }
        let more = due.len() >= usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
        let redactors = self.redactors(&mut tx, &due, mute).await?;
        let (mut fired, mut told) = (Vec::new(), Vec::new());
        for schedule in &due {
            let Some(redactor) = redactors.get(&schedule.organisation) else {
                continue;
            };
            match advance(schedule) {
                Ok(next) => {
                    fired.push(next);
                    told.push(wakeup(schedule, redactor));
                }
                Err(error) => {
                    tracing::error!(error = chain(&error), "a schedule is set aside");
                    firing::set_aside(&mut tx, schedule.id).await?;
                }
            }
        }
        firing::advance(&mut tx, &fired).await?;
        let versions: Vec<(&str, i64)> = redactors
            .iter()
            .map(|(organisation, redactor)| (organisation.as_str(), redactor.version()))
            .collect();
        if !events::record_all(&mut tx, &told, &versions).await? {
            // A secret came meanwhile: they are claimed again and told without it.
            tx.rollback().await?;
            return Ok(true);
        }
        tx.commit().await?;
        if !fired.is_empty() {
            tracing::debug!(fired = fired.len(), "schedules fired");
        }
        Ok(more)
    }

    /// What takes the secrets out of the texts of each organisation that is due. One whose
    /// secrets can't be read is left out for a while; the cause is in the log.
    async fn redactors(
        &self,
        db: &mut PgConnection,
        due: &[Stored],
        mute: &mut Mute,
    ) -> Result<HashMap<String, Arc<Redactor>>, RunError> {
        let mut redactors = HashMap::new();
        for Stored { organisation, .. } in due {
            if redactors.contains_key(organisation) || mute.contains_key(organisation) {
                continue;
            }
            match self.redactor(db, organisation).await {
                Ok(redactor) => {
                    redactors.insert(organisation.clone(), redactor);
                }
                Err(RunError::Unavailable(_)) => {
                    mute.insert(organisation.clone(), Instant::now());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(redactors)
    }
}

fn advance(schedule: &Stored) -> Result<Advance, crate::store::schedules::stored::Unreadable> {
    let (last_ms, next) = schedule.next_after_fire()?;
    Ok(Advance {
        id: schedule.id,
        due_ms: schedule.due_ms.unwrap_or(schedule.now_ms),
        fired_ms: schedule.now_ms,
        late: schedule.is_late(),
        last_ms,
        next,
    })
}

/// The event of a fire. Its texts are redacted again: a secret may be newer than they are.
fn wakeup(schedule: &Stored, redactor: &Redactor) -> Event {
    Event {
        organisation: schedule.organisation.clone(),
        guild: Some(schedule.guild.clone()),
        agent: Some(schedule.agent.clone()),
        what: What::Wakeup {
            schedule_id: schedule.id,
            description: redactor.apply(&schedule.description),
            instruction: redactor.apply(&schedule.instruction),
            due_at: rfc3339(schedule.due_ms.unwrap_or(schedule.now_ms)),
            late: schedule.is_late(),
        },
    }
}
