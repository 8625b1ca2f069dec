//! Issues: a tooling problem, filed on the guild, in its operators' inbox.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::Stack;

#[tokio::test]
async fn a_report_stands_on_its_guild_in_the_inbox_and_among_the_guilds_issues() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let report = json!({ "summary": "Pages stay empty", "detail": "browser_navigate: ERROR: 17",
        "kind": "tool_failure", "severity": "high", "tool_name": "browser_navigate" });
    let filed = run.call("report_issue", report).await?.json();
    let inbox = stack
        .operator
        .get("/v1/operator/inbox")
        .await?
        .expect(200)?;
    let issues = stack
        .operator
        .get("/v1/operator/issues?guild=core")
        .await?
        .expect(200)?;
    for item in [&inbox["inbox"][0], &issues["issues"][0]] {
        assert_eq!(item["id"], filed["issue"]);
        assert_eq!(item["guild"], "core");
        assert_eq!(item["summary"], "Pages stay empty");
        assert_eq!(item["severity"], "high");
        assert_eq!(item["tool_name"], "browser_navigate");
    }
    let path = format!("/v1/operator/issues/{}", filed["issue"]);
    let one = stack.operator.get(&path).await?.expect(200)?;
    let report = &one["recent_reports"][0];
    assert_eq!(
        (&report["run"], &report["agent"]),
        (&json!(run.id), &json!(stack.ada.id))
    );
    assert_eq!(report["detail"], "browser_navigate: ERROR: 17");
    Ok(())
}

#[tokio::test]
async fn a_report_has_these_parameters() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let tools = run.body["tools"].as_array().context("tools")?;
    let tool = tools.iter().find(|tool| tool["name"] == "report_issue");
    let schema = &tool.context("report_issue")?["input_schema"];
    let keys: Vec<&String> = schema["properties"]
        .as_object()
        .context("properties")?
        .keys()
        .collect();
    assert_eq!(keys, ["summary", "detail", "kind", "severity", "tool_name"]);
    assert_eq!(schema["required"], json!(["summary", "detail", "kind"]));
    assert_eq!(
        schema["properties"]["kind"]["enum"],
        json!(["tool_failure", "truncated", "api", "other"])
    );
    assert_eq!(
        schema["properties"]["severity"]["enum"],
        json!(["low", "medium", "high"])
    );

    let file = async |change: Value| {
        let mut report = json!({ "summary": "s", "detail": "d", "kind": "other" });
        for (key, value) in change.as_object().into_iter().flatten() {
            report[key] = value.clone();
        }
        run.call("report_issue", report).await
    };
    let filed = file(json!({ "summary": "é".repeat(200) })).await?.json();
    let path = format!("/v1/operator/issues/{}", filed["issue"]);
    let issue = stack.operator.get(&path).await?.expect(200)?;
    assert_eq!(issue["severity"], "medium", "the default");
    for change in [
        json!({ "summary": "x".repeat(201) }),
        json!({ "summary": "two\nlines" }),
        json!({ "detail": " " }),
        json!({ "kind": "bug" }),
        json!({ "severity": "urgent" }),
    ] {
        let refused = file(change.clone()).await?;
        assert!(
            refused.text().starts_with("ERROR: "),
            "{change}: {refused:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn equal_reports_at_once_are_one_issue_that_counts_them_all() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let mut reports = tokio::task::JoinSet::new();
    for number in 0..20 {
        let report =
            json!({ "summary": format!("Line {number} FAILS"), "detail": "d", "kind": "api" });
        let run = run.clone();
        reports.spawn(async move { run.call("report_issue", report).await });
    }
    let mut filed = Vec::new();
    while let Some(report) = reports.join_next().await {
        filed.push(report??.json());
    }
    assert!(filed.iter().all(|issue| *issue == filed[0]), "{filed:?}");
    let path = format!("/v1/operator/issues/{}", filed[0]["issue"]);
    let issue = stack.operator.get(&path).await?.expect(200)?;
    assert_eq!(issue["reports"], 20);
    let told = stack.backend.get("/v1/events").await?.expect(200)?;
    let mut counts: Vec<i64> = told["events"]
        .as_array()
        .context("events")?
        .iter()
        .filter_map(|event| event["reports"].as_i64())
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, (1..=20).collect::<Vec<i64>>());
    Ok(())
}
