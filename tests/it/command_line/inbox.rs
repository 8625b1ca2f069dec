//! `guilds inbox` and the requests for secrets.

use anyhow::{Context, Result};
use serde_json::json;
use tests::Stack;
use tests::shared::ORGANISATION;
use uuid::Uuid;

use super::Guilds;

const VALUE: &str = "sk_test_88Ab1c";

/// A request of ada's for a secret, which waits.
async fn ask(stack: &Stack, name: &str) -> Result<String> {
    let id = Uuid::now_v7();
    sqlx::query(
        "INSERT INTO secret_requests (id, organisation, guild, agent, name, reason)
         VALUES ($1, $2, 'core', $3, $4, 'to read invoices')",
    )
    .bind(id)
    .bind(ORGANISATION)
    .bind(&stack.ada.id)
    .bind(name)
    .execute(&mut stack.database().await?)
    .await?;
    Ok(id.to_string())
}

#[tokio::test]
async fn an_issue_is_read_closed_and_opened_again() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let none = guilds.run(&["inbox"])?;
    assert_eq!(
        (none.stdout.as_str(), none.stderr.as_str()),
        ("", "no inbox items\n")
    );
    let run = stack.run(&stack.ada).await?;
    for _ in 0..2 {
        let report = json!({
            "summary": "browser_click never ends", "kind": "tool_failure", "severity": "high",
            "detail": "It said: no element matches text=Buy", "tool_name": "browser_click",
        });
        run.call("report_issue", report).await?;
    }
    let list = guilds.wide(120, &["inbox"])?.done();
    let line = list.lines().nth(1).context("an issue")?;
    let id = line.split_whitespace().next().context("an id")?;
    assert!(
        line.contains("  issue, high  browser_click never ends (2 reports)  "),
        "{list}"
    );
    assert!(line.ends_with("  core"), "{list}");
    let shown = guilds.run(&["inbox", "show", id])?.done();
    for part in [
        "status       open\n",
        "reports      2\n",
        "\nlast report\n  run ",
        "\n  detail It said: no element matches text=Buy\n",
        "\nrecent reports\n  id 2, run ",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert_eq!(
        guilds.run(&["inbox", "resolve", id])?.done(),
        format!("resolved issue {id}: browser_click never ends\n")
    );
    assert_eq!(guilds.run(&["inbox", "list"])?.stderr, "no inbox items\n");
    let issues = guilds
        .wide(120, &["inbox", "issues", "--status", "resolved"])?
        .done();
    assert!(
        issues.contains("  resolved  high      browser_click never ends (2 reports)  "),
        "{issues}"
    );
    assert_eq!(
        guilds.run(&["inbox", "reopen", id, "-o", "json"])?.json()?["status"],
        "open"
    );
    Ok(())
}

#[tokio::test]
async fn requests_for_secrets_are_answered() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let ada = stack.ada.id.as_str();
    let (first, second) = (
        ask(&stack, "STRIPE_KEY").await?,
        ask(&stack, "OTHER_KEY").await?,
    );
    let list = guilds
        .run(&["secret", "requests", "--status", "pending"])?
        .done();
    assert_eq!(list.lines().count(), 3, "{list}");
    assert!(
        list.contains(&format!("{first}  STRIPE_KEY  {ada}  pending  ")),
        "{list}"
    );
    let inbox = guilds.wide(120, &["inbox", "list"])?.done();
    assert!(
        inbox.contains("  secret  STRIPE_KEY: to read invoices  "),
        "{inbox}"
    );
    let shown = guilds.run(&["inbox", "show", &first])?.done();
    assert!(shown.contains("reason      to read invoices\n"), "{shown}");
    let answered = guilds.fed(&["secret", "fulfil", &first], &format!("{VALUE}\n"))?;
    assert_eq!(
        answered.done(),
        format!("fulfilled request {first} of {ada} for STRIPE_KEY\n")
    );
    let denied = guilds.run(&["secret", "deny", &second, "--reason", "Ask Ann."])?;
    assert_eq!(
        denied.done(),
        format!("denied request {second} of {ada} for OTHER_KEY\n")
    );
    let again = guilds.fed(&["secret", "fulfil", &second], VALUE)?;
    assert_eq!(
        (again.code, again.stdout.as_str()),
        (Some(1), ""),
        "{again:?}"
    );
    assert!(!again.stderr.contains(VALUE), "{again:?}");
    let third = ask(&stack, "STRIPE_KEY").await?;
    let granted = guilds.run(&["secret", "fulfil", &third, "--grant-existing"])?;
    assert_eq!(
        granted.done(),
        format!("fulfilled request {third} of {ada} for STRIPE_KEY\n")
    );
    Ok(())
}
