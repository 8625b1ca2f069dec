//! Wake-ups: what is due fires, once over all replicas, and the chat backend is told.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

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
        while firing::any_due(&self.pool).await? {
            if self.fire_some(mute).await? < AT_ONCE {
                break;
            }
        }
        Ok(())
    }

    /// Claims some due schedules, moves them on and tells, all or nothing. Answers how many
    /// it claimed.
    async fn fire_some(&self, mute: &mut Mute) -> Result<i64, RunError> {
        let mut tx = self.pool.begin().await?;
        let without: Vec<String> = mute.keys().cloned().collect();
        let due = firing::claim(&mut tx, &without, AT_ONCE).await?;
        let claimed = i64::try_from(due.len()).unwrap_or(i64::MAX);
        let mut redactors: HashMap<String, Arc<Redactor>> = HashMap::new();
        let (mut fired, mut told) = (Vec::new(), Vec::new());
        for schedule in due {
            let organisation = &schedule.organisation;
            if mute.contains_key(organisation) {
                continue;
            }
            if !redactors.contains_key(organisation) {
                match self.redactor(&mut tx, organisation).await {
                    Ok(redactor) => {
                        redactors.insert(organisation.clone(), redactor);
                    }
                    // The cause is in the log; those of other organisations go on.
                    Err(RunError::Unavailable(_)) => {
                        mute.insert(organisation.clone(), Instant::now());
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            match advance(&schedule) {
                Ok(next) => {
                    fired.push(next);
                    told.extend(
                        redactors
                            .get(organisation)
                            .map(|redactor| wakeup(&schedule, redactor)),
                    );
                }
                Err(error) => {
                    tracing::error!(error = chain(&error), "a schedule is set aside");
                    firing::set_aside(&mut tx, schedule.id).await?;
                }
            }
        }
        firing::advance(&mut tx, &fired).await?;
        events::record_all(&mut tx, &told).await?;
        tx.commit().await?;
        if !fired.is_empty() {
            tracing::debug!(fired = fired.len(), "schedules fired");
        }
        Ok(claimed)
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
