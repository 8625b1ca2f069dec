//! Issues as operators read them, the one that was reported last first.

use serde::Serialize;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::place::Place;
use crate::store::time::rfc3339;

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// Its id.
    pub id: i64,
    guild: String,
    kind: String,
    tool_name: Option<String>,
    summary: String,
    severity: String,
    /// `open` or `resolved`.
    pub status: String,
    reports: i32,
    /// Who reported it.
    agents: Vec<String>,
    first_at: String,
    last_at: String,
    last_report: LastReport,
    #[serde(skip)]
    last_us: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct LastReport {
    run: Uuid,
    call_id: String,
    agent: String,
    detail: String,
    at: String,
}

impl Issue {
    /// Its place in the list.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            at_us: self.last_us,
            id: self.id.to_string(),
        }
    }

    /// Roughly its bytes in an answer.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.summary.len() + self.last_report.detail.len() + 500
    }
}

/// One report of an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reported {
    /// Its id, the cursor of the list.
    pub id: i64,
    run: Uuid,
    call_id: String,
    agent: String,
    summary: String,
    detail: String,
    severity: String,
    at: String,
}

/// Which issues are wanted.
#[derive(Debug, Default)]
pub struct Filter {
    /// Of this guild.
    pub guild: Option<String>,
    /// `open` or `resolved`.
    pub status: Option<&'static str>,
    /// One of these ids.
    pub ids: Option<Vec<i64>>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    guild: String,
    kind: String,
    tool_name: Option<String>,
    summary: String,
    severity: String,
    status: String,
    reports: i32,
    agents: Vec<String>,
    first_ms: i64,
    last_us: i64,
    run: Uuid,
    call_id: String,
    agent: String,
    detail: String,
    at_ms: i64,
}

impl From<Row> for Issue {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            guild: row.guild,
            kind: row.kind,
            tool_name: row.tool_name,
            summary: row.summary,
            severity: row.severity,
            status: row.status,
            reports: row.reports,
            agents: row.agents,
            first_at: rfc3339(row.first_ms),
            last_at: rfc3339(row.last_us.div_euclid(1_000)),
            last_report: LastReport {
                run: row.run,
                call_id: row.call_id,
                agent: row.agent,
                detail: row.detail,
                at: rfc3339(row.at_ms),
            },
            last_us: row.last_us,
        }
    }
}

/// Up to `limit` issues of an organisation after a place.
///
/// # Errors
/// When the database does not answer.
pub async fn page(
    db: &mut PgConnection,
    organisation: &str,
    filter: &Filter,
    after: Option<&Place>,
    limit: i64,
) -> sqlx::Result<Vec<Issue>> {
    let rows: Vec<Row> = sqlx::query_as(
        "WITH listed AS (
           SELECT *, floor(extract(epoch FROM last_at) * 1000000)::bigint AS last_us FROM issues
           WHERE organisation = $1 AND ($2::text IS NULL OR guild = $2)
             AND ($3::text IS NULL OR status = $3) AND ($4::bigint[] IS NULL OR id = ANY($4))
         )
         SELECT i.id, i.guild, i.kind, i.tool_name, i.summary, i.severity, i.status, i.reports,
                ARRAY(SELECT DISTINCT r.agent FROM issue_reports r WHERE r.issue = i.id
                      ORDER BY r.agent) AS agents,
                floor(extract(epoch FROM i.first_at) * 1000)::bigint AS first_ms, i.last_us,
                l.run, l.call_id, l.agent, l.detail,
                floor(extract(epoch FROM l.at) * 1000)::bigint AS at_ms
         FROM listed i CROSS JOIN LATERAL (
           SELECT * FROM issue_reports r WHERE r.issue = i.id ORDER BY r.id DESC LIMIT 1
         ) l
         WHERE $5::bigint IS NULL OR (i.last_us, i.id) < ($5, $6)
         ORDER BY i.last_us DESC, i.id DESC LIMIT $7",
    )
    .bind(organisation)
    .bind(&filter.guild)
    .bind(filter.status)
    .bind(&filter.ids)
    .bind(after.map(|place| place.at_us))
    .bind(after.and_then(|place| place.id.parse::<i64>().ok()))
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Issue::from).collect())
}

/// One issue of an organisation.
///
/// # Errors
/// When the database does not answer.
pub async fn find(
    db: &mut PgConnection,
    organisation: &str,
    id: i64,
) -> sqlx::Result<Option<Issue>> {
    let filter = Filter {
        ids: Some(vec![id]),
        ..Filter::default()
    };
    Ok(page(db, organisation, &filter, None, 1).await?.pop())
}

type ReportRow = (i64, Uuid, String, String, String, String, String, i64);

/// Up to `limit` reports of an issue, newest first, older than the report `after`.
///
/// # Errors
/// When the database does not answer.
pub async fn reports(
    db: &mut PgConnection,
    issue: i64,
    after: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<Reported>> {
    let rows: Vec<ReportRow> = sqlx::query_as(
        "SELECT id, run, call_id, agent, summary, detail, severity,
                floor(extract(epoch FROM at) * 1000)::bigint
         FROM issue_reports WHERE issue = $1 AND ($2::bigint IS NULL OR id < $2)
         ORDER BY id DESC LIMIT $3",
    )
    .bind(issue)
    .bind(after)
    .bind(limit)
    .fetch_all(db)
    .await?;
    let reported = |(id, run, call_id, agent, summary, detail, severity, at)| Reported {
        id,
        run,
        call_id,
        agent,
        summary,
        detail,
        severity,
        at: rfc3339(at),
    };
    Ok(rows.into_iter().map(reported).collect())
}

/// Gives an issue of an organisation a status and answers the one before; `None`
/// without such an issue.
///
/// # Errors
/// When the database does not answer.
pub async fn set_status(
    db: &mut PgConnection,
    organisation: &str,
    id: i64,
    status: &str,
) -> sqlx::Result<Option<String>> {
    // Locked first: a report may be opening it at this moment.
    let before: Option<String> = sqlx::query_scalar(
        "SELECT status FROM issues WHERE organisation = $1 AND id = $2 FOR NO KEY UPDATE",
    )
    .bind(organisation)
    .bind(id)
    .fetch_optional(&mut *db)
    .await?;
    if before.as_deref().is_some_and(|before| before != status) {
        sqlx::query("UPDATE issues SET status = $2 WHERE id = $1")
            .bind(id)
            .bind(status)
            .execute(db)
            .await?;
    }
    Ok(before)
}
