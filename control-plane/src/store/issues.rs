//! Issues: problems that agents report, equal ones counted on one row.

pub mod reading;

use sqlx::PgConnection;
use uuid::Uuid;

use super::agents::Agent;
use super::events::IssueChange;
use super::words;

/// One report.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// `tool_failure`, `truncated`, `api` or `other`.
    pub kind: &'a str,
    /// The tool that failed.
    pub tool_name: Option<&'a str>,
    /// One line.
    pub summary: &'a str,
    /// What failed.
    pub detail: &'a str,
    /// `low`, `medium` or `high`.
    pub severity: &'a str,
}

/// What a report came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed {
    /// The issue that counts it.
    pub issue: i64,
    /// What became of the issue.
    pub change: IssueChange,
    /// The issue's severity: the highest seen.
    pub severity: String,
    /// Its reports so far.
    pub reports: i32,
}

/// Files a report in the agent's guild: a new issue, or one more on an equal one,
/// which opens again and shows the highest severity seen.
///
/// # Errors
/// When the database does not answer.
pub async fn report(
    db: &mut PgConnection,
    agent: &Agent,
    run: Uuid,
    call_id: &str,
    report: Report<'_>,
) -> sqlx::Result<Filed> {
    // The status stays at first, so that the answer shows the one before.
    let (issue, status, severity, reports): (i64, String, String, i32) = sqlx::query_as(
        "INSERT INTO issues AS i
           (organisation, guild, fingerprint, kind, tool_name, summary, severity, reports)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 1)
         ON CONFLICT ON CONSTRAINT issues_fingerprint_key DO UPDATE SET
           reports = i.reports + 1, last_at = clock_timestamp(),
           severity = CASE WHEN array_position(ARRAY['low', 'medium', 'high'], excluded.severity)
                             > array_position(ARRAY['low', 'medium', 'high'], i.severity)
                           THEN excluded.severity ELSE i.severity END
         RETURNING id, status, severity, reports",
    )
    .bind(&agent.organisation)
    .bind(&agent.guild)
    .bind(fingerprint(report.kind, report.tool_name, report.summary))
    .bind(report.kind)
    .bind(report.tool_name)
    .bind(report.summary)
    .bind(report.severity)
    .fetch_one(&mut *db)
    .await?;
    sqlx::query(
        "INSERT INTO issue_reports (issue, run, call_id, agent, summary, detail, severity)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(issue)
    .bind(run)
    .bind(call_id)
    .bind(&agent.id)
    .bind(report.summary)
    .bind(report.detail)
    .bind(report.severity)
    .execute(&mut *db)
    .await?;
    let change = if reports == 1 {
        IssueChange::New
    } else if status == "resolved" {
        sqlx::query("UPDATE issues SET status = 'open' WHERE id = $1")
            .bind(issue)
            .execute(db)
            .await?;
        IssueChange::Reopened
    } else {
        IssueChange::Counted
    };
    Ok(Filed {
        issue,
        change,
        severity,
        reports,
    })
}

/// What makes two reports equal: kind, tool and summary, folded, white space
/// joined, every number's digits as one `#`, so that line 9 and line 10 are alike.
fn fingerprint(kind: &str, tool_name: Option<&str>, summary: &str) -> String {
    let plain = |text: &str| {
        let joined: Vec<&str> = text.split_whitespace().collect();
        let mut plain = String::new();
        for c in words::fold(&joined.join(" ")).chars() {
            match c {
                c if !c.is_numeric() => plain.push(c),
                _ if plain.ends_with('#') => {}
                _ => plain.push('#'),
            }
        }
        plain
    };
    format!(
        "{kind}\n{}\n{}",
        plain(tool_name.unwrap_or_default()),
        plain(summary)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_reports_differ_in_case_digits_and_white_space_only() {
        let first = fingerprint("api", Some("Shell"), "Error 503 at  line 7");
        assert_eq!(first, "api\nshell\nerror # at line #");
        assert_eq!(
            first,
            fingerprint("api", Some("shell"), " ERROR 4040 at line 10 ")
        );
        assert_ne!(
            first,
            fingerprint("other", Some("shell"), "Error 503 at line 7")
        );
        assert_ne!(first, fingerprint("api", None, "Error 503 at line 7"));
    }
}
