//! Deleting: what uses an object is told first, what blocks stays, what goes is audited.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::Stack;

/// Something of every kind around the two agents of the stack.
async fn full() -> Result<Stack> {
    let stack = Stack::storage().await?;
    let (ada, bob) = (&stack.ada.id, &stack.bob.id);
    stack
        .apply(&json!({
            "guilds": [{ "id": "spare" }],
            "machines": [{ "id": "idle", "address": "https://127.0.0.1:1" }],
            "bindings": [
                { "tool": "note_delete", "agent": ada, "enabled": false },
                { "tool": "note", "guild": "spare", "enabled": false },
                { "connector": "search", "guild": "core", "enabled": false },
            ],
            "collections": [{
                "name": "contacts",
                "columns": [{ "name": "email", "type": "text" }],
                "access": [
                    { "agent": ada, "access": "write" },
                    { "guild": "spare", "access": "read" },
                    { "agent": bob, "access": "none" },
                ],
            }],
            "notes": [
                { "path": "org/handbook.md", "content": "read me", "access": [
                    { "organisation": true, "access": "read" },
                    { "agent": ada, "access": "write" },
                ] },
                { "path": "guild/spare/plan.md", "content": "plan" },
                { "path": format!("agent/{ada}/own.md"), "content": "own" },
            ],
            "connectors": [{ "id": "search", "kind": "tavily", "url": "https://example.com" }],
            "logins": [
                { "connector": "search", "agent": ada, "key": "key-of-the-agent" },
                { "connector": "search", "organisation": true, "key": "key-of-all" },
            ],
            "secrets": [{ "name": "STRIPE_KEY", "value": "long enough", "grants": [ada, bob] }],
        }))
        .await?;
    Ok(stack)
}

/// `kind id effect` of every use, in the order of the answer.
fn uses(list: &Value) -> Vec<String> {
    let word = |used: &Value, key: &str| used[key].as_str().unwrap_or_default().to_owned();
    list.as_array()
        .into_iter()
        .flatten()
        .map(|used| {
            format!(
                "{} {} {}",
                word(used, "kind"),
                word(used, "id"),
                word(used, "effect")
            )
        })
        .collect()
}

/// A dry run first, which changes nothing, then the deletion with the same uses.
async fn deletes(stack: &Stack, kind: &str, id: &str, expected: &[&str]) -> Result<()> {
    let path = format!("/v1/operator/{kind}/{}", id.replace('/', "%2F"));
    let dry = stack
        .operator
        .delete(&format!("{path}?dry_run=true"))
        .await?
        .expect(200)?;
    assert_eq!(uses(&dry["uses"]), expected, "{path}");
    assert_eq!(dry["deleted"], false);
    stack.operator.get(&path).await?.expect(200)?;
    let done = stack.operator.delete(&path).await?.expect(200)?;
    assert_eq!(
        (&done["kind"], &done["id"], &done["deleted"]),
        (&json!(kind), &json!(id), &json!(true))
    );
    assert_eq!(uses(&done["uses"]), expected, "{path}");
    let again = stack.operator.delete(&path).await?;
    assert_eq!(again.refusal(), (404, "not_found".to_owned()), "{path}");
    Ok(())
}

async fn is_blocked(stack: &Stack, kind: &str, id: &str, expected: &[&str]) -> Result<Value> {
    let path = format!("/v1/operator/{kind}/{}", id.replace('/', "%2F"));
    let before = stack.operator.get("/v1/operator/export").await?.text;
    let refused = stack.operator.delete(&path).await?;
    assert_eq!(refused.refusal(), (409, "conflict".to_owned()), "{path}");
    let body = refused.json()?;
    assert_eq!(uses(&body["error"]["uses"]), expected, "{path}");
    let dry = stack
        .operator
        .delete(&format!("{path}?dry_run=true"))
        .await?
        .expect(200)?;
    assert_eq!(
        (uses(&dry["uses"]), &dry["deleted"]),
        (
            expected.iter().map(|used| (*used).to_owned()).collect(),
            &json!(false)
        )
    );
    assert_eq!(
        stack.operator.get("/v1/operator/export").await?.text,
        before
    );
    Ok(body)
}

/// Action, kind, object, and whether there is a before and an after, newest first.
async fn audited(stack: &Stack, count: i64) -> Result<Vec<(String, String, String, bool, bool)>> {
    let mut db = stack.database().await?;
    Ok(sqlx::query_as(
        "SELECT action, kind, object, before IS NOT NULL, after IS NOT NULL FROM audit
         ORDER BY id DESC LIMIT $1",
    )
    .bind(count)
    .fetch_all(&mut db)
    .await?)
}

