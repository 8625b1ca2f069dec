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
        blocked.stdout.matches("blocks   agent ").count(),
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
