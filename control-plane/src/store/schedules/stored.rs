//! One schedule with all that its next fire depends on, held by whoever changes it.

use sqlx::PgConnection;
use uuid::Uuid;

use crate::schedule::cron::Cron;
use crate::schedule::window::Window;
use crate::schedule::{APART, From, Minute, Next, Plan, Rule};

/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;

/// A schedule as it is stored.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Its id.
    pub id: Uuid,
    /// Its agent's organisation.
    pub organisation: String,
    /// Its agent's guild.
    pub guild: String,
    /// Whose it is.
    pub agent: String,
    /// A one-line label, redacted when it was stored.
    pub description: String,
    /// What the wake-up says, redacted when it was stored.
    pub instruction: String,
    /// Whether it is paused.
    pub paused: bool,
    /// When it is due, in milliseconds since 1970; none while it is paused.
    pub due_ms: Option<i64>,
    /// The database's clock when this was read, in milliseconds since 1970.
    pub now_ms: i64,
    cron: Option<String>,
    window: Option<(String, String, String, i32)>,
    seed: Vec<u8>,
    plan: Option<Plan>,
    last_fire_ms: Option<i64>,
}

/// Its columns, in the statements that read [`Row`]. `s` is the schedule, `a` its agent.
pub(super) const COLUMNS: &str =
    "s.id, s.organisation, a.guild, s.agent, s.description, s.instruction,
    s.state = 'paused' AS paused, s.cron, s.timezone, s.starts, s.ends, s.max_wakes,
    s.seed, s.plan_day, s.plan_minutes,
    floor(extract(epoch FROM s.next_fire) * 1000)::bigint AS due_ms,
    floor(extract(epoch FROM s.last_fire) * 1000)::bigint AS last_fire_ms,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms";

#[derive(sqlx::FromRow)]
pub(super) struct Row {
    id: Uuid,
    organisation: String,
    guild: String,
    agent: String,
    description: String,
    instruction: String,
    paused: bool,
    cron: Option<String>,
    timezone: Option<String>,
    starts: Option<String>,
    ends: Option<String>,
    max_wakes: Option<i32>,
    seed: Vec<u8>,
    plan_day: Option<i32>,
    plan_minutes: Option<Vec<i64>>,
    due_ms: Option<i64>,
    last_fire_ms: Option<i64>,
    now_ms: i64,
}

impl std::convert::From<Row> for Stored {
    fn from(row: Row) -> Self {
        let window = match (row.timezone, row.starts, row.ends, row.max_wakes) {
            (Some(timezone), Some(starts), Some(ends), Some(wakes)) => {
                Some((timezone, starts, ends, wakes))
            }
            _ => None,
        };
        let plan = row.plan_day.zip(row.plan_minutes);
        Self {
            id: row.id,
            organisation: row.organisation,
            guild: row.guild,
            agent: row.agent,
            description: row.description,
            instruction: row.instruction,
            paused: row.paused,
            due_ms: row.due_ms,
            now_ms: row.now_ms,
            cron: row.cron,
            window,
            seed: row.seed,
            plan: plan.map(|(day, minutes)| Plan { day, minutes }),
            last_fire_ms: row.last_fire_ms,
        }
    }
}

/// A schedule that no version of the product would have stored.
#[derive(Debug, thiserror::Error)]
#[error("schedule {id} can't fire: {}", problems.join("; "))]
pub struct Unreadable {
    id: Uuid,
    problems: Vec<String>,
}

impl Stored {
    /// The next fire as it is now, apart from the last one by five minutes.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn next(&self) -> Result<Option<Next>, Unreadable> {
        self.next_from(self.now_ms, self.last_fire_ms)
    }

    /// The next fire once it has fired now: from when on that one keeps its distance, in
    /// milliseconds since 1970, and when it is.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn next_after_fire(&self) -> Result<(i64, Option<Next>), Unreadable> {
        let due = self.due_ms.unwrap_or(self.now_ms);
        let fired = if self.is_late() { self.now_ms } else { due };
        // A clock that was set back must not fire the same minute again.
        let next = self.next_from(self.now_ms.max(due), Some(fired))?;
        Ok((fired, next))
    }

    /// Whether a fire now comes a minute or more after it was due.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.due_ms
            .is_some_and(|due| self.now_ms - due >= MINUTE_MS)
    }

    fn next_from(&self, now_ms: i64, last_ms: Option<i64>) -> Result<Option<Next>, Unreadable> {
        let from = From {
            after: now_ms.div_euclid(MINUTE_MS),
            earliest: last_ms.map_or(Minute::MIN + 1, |last| {
                (last + MINUTE_MS - 1).div_euclid(MINUTE_MS) + APART
            }),
        };
        Ok(self.rule()?.next(&self.seed, from, self.plan.as_ref()))
    }

    fn rule(&self) -> Result<Rule, Unreadable> {
        let rule = match (&self.cron, &self.window) {
            (Some(cron), _) => Cron::parse(cron).map(Rule::Cron),
            (None, Some((timezone, starts, ends, wakes))) => {
                let times = (starts.as_str(), ends.as_str());
                Window::parse(timezone, times, i64::from(*wakes), |_, _| None)
                    .map(|window| Rule::Window(Box::new(window)))
            }
            (None, None) => Err(vec!["it has no rule".to_owned()]),
        };
        rule.map_err(|problems| Unreadable {
            id: self.id,
            problems,
        })
    }
}

/// A schedule of an organisation, and of one agent when one is named, held until the
/// transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn hold(
    db: &mut PgConnection,
    organisation: &str,
    agent: Option<&str>,
    id: Uuid,
) -> sqlx::Result<Option<Stored>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM schedules s JOIN agents a ON a.id = s.agent
         WHERE s.organisation = $1 AND ($2::text IS NULL OR s.agent = $2) AND s.id = $3
         FOR NO KEY UPDATE OF s"
    );
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(organisation)
        .bind(agent)
        .bind(id)
        .fetch_optional(db)
        .await?;
    Ok(row.map(Stored::from))
}