#[tokio::test]
async fn what_is_used_stays_and_says_by_whom() -> Result<()> {
    let stack = full().await?;
    let (ada, bob) = (&stack.ada.id, &stack.bob.id);
    let agents = [
        format!("agents {ada} blocks"),
        format!("agents {bob} blocks"),
    ];
    let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
    let body = is_blocked(&stack, "machines", "local", &agents).await?;
    assert_eq!(
        body["error"]["message"],
        format!(
            "local is used: agent {ada} lives in slot {} of it; delete it or move it to another machine first; agent {bob} lives in slot {} of it; delete it or move it to another machine first",
            stack.ada.slot(),
            stack.bob.slot()
        )
    );
    let mut of_guild = agents.clone();
    of_guild.push("bindings guild:core:search removed");
    is_blocked(&stack, "guilds", "core", &of_guild).await?;
    let logins = [
        format!("logins agent:{ada}:search blocks"),
        "logins organisation:acme:search blocks".to_owned(),
        "bindings guild:core:search removed".to_owned(),
    ];
    let logins: Vec<&str> = logins.iter().map(String::as_str).collect();
    is_blocked(&stack, "connectors", "search", &logins).await?;
    let own = format!("agents {ada} blocks");
    for key in ["task.md", "memory.md"] {
        is_blocked(&stack, "notes", &format!("agent/{ada}/{key}"), &[&own]).await?;
    }
    let run = stack.run(&stack.ada).await?;
    let path = format!("/v1/operator/agents/{ada}");
    let refused = stack.operator.delete(&path).await?;
    assert_eq!(refused.refusal(), (409, "conflict".to_owned()));
    assert_eq!(
        uses(&refused.json()?["error"]["uses"])[0],
        format!("runs {} blocks", run.id)
    );
    Ok(())
}

#[tokio::test]
async fn an_agent_goes_with_what_is_its_own_and_its_runs_stay() -> Result<()> {
    let stack = full().await?;
    let ada = stack.ada.id.clone();
    let run = stack.run(&stack.ada).await?;
    run.call(
        "report_issue",
        json!({ "summary": "s", "detail": "d", "kind": "other" }),
    )
    .await?;
    run.call(
        "script_create",
        json!({ "name": "hello", "description": "d", "source": "print(1)" }),
    )
    .await?;
    run.end().await?;
    let expected = [
        format!("bindings agent:{ada}:note_delete removed"),
        format!("logins agent:{ada}:search removed"),
        "collections contacts loses".to_owned(),
        "notes org/handbook.md loses".to_owned(),
        "secrets STRIPE_KEY loses".to_owned(),
        format!("notes agent/{ada}/ removed"),
        format!("scripts {ada}/ removed"),
    ];
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    deletes(&stack, "agents", &ada, &expected).await?;
    let mut rows = audited(&stack, 6).await?;
    rows.sort();
    let row = |action: &str, kind: &str, object: &str, after: bool| {
        (
            action.to_owned(),
            kind.to_owned(),
            object.to_owned(),
            true,
            after,
        )
    };
    assert_eq!(
        rows,
        [
            row("delete", "agents", &ada, false),
            row(
                "delete",
                "bindings",
                &format!("agent:{ada}:note_delete"),
                false
            ),
            row("delete", "logins", &format!("agent:{ada}:search"), false),
            row("update", "collections", "contacts", true),
            row("update", "notes", "org/handbook.md", true),
            row("update", "secrets", "STRIPE_KEY", true),
        ]
    );
    let mut db = stack.database().await?;
    let left: (i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM artifacts WHERE owner = $1),
                (SELECT count(*) FROM artifact_access WHERE owner = $1),
                (SELECT count(*) FROM runs WHERE agent = $1)",
    )
    .bind(&ada)
    .fetch_one(&mut db)
    .await?;
    assert_eq!(left, (0, 0, 1));
    let shown = stack
        .backend
        .get(&run.path("/messages"))
        .await?
        .expect(200)?;
    assert_eq!(shown["messages"].as_array().map(Vec::len), Some(2));
    // Its id is free for a new one, which begins with nothing.
    stack
        .apply(
            &json!({ "agents": [{ "id": ada, "guild": "core", "machine": "local", "slot": 49 }] }),
        )
        .await?;
    let task = stack
        .operator
        .get(&format!("/v1/operator/notes/agent%2F{ada}%2Ftask.md"))
        .await?
        .expect(200)?;
    assert_eq!(task["content"], "");
    Ok(())
}

