//! Events: what the chat backend is told, in one order that every reader sees without a gap.
//!
//! A `seq` is taken under a lock that its transaction holds until it has
//! committed. So they become visible in the order of their numbers, and a reader
//! that resumes after the last one it saw neither skips nor repeats any.

pub mod feed;

use futures_util::TryStreamExt as _;
use serde::Serialize;
use sqlx::types::Json;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::time::rfc3339;

/// Days for which an event is kept.
pub const KEPT_DAYS: i32 = 30;
/// Channel on which a commit tells its `seq`, as the migration's function has it.
const CHANNEL: &str = "guilds_events";
/// The lock under which a `seq` is taken, as the migration's function has it.
const LOCK: (i32, i32) = (1_702_258_030, 29_811);
/// Most bytes of detail in one page; one event always fits.
const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Events removed by one statement.
const SWEPT_AT_ONCE: i64 = 5_000;

/// Something that happened, and to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its organisation.
    pub organisation: String,
    /// Its guild, when it has one.
    pub guild: Option<String>,
    /// Its agent, when it has one.
    pub agent: Option<String>,
    /// What happened.
    pub what: What,
}

/// What happened. Its fields stand beside those of every event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum What {
    /// A schedule fired: its agent wakes up.
    Wakeup {
        /// The schedule.
        schedule_id: Uuid,
        /// Its one-line label, redacted.
        description: String,
        /// What the agent is to do, redacted.
        instruction: String,
        /// When it was due.
        due_at: String,
        /// Whether it comes a minute or more after that.
        late: bool,
    },
    /// An agent posted to its guild's chat.
    GroupPost {
        /// The post.
        post: Uuid,
        /// Its text, redacted.
        content: String,
        /// The agents that are asked to reply, and `user` for the operator.
        asks: Vec<String>,
    },
    /// An agent reported a problem.
    Issue {
        /// The issue that counts it.
        issue: i64,
        /// What the report did to it.
        change: IssueChange,
        /// `tool_failure`, `truncated`, `api` or `other`.
        kind: String,
        /// The tool that failed.
        tool_name: Option<String>,
        /// One line, redacted.
        summary: String,
        /// The issue's: the highest seen.
        severity: String,
        /// Reports so far.
        reports: i32,
        /// The run that reported.
        run: Uuid,
        /// The call that reported.
        call_id: String,
    },
    /// An agent asked for a secret.
    SecretRequest {
        /// The request.
        request: Uuid,
        /// The secret's name.
        name: String,
        /// Why, redacted.
        reason: String,
        /// The run that asked.
        run: Uuid,
        /// The call that asked.
        call_id: String,
    },
    /// An operator granted what an agent asked for.
    SecretGranted {
        /// The request.
        request: Uuid,
        /// The secret's name.
        name: String,
    },
    /// A login has another status.
    LoginChanged {
        /// The connector it opens.
        connector: String,
        /// `agent`, `guild` or `organisation`.
        level: String,
        /// Id of that agent, guild or organisation.
        owner: String,
        /// `pending`, `connected` or `disconnected`.
        status: String,
    },
}

/// What a report did to its issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueChange {
    /// Nobody had reported it.
    New,
    /// It was open.
    Counted,
    /// It was resolved.
    Reopened,
}

impl What {
    const fn word(&self) -> &'static str {
        match self {
            Self::Wakeup { .. } => "wakeup",
            Self::GroupPost { .. } => "group_post",
            Self::Issue { .. } => "issue",
            Self::SecretRequest { .. } => "secret_request",
            Self::SecretGranted { .. } => "secret_granted",
            Self::LoginChanged { .. } => "login_changed",
        }
    }
}

/// Records an event in the transaction of what happened, and answers its `seq`.
///
/// The last statement before the commit: until then every other writer waits.
///
/// # Errors
/// When the database does not answer.
pub async fn record(db: &mut PgConnection, event: &Event) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT record_event($1, $2, $3, $4, $5::json)")
        .bind(event.what.word())
        .bind(&event.organisation)
        .bind(&event.guild)
        .bind(&event.agent)
        .bind(Json(&event.what))
        .fetch_one(db)
        .await
}

/// Records many events at once, in their order, as [`record`] does one, unless the secrets
/// of an organisation have another version than the one that was taken out of its texts:
/// then nothing is recorded and the answer is no.
///
/// # Errors
/// When the database does not answer.
pub async fn record_all(
    db: &mut PgConnection,
    events: &[Event],
    secrets: &[(&str, i64)],
) -> sqlx::Result<bool> {
    // The wait for other writers comes first: the statement after it sees what was
    // committed meanwhile.
    sqlx::query("SELECT pg_advisory_xact_lock($1, $2)")
        .bind(LOCK.0)
        .bind(LOCK.1)
        .execute(&mut *db)
        .await?;
    let each = |of: fn(&Event) -> Option<&str>| events.iter().map(of).collect::<Vec<_>>();
    let details = events.iter().map(|event| Json(&event.what));
    sqlx::query_scalar(
        "WITH secrets AS (
           SELECT NOT EXISTS (
             SELECT FROM unnest($6::text[], $7::bigint[]) AS v(organisation, version)
               LEFT JOIN organisations o ON o.id = v.organisation
             WHERE o.secrets_version IS DISTINCT FROM v.version
           ) AS current
         ), recorded AS MATERIALIZED (
           SELECT record_event(e.type, e.organisation, e.guild, e.agent, e.detail)
           FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::json[])
             AS e(type, organisation, guild, agent, detail)
           WHERE (SELECT current FROM secrets)
         )
         SELECT current FROM secrets WHERE (SELECT count(*) FROM recorded) >= 0",
    )
    .bind(each(|event| Some(event.what.word())))
    .bind(each(|event| Some(&event.organisation)))
    .bind(each(|event| event.guild.as_deref()))
    .bind(each(|event| event.agent.as_deref()))
    .bind(details.collect::<Vec<_>>())
    .bind(secrets.iter().map(|of| of.0).collect::<Vec<_>>())
    .bind(secrets.iter().map(|of| of.1).collect::<Vec<_>>())
    .fetch_one(db)
    .await
}

