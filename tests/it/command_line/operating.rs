//! What operators do with objects: look, remove, ask why, see everything on one screen.

use anyhow::Result;
use serde_json::json;
use tests::Stack;

use super::Guilds;

#[tokio::test]
async fn an_object_is_shown_and_removed() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    stack
        .apply(&json!({
            "guilds": [{"id": "spare"}],
            "bindings": [{"tool": "note_delete", "guild": "spare", "enabled": false}],
        }))
        .await?;
    let shown = guilds.run(&["guild", "show", "spare"])?.done();
    assert!(
        shown.starts_with("id            spare\nrepositories  none\nagents        0\n"),
        "{shown}"
    );
    let bindings = guilds.run(&["binding", "list"])?.done();
    assert!(
        bindings.contains("guild:spare:note_delete  off    "),
        "{bindings}"
    );
    let plan = guilds.run(&["guild", "rm", "spare", "--dry-run"])?;
    assert_eq!((plan.code, plan.stderr.as_str()), (Some(2), ""));
    assert!(plan.stdout.starts_with("removed  "), "{plan:?}");
    let blocked = guilds.run(&["guild", "rm", "core", "--dry-run"])?;
    assert_eq!(blocked.code, Some(1));
    assert_eq!(
        blocked.stdout.matches("blocks   agents ").count(),
        2,
        "{blocked:?}"
    );
    assert_eq!(
        blocked.stderr,
        "guilds: guild core can't be removed while it is in use\n"
    );
    assert_eq!(
        guilds.run(&["guild", "rm", "spare", "--yes"])?.done(),
        "removed guild spare\n"
    );
    let gone = guilds
        .run(&["agent", "rm", stack.bob.id.as_str(), "-y", "-o", "json"])?
        .json()?;
    assert_eq!(gone["deleted"], json!(true));
    assert_eq!(gone["id"], json!(stack.bob.id));
    Ok(())
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_nearest() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let ada = stack.ada.id.as_str();
    let said = guilds.run(&["call", "--agent", ada, "note_fnd"])?;
    assert_eq!(said.code, Some(1));
    assert_eq!(
        said.stdout,
        "ERROR: unknown tool note_fnd\nremaining_tool_calls: 59\n"
    );
    assert_eq!(said.stderr, "guilds: did you mean `note_find`?\n");
    let said = guilds.run(&["call", "--agent", ada, "everything"])?;
    assert!(
        said.stderr.starts_with("guilds: this run offers ") && said.stderr.contains("note_find, "),
        "{said:?}"
    );
    Ok(())
}

#[tokio::test]
async fn why_tells_level_by_level() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let ada = stack.ada.id.as_str();
    stack
        .apply(&json!({"bindings": [
            {"tool": "note_delete", "agent": ada, "enabled": false},
            {"tool": "note", "guild": "core", "enabled": true},
        ]}))
        .await?;
    let why = guilds.wide(120, &["why", ada, "note_delete"])?.done();
    let lines: Vec<_> = why.lines().collect();
    assert!(lines[0].contains("note_delete"), "{why}");
    assert_eq!(lines[1], "");
    assert_eq!(
        lines[2],
        "offered in runs: direct no, group chat no, schedule no"
    );
    let words = |line: usize| -> Vec<&str> { lines[line].split_whitespace().take(4).collect() };
    assert_eq!(words(4), ["LEVEL", "OWNER", "TOOL", "FAMILY"]);
    assert_eq!(words(5), ["agent", ada, "off", "-"]);
    assert_eq!(words(6), ["guild", "core", "-", "on"]);
    assert_eq!(words(7), ["organisation", "acme", "-", "-"]);
    let answer = guilds
        .run(&["why", ada, "note_find", "-o", "json"])?
        .json()?;
    assert_eq!(answer["offered"]["direct"], json!(true));
    Ok(())
}

#[tokio::test]
async fn the_audit_tells_who_changed_what() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    stack
        .apply(&json!({"guilds": [{"id": "core", "repositories": [{"name": "site", "url": "https://github.com/acme/site.git"}]}]}))
        .await?;
    let audit = guilds
        .wide(120, &["audit", "--kind", "guilds", "--since", "1d"])?
        .done();
    let lines: Vec<_> = audit.lines().collect();
    assert!(lines[0].starts_with("WHEN "), "{audit}");
    assert!(
        lines[1].contains("  update  guilds  core    repositories  operator:"),
        "{audit}"
    );
    assert!(lines[2].contains("  create  guilds  core  "), "{audit}");
    assert_eq!(lines.len(), 3);
    assert_eq!(
        guilds.run(&["audit", "--object", "nothing"])?.stderr,
        "no changes\n"
    );
    let change = guilds
        .run(&["audit", "--limit", "1", "-o", "json"])?
        .json()?;
    assert_eq!(change["audit"][0]["before"]["repositories"], json!([]));
    Ok(())
}

