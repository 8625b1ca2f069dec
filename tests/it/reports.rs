//! `report_issue`: equal reports are one issue.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stack;

#[tokio::test]
async fn equal_reports_are_counted_on_one_issue_with_the_highest_severity() -> Result<()> {
    let stack = Stack::storage().await?;
    let ada = stack.run(&stack.ada).await?;
    let bob = stack.run(&stack.bob).await?;
    let report = |summary: &str, severity: &str| {
        json!({ "summary": summary, "detail": "note_get: ERROR: 404", "kind": "tool_failure",
                "severity": severity, "tool_name": "note_get" })
    };
    let first = ada
        .call("report_issue", report("Note 17 can't be read", "low"))
        .await?
        .json();
    assert!(first["issue"].is_i64(), "{first}");
    // Digits count as equal, and so does case.
    let same = bob
        .call("report_issue", report("NOTE 99 can't be read", "high"))
        .await?
        .json();
    assert_eq!(same, first);
    let third = ada
        .call("report_issue", report("note 5 can't be read", "medium"))
        .await?
        .json();
    assert_eq!(third, first);
    let other = ada
        .call(
            "report_issue",
            json!({ "summary": "Note 17 can't be read", "detail": "d", "kind": "other" }),
        )
        .await?
        .json();
    assert_ne!(other, first);

    let mut db = stack.database().await?;
    let (severity, reports, status): (String, i32, String) =
        sqlx::query_as("SELECT severity, reports, status FROM issues WHERE id = $1")
            .bind(first["issue"].as_i64())
            .fetch_one(&mut db)
            .await?;
    assert_eq!(
        (severity.as_str(), reports, status.as_str()),
        ("high", 3, "open")
    );
    let severity: String = sqlx::query_scalar("SELECT severity FROM issues WHERE id = $1")
        .bind(other["issue"].as_i64())
        .fetch_one(&mut db)
        .await?;
    assert_eq!(severity, "medium");

    sqlx::query("UPDATE issues SET status = 'resolved'")
        .execute(&mut db)
        .await?;
    ada.call("report_issue", report("Note 1 can't be read", "low"))
        .await?;
    let open: i64 = sqlx::query_scalar("SELECT count(*) FROM issues WHERE status = 'open'")
        .fetch_one(&mut db)
        .await?;
    assert_eq!(open, 1, "a new report opens the issue again");
    Ok(())
}

#[tokio::test]
async fn a_report_that_makes_no_sense_is_refused() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for (arguments, word) in [
        (json!({ "summary": "s", "kind": "other" }), "detail"),
        (
            json!({ "summary": "x".repeat(201), "detail": "d", "kind": "other" }),
            "200",
        ),
        (
            json!({ "summary": "two\nlines", "detail": "d", "kind": "other" }),
            "line",
        ),
        (
            json!({ "summary": "s", "detail": "d", "kind": "bug" }),
            "tool_failure",
        ),
        (
            json!({ "summary": "s", "detail": "d", "kind": "other", "severity": "urgent" }),
            "medium",
        ),
    ] {
        let result = run.call("report_issue", arguments.clone()).await?;
        assert!(
            result.content.starts_with("ERROR: "),
            "{arguments}: {result:?}"
        );
        assert!(result.content.contains(word), "{arguments}: {result:?}");
        assert_ne!(result.metadata["error"], Value::Null);
    }
    Ok(())
}