/// Records that a login has another status. `level` and `owner` say whose it is.
///
/// # Errors
/// When the database does not answer.
pub async fn login_changed(
    db: &mut PgConnection,
    organisation: &str,
    connector: &str,
    (level, owner): (&str, &str),
    status: &str,
) -> sqlx::Result<i64> {
    let of_agent = (level == "agent").then(|| owner.to_owned());
    let guild = match &of_agent {
        Some(agent) => {
            sqlx::query_scalar("SELECT guild FROM agents WHERE id = $1")
                .bind(agent)
                .fetch_optional(&mut *db)
                .await?
        }
        None => (level == "guild").then(|| owner.to_owned()),
    };
    let event = Event {
        organisation: organisation.to_owned(),
        guild,
        agent: of_agent,
        what: What::LoginChanged {
            connector: connector.to_owned(),
            level: level.to_owned(),
            owner: owner.to_owned(),
            status: status.to_owned(),
        },
    };
    record(db, &event).await
}

/// An event as a reader sees it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its place in the order of all events.
    pub seq: i64,
    /// The word of its type.
    pub kind: String,
    /// When it was recorded.
    pub at: String,
    /// Its organisation.
    pub organisation: String,
    /// Its guild.
    pub guild: Option<String>,
    /// Its agent.
    pub agent: Option<String>,
    /// What its type adds: JSON text of an object.
    pub detail: String,
}

type Row = (
    i64,
    String,
    i64,
    String,
    Option<String>,
    Option<String>,
    String,
);

/// Up to `limit` events after a `seq`, and whether there are more.
///
/// # Errors
/// When the database does not answer.
pub async fn page(pool: &PgPool, after: i64, limit: usize) -> sqlx::Result<(Vec<Listed>, bool)> {
    let mut rows = sqlx::query_as::<_, Row>(
        "SELECT seq, type, floor(extract(epoch FROM at) * 1000)::bigint, organisation, guild,
                agent, detail::text
         FROM events WHERE seq > $1 ORDER BY seq LIMIT $2",
    )
    .bind(after)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))
    .fetch(pool);
    let mut page = Vec::new();
    let mut bytes = 0;
    while let Some((seq, kind, at, organisation, guild, agent, detail)) = rows.try_next().await? {
        bytes += detail.len();
        if page.len() == limit || (bytes > PAGE_BYTES && !page.is_empty()) {
            return Ok((page, true));
        }
        page.push(Listed {
            seq,
            kind,
            at: rfc3339(at),
            organisation,
            guild,
            agent,
            detail,
        });
    }
    Ok((page, false))
}

/// What a place in the order means today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
pub struct Bounds {
    /// The highest number that was ever taken.
    pub newest: i64,
    /// Every event up to here was removed because of its age.
    pub swept: i64,
}

/// The bounds of what a reader can ask for.
///
/// # Errors
/// When the database does not answer.
pub async fn bounds(pool: &PgPool) -> sqlx::Result<Bounds> {
    sqlx::query_as(
        "SELECT CASE WHEN s.is_called THEN s.last_value ELSE 0 END AS newest,
                coalesce((SELECT through FROM events_swept), 0) AS swept
         FROM events_seq_seq s",
    )
    .fetch_one(pool)
    .await
}

/// The number of the newest event, 0 without one.
async fn newest(pool: &PgPool) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT coalesce(max(seq), 0) FROM events")
        .fetch_one(pool)
        .await
}

/// Removes events that are too old, in their order, and answers how many.
///
/// # Errors
/// When the database does not answer.
pub async fn sweep(pool: &PgPool) -> sqlx::Result<u64> {
    let mut removed = 0;
    loop {
        let gone: i64 = sqlx::query_scalar(
            "WITH old AS (
               SELECT seq FROM events WHERE at < now() - make_interval(days => $1)
               ORDER BY seq LIMIT $2
             ), gone AS (
               DELETE FROM events e USING old WHERE e.seq = old.seq RETURNING e.seq
             ), told AS (
               UPDATE events_swept SET through = greatest(through, (SELECT max(seq) FROM gone))
               WHERE EXISTS (SELECT FROM gone)
             )
             SELECT count(*) FROM gone",
        )
        .bind(KEPT_DAYS)
        .bind(SWEPT_AT_ONCE)
        .fetch_one(pool)
        .await?;
        removed += gone.unsigned_abs();
        if gone < SWEPT_AT_ONCE {
            return Ok(removed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_issue_adds_has_the_names_of_the_documents() {
        let what = What::Issue {
            issue: 7,
            change: IssueChange::Reopened,
            kind: "api".to_owned(),
            tool_name: None,
            summary: "s".to_owned(),
            severity: "low".to_owned(),
            reports: 2,
            run: Uuid::nil(),
            call_id: "c".to_owned(),
        };
        assert_eq!(what.word(), "issue");
        assert_eq!(
            serde_json::to_string(&what).unwrap(),
            r#"{"issue":7,"change":"reopened","kind":"api","tool_name":null,"summary":"s","severity":"low","reports":2,"run":"00000000-0000-0000-0000-000000000000","call_id":"c"}"#
        );
    }
}