#[tokio::test]
async fn what_was_overwritten_or_removed_comes_back() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let path = format!("agent/{}/plan.md", stack.ada.id);
    let run = stack.run(&stack.ada).await?;
    for content in ["Buy paper.", "Buy pens."] {
        let note = json!({"level": "agent", "key": "plan.md", "content": content});
        run.call("note_write", note).await?;
    }
    let history = guilds
        .run(&["note", "history", &path, "-o", "json"])?
        .json()?;
    let revision = history["revisions"][0]["id"].to_string();
    let shown = guilds.run(&["note", "history", &path, &revision])?.done();
    assert!(shown.contains("content  Buy paper.\n"), "{shown}");
    assert_eq!(
        guilds.run(&["note", "rm", &path, "--yes"])?.done(),
        format!("removed note {path}\n")
    );
    let list = guilds.wide(120, &["note", "list"])?.done();
    let removed = list.lines().find(|line| line.starts_with(&path));
    assert!(list.contains("  REMOVED\n") && removed.is_some(), "{list}");
    let restore = ["note", "restore", &path, "--revision", &revision];
    assert_eq!(
        guilds.run(&restore)?.done(),
        format!("restored note {path}\n")
    );
    let note = guilds.run(&["note", "show", &path, "-o", "json"])?.json()?;
    assert_eq!(note["content"], "Buy paper.");

    let collection = json!({"collections": [{
        "name": "contacts", "unique": "email",
        "columns": [{"name": "email", "type": "text"}, {"name": "tags", "type": "array"}],
    }]});
    stack.apply(&collection).await?;
    let none = guilds.run(&["record", "list", "contacts"])?;
    assert_eq!((none.code, none.stderr.as_str()), (Some(0), "no records\n"));
    sqlx::query(
        "INSERT INTO records (collection, body)
         SELECT id, $1::text::jsonb FROM artifacts WHERE kind = 'collection'",
    )
    .bind(json!({"email": "ann@example.com", "tags": ["a", "b"]}).to_string())
    .execute(&mut stack.database().await?)
    .await?;
    let list = guilds.wide(120, &["record", "list", "contacts"])?.done();
    let lines: Vec<_> = list.lines().collect();
    let words: Vec<_> = lines[0].split_whitespace().collect();
    assert_eq!(words, ["ID", "EMAIL", "TAGS", "UPDATED"], "{list}");
    assert!(
        lines[1].contains("  ann@example.com  [\"a\",\"b\"]  "),
        "{list}"
    );
    let id = lines[1].split_whitespace().next().unwrap_or_default();
    let shown = guilds.run(&["record", "show", "contacts", id])?.done();
    assert!(shown.contains("email ann@example.com"), "{shown}");
    let alive = guilds.run(&["record", "restore", "contacts", id])?;
    assert_eq!(
        (alive.code, alive.stdout.as_str()),
        (Some(1), ""),
        "{alive:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_small_organisation_is_seen_on_one_screen() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let run = stack.run(&stack.ada).await?;
    let report = json!({"summary": "a page is cut", "detail": "d", "kind": "truncated"});
    run.call("report_issue", report).await?;
    let mut command = guilds.command(&["status"]);
    command.env("COLUMNS", "80").env("LINES", "24");
    let status = super::Said::of(tests::spawn::output(&mut command)?)?.done();
    assert!(status.lines().count() < 24, "{status}");
    for line in status.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let first = format!(
        "control plane at {}, version 0.1.0, certificate 364 days\n",
        stack.control_plane.address()
    );
    for part in [
        &first,
        "\nMACHINES  1 (1 down)\n",
        "\n  local  down  ",
        "  connection refused  ",
        "\nAGENTS  2 (1 with an open run)\n",
        "\nOPEN RUNS  1\n",
        &format!("\n  {}  {}  direct  ", run.id, stack.ada.id),
        "\nINBOX  1 (issues 1, secret requests 0)\n",
        "  issue, medium  a page is cut  ",
    ] {
        assert!(status.contains(part), "{part:?}\n{status}");
    }
    let whole = guilds.run(&["status", "-o", "json"])?.json()?;
    assert_eq!(whole["errors"], json!({}));
    assert_eq!(whole["machines"][0]["state"], "down");
    assert_eq!(whole["inbox"][0]["type"], "issue");
    Ok(())
}

#[tokio::test]
async fn the_doctor_names_what_mends_each_failed_check() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let said = guilds.run(&["doctor"])?;
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.stderr, "guilds: 1 check failed\n");
    let address = stack.control_plane.address();
    assert_eq!(
        said.stdout,
        format!(
            "ok      GUILDS_URL             http://{address}
ok      GUILDS_OPERATOR_TOKEN  set
ok      GUILDS_BACKEND_TOKEN   set
ok      control plane          ready at {address}
ok      clock                  as the control plane's
ok      operator token         accepted
ok      backend token          accepted
ok      certificate            for machines: 364 days
failed  machine local          down: connection refused; mend: systemctl start guilds-machine-agent, on local
"
        )
    );
    let mut command = guilds.command(&["doctor"]);
    command
        .env("GUILDS_URL", "http://127.0.0.1:9")
        .env_remove("GUILDS_OPERATOR_TOKEN")
        .env_remove("GUILDS_BACKEND_TOKEN");
    let said = super::Said::of(tests::spawn::output(&mut command)?)?;
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (
            Some(1),
            "\
ok      GUILDS_URL             http://127.0.0.1:9
failed  GUILDS_OPERATOR_TOKEN  neither GUILDS_OPERATOR_TOKEN nor GUILDS_OPERATOR_TOKEN_FILE is set; mend: export GUILDS_OPERATOR_TOKEN=$(guilds-control-plane token create --role operator --organisation ID)
skip    GUILDS_BACKEND_TOKEN   not set; only `guilds call` and `guilds run` need it
failed  control plane          the control plane at 127.0.0.1:9 can't be reached: Connection refused (os error 111); mend: systemctl start guilds-control-plane, or set GUILDS_URL
"
        )
    );
    let mut command = guilds.command(&["doctor", "-o", "json"]);
    command.env("GUILDS_OPERATOR_TOKEN", "go_wrong");
    let said = super::Said::of(tests::spawn::output(&mut command)?)?;
    let checks: serde_json::Value = serde_json::from_str(&said.stdout)?;
    assert_eq!(
        checks["checks"][5],
        json!({"name": "operator token", "outcome": "failed", "message": "the token is unknown or revoked",
            "mend": "export GUILDS_OPERATOR_TOKEN=$(guilds-control-plane token create --role operator --organisation ID)"})
    );
    Ok(())
}