#[tokio::test]
async fn guilds_machines_and_bindings_go_with_what_hangs_on_them() -> Result<()> {
    let stack = full().await?;
    let ada = stack.ada.id.clone();
    deletes(
        &stack,
        "guilds",
        "spare",
        &[
            "bindings guild:spare:note removed",
            "collections contacts loses",
            "notes guild/spare/ removed",
        ],
    )
    .await?;
    deletes(&stack, "machines", "idle", &[]).await?;
    let binding = format!("/v1/operator/bindings/agent:{ada}:note_delete?dry_run=true");
    let on = stack.operator.delete(&binding).await?.expect(200)?;
    assert_eq!(
        on["uses"][0]["message"],
        format!("note_delete is off for agent {ada} by this binding, and on without it")
    );
    let loses = format!("agents {ada} loses");
    deletes(
        &stack,
        "bindings",
        &format!("agent:{ada}:note_delete"),
        &[&loses],
    )
    .await?;
    assert!(
        stack
            .run(&stack.ada)
            .await?
            .offered()
            .contains(&"note_delete".to_owned())
    );
    Ok(())
}

#[tokio::test]
async fn collections_notes_connectors_logins_and_secrets_go() -> Result<()> {
    let stack = full().await?;
    let (ada, bob) = (stack.ada.id.clone(), stack.bob.id.clone());
    let mut db = stack.database().await?;
    sqlx::query(
        "INSERT INTO records (collection, body, deleted_at)
         SELECT id, '{\"email\":\"a\"}', d FROM artifacts, (VALUES (NULL::timestamptz), (now())) v (d)
          WHERE kind = 'collection'",
    )
    .execute(&mut db)
    .await?;
    let loses = format!("agents {ada} loses");
    let both = [loses.clone(), format!("agents {bob} loses")];
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    deletes(
        &stack,
        "collections",
        "contacts",
        &[&loses, "guilds spare loses", "records contacts removed"],
    )
    .await?;
    let records: i64 = sqlx::query_scalar("SELECT count(*) FROM records")
        .fetch_one(&mut db)
        .await?;
    assert_eq!(records, 0);
    // The nearest login: ada's own, then everyone's.
    deletes(&stack, "logins", &format!("agent:{ada}:search"), &[&loses]).await?;
    deletes(&stack, "logins", "organisation:acme:search", &both).await?;
    deletes(
        &stack,
        "connectors",
        "search",
        &["bindings guild:core:search removed"],
    )
    .await?;
    deletes(&stack, "secrets", "STRIPE_KEY", &both).await?;
    let secrets: i64 = sqlx::query_scalar("SELECT count(*) FROM secrets")
        .fetch_one(&mut db)
        .await?;
    assert_eq!(secrets, 0);
    Ok(())
}

#[tokio::test]
async fn a_deleted_note_leaves_a_tombstone_and_comes_back_by_a_document() -> Result<()> {
    let stack = full().await?;
    let ada = stack.ada.id.clone();
    let path = "/v1/operator/notes/org%2Fhandbook.md";
    let deleted = stack.operator.delete(path).await?.expect(200)?;
    assert_eq!(
        uses(&deleted["uses"]),
        [
            format!("agents {ada} loses"),
            "organisations acme loses".to_owned()
        ]
    );
    let tombstone = stack.operator.get(path).await?.expect(200)?;
    assert!(tombstone["deleted_at"].is_string(), "{tombstone}");
    let exported = stack.operator.get("/v1/operator/export").await?.text;
    assert!(!exported.contains("org/handbook.md"), "{exported}");
    let document = json!({ "notes": [{ "path": "org/handbook.md", "content": "again",
        "access": [{ "guild": "core", "access": "read" }] }] });
    let answer = stack.apply(&document).await?;
    assert_eq!(answer["changes"][0]["action"], "create");
    let back = stack.operator.get(path).await?.expect(200)?;
    assert_eq!(
        (&back["content"], &back["deleted_at"], &back["access"]),
        (
            &json!("again"),
            &Value::Null,
            &json!([{ "guild": "core", "access": "read" }])
        )
    );
    let mut db = stack.database().await?;
    let past: Vec<(String, bool, String)> = sqlx::query_as(
        "SELECT r.body, r.deleted, r.actor FROM note_revisions r JOIN artifacts a ON a.id = r.artifact
          WHERE a.key = 'handbook.md' ORDER BY r.id",
    )
    .fetch_all(&mut db)
    .await?;
    let actor = &past.first().context("a revision")?.2;
    assert!(actor.starts_with("operator:"), "{actor}");
    assert_eq!(
        past,
        [
            ("read me".to_owned(), false, actor.clone()),
            ("read me".to_owned(), true, actor.clone()),
        ]
    );
    // An agent finds it by its words.
    let found = stack
        .run(&stack.bob)
        .await?
        .call("note_find", json!({ "query": "again" }))
        .await?;
    assert_eq!(found.json()["notes"][0]["path"], "org/handbook.md");
    Ok(())
}
