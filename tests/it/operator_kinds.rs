//! What the document stores of each kind, and how operators read it.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::Stack;

const CONTACTS: &str = r#"{ "name": "contacts", "description": "People", "unique": "email", "columns": [
    { "name": "email", "type": "text", "required": true },
    { "name": "stage", "type": "text", "values": ["lead", "client"] },
    { "name": "amount", "type": "number" },
    { "name": "tags", "type": "array" }
] }"#;

async fn with_records(bodies: &[Value]) -> Result<Stack> {
    let stack = Stack::storage().await?;
    let collection: Value = serde_json::from_str(CONTACTS)?;
    stack.apply(&json!({ "collections": [collection] })).await?;
    let mut db = stack.database().await?;
    for body in bodies {
        sqlx::query(
            "INSERT INTO records (collection, body) SELECT id, $1 FROM artifacts WHERE kind = 'collection'",
        )
        .bind(body)
        .execute(&mut db)
        .await?;
    }
    Ok(stack)
}

/// Applies other columns and unique column; answers the problems' paths and messages.
async fn change(stack: &Stack, unique: &str, columns: Value) -> Result<Vec<String>> {
    let document =
        json!({ "collections": [{ "name": "contacts", "unique": unique, "columns": columns }] });
    let answer = stack.operator.post("/v1/operator/apply", &document).await?;
    if answer.status == 200 {
        return Ok(Vec::new());
    }
    let word = |problem: &Value, key: &str| problem[key].as_str().unwrap_or_default().to_owned();
    Ok(answer.json()?["error"]["problems"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|problem| format!("{}: {}", word(problem, "path"), word(problem, "message")))
        .collect())
}

#[tokio::test]
async fn a_definition_that_live_records_would_break_is_refused_with_counts() -> Result<()> {
    let stack = with_records(&[
        json!({ "email": "a@x", "stage": "lead", "amount": 1, "tags": ["red", "blue"] }),
        json!({ "email": "b@x", "stage": "client", "amount": 1.0 }),
        json!({ "email": "c@x", "stage": null, "amount": 3, "tags": [] }),
    ])
    .await?;
    let told = change(
        &stack,
        "amount",
        json!([
            { "name": "email", "type": "array" },
            { "name": "stage", "type": "text", "required": true, "values": ["lead", "lost"] },
            { "name": "amount", "type": "number" },
            { "name": "phone", "type": "text", "required": true },
        ]),
    )
    .await?;
    assert_eq!(
        told,
        [
            "collections[0].unique: there is 1 record with a value of column amount that another record has too; make them differ first",
            "collections[0].columns: column email becomes array, and 3 records hold a value of type text; clear it there first",
            "collections[0].columns: column phone becomes required, and 3 records hold no value in it; fill it there first",
            "collections[0].columns: column stage becomes required, and 1 record holds no value in it; fill it there first",
            "collections[0].columns: column stage has other values, and 1 record holds one that is not among them; change it there first",
            "collections[0].columns: column tags is left out, and 2 records hold a value in it; clear it there first",
        ]
    );
    let told = change(
        &stack,
        "email",
        json!([
            { "name": "email", "type": "text" },
            { "name": "stage", "type": "text" },
            { "name": "amount", "type": "number" },
            { "name": "tags", "type": "array", "values": ["red"] },
        ]),
    )
    .await?;
    assert_eq!(
        told,
        [
            "collections[0].columns: column tags has other values, and 1 record holds one that is not among them; change it there first"
        ]
    );
    let fitting = json!([
        { "name": "email", "type": "text" },
        { "name": "stage", "type": "text", "values": ["lead", "client", "lost"] },
        { "name": "amount", "type": "number", "required": true },
        { "name": "tags", "type": "array", "values": ["red", "blue"] },
        { "name": "phone", "type": "text" },
    ]);
    assert_eq!(change(&stack, "", fitting).await?, Vec::<String>::new());
    let shown = stack
        .operator
        .get("/v1/operator/collections/contacts")
        .await?
        .expect(200)?;
    assert_eq!(
        (&shown["unique"], &shown["records"]),
        (&Value::Null, &json!(3))
    );
    // What records were removed does not hold a definition back.
    let mut db = stack.database().await?;
    sqlx::query("UPDATE records SET deleted_at = now()")
        .execute(&mut db)
        .await?;
    let other = json!([{ "name": "email", "type": "boolean", "required": true }]);
    assert_eq!(change(&stack, "", other).await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn lists_replace_and_the_tools_of_a_login_merge() -> Result<()> {
    let stack = Stack::storage().await?;
    let (ada, bob) = (&stack.ada.id, &stack.bob.id);
    stack
        .apply(&json!({
            "connectors": [{ "id": "search", "kind": "tavily", "url": "https://example.com", "filters": { "a": "jq:.a", "b": "jq:.b" } }],
            "logins": [{ "connector": "search", "organisation": true, "platform": true, "key": "tvly-0000", "tools": { "a": false, "b": true } }],
            "secrets": [{ "name": "STRIPE_KEY", "value": "long enough", "grants": [ada, bob] }],
            "collections": [serde_json::from_str::<Value>(CONTACTS)?],
        }))
        .await?;
    let later = json!({
        "connectors": [{ "id": "search", "filters": { "b": "jq:.c" } }],
        "logins": [{ "connector": "search", "organisation": true, "key": "tvly-0000", "tools": { "b": false, "c": false } }],
        "secrets": [{ "name": "STRIPE_KEY", "value": "long enough", "grants": [] }],
        "collections": [{ "name": "contacts", "access": [{ "organisation": true, "access": "read" }] }],
    });
    let answer = stack.apply(&later).await?;
    assert_eq!(
        answer["changes"],
        json!([
            { "action": "update", "kind": "collections", "id": "contacts", "fields": ["access"] },
            { "action": "update", "kind": "connectors", "id": "search", "fields": ["filters"] },
            { "action": "update", "kind": "logins", "id": "organisation:acme:search", "fields": ["tools"] },
            { "action": "update", "kind": "secrets", "id": "STRIPE_KEY", "fields": ["grants"] },
        ])
    );
    let exported = stack
        .operator
        .get("/v1/operator/export")
        .await?
        .expect(200)?;
    assert_eq!(
        exported["connectors"][0]["filters"],
        json!({ "b": "jq:.c" })
    );
    assert_eq!(
        exported["logins"],
        json!([{ "connector": "search", "organisation": true, "platform": true, "status": "connected",
                 "tools": { "a": false, "b": false, "c": false } }])
    );
    assert_eq!(
        exported["secrets"],
        json!([{ "name": "STRIPE_KEY", "description": "", "grants": [] }])
    );
    assert_eq!(exported["collections"][0]["unique"], "email");
    Ok(())
}

#[tokio::test]
async fn a_value_and_a_key_show_as_a_fields_name_only() -> Result<()> {
    let stack = Stack::storage().await?;
    let document = |value: &str, key: &str| {
        json!({
            "connectors": [{ "id": "search", "kind": "mcp", "url": "https://example.com" }],
            "logins": [{ "connector": "search", "organisation": true, "key": key }],
            "secrets": [{ "name": "STRIPE_KEY", "value": value }],
        })
    };
    stack
        .apply(&document("a-first-value", "a-first-key"))
        .await?;
    let changed = stack
        .apply(&document("another-value", "another-key"))
        .await?;
    assert_eq!(
        changed["changes"],
        json!([
            { "action": "unchanged", "kind": "connectors", "id": "search", "fields": [] },
            { "action": "update", "kind": "logins", "id": "organisation:acme:search", "fields": ["key"] },
            { "action": "update", "kind": "secrets", "id": "STRIPE_KEY", "fields": ["value"] },
        ])
    );
    let same = stack
        .apply(&document("another-value", "another-key"))
        .await?;
    assert!(!same.to_string().contains("update"), "{same}");
    let mut db = stack.database().await?;
    let audit: String =
        sqlx::query_scalar("SELECT string_agg(row_to_json(audit)::text, '') FROM audit")
            .fetch_one(&mut db)
            .await?;
    for word in [
        "a-first-value",
        "a-first-key",
        "another-value",
        "another-key",
    ] {
        assert!(!audit.contains(word), "{word}");
    }
    let events: Vec<String> = sqlx::query_scalar(
        "SELECT detail->>'status' FROM events WHERE type = 'login_changed' ORDER BY seq",
    )
    .fetch_all(&mut db)
    .await?;
    assert_eq!(events, ["connected"]);
    Ok(())
}

#[tokio::test]
async fn every_kind_is_listed_page_by_page_with_its_shape() -> Result<()> {
    let stack = Stack::storage().await?;
    let ada = &stack.ada.id;
    stack
        .apply(&json!({
            "guilds": [{ "id": "a" }, { "id": "b" }, { "id": "d" }],
            "bindings": [{ "tool": "note", "agent": ada, "enabled": false }, { "tool": "record", "organisation": true, "enabled": false }],
            "collections": [serde_json::from_str::<Value>(CONTACTS)?],
            "notes": [{ "path": "org/a.md", "content": "é" }],
            "connectors": [{ "id": "search", "kind": "mcp", "url": "https://example.com" }],
            "logins": [{ "connector": "search", "guild": "core" }],
            "secrets": [{ "name": "STRIPE_KEY", "value": "long enough", "description": "d" }],
        }))
        .await?;
    let run = stack.run(&stack.ada).await?;
    let get = async |path: &str| -> Result<Value> {
        stack
            .operator
            .get(&format!("/v1/operator/{path}"))
            .await?
            .expect(200)
    };
    let first = get("guilds?limit=3").await?;
    assert_eq!(
        (first["guilds"][0]["id"].as_str(), first["next"].as_str()),
        (Some("a"), Some("core"))
    );
    let rest = get("guilds?limit=3&after=core").await?;
    assert_eq!(
        (rest["guilds"][0]["id"].as_str(), &rest["next"]),
        (Some("d"), &Value::Null)
    );
    let keys = |object: &Value| -> String {
        let fields = object
            .as_object()
            .map(|fields| fields.keys().cloned().collect::<Vec<_>>());
        let mut fields = fields.unwrap_or_default();
        fields.sort();
        fields.join(" ")
    };
    for (kind, id, expected) in [
        ("guilds", "core", "agents created_at id repositories"),
        (
            "agents",
            ada.as_str(),
            "config created_at guild id last_run_at machine open_runs slot",
        ),
        (
            "bindings",
            &format!("agent:{ada}:note"),
            "enabled id level owner tool updated_at",
        ),
        (
            "collections",
            "contacts",
            "access columns created_at description name records unique updated_at",
        ),
        (
            "notes",
            "org%2Fa.md",
            "access bytes content level path updated_at",
        ),
        (
            "connectors",
            "search",
            "created_at filters id kind logins url",
        ),
        (
            "logins",
            "guild:core:search",
            "connector id key level owner platform status tools updated_at",
        ),
        (
            "secrets",
            "STRIPE_KEY",
            "created_at description grants last_used_at name stored_by updated_at uses",
        ),
    ] {
        let one = get(&format!("{kind}/{id}")).await?;
        assert_eq!(keys(&one), expected, "{kind}");
        let list = get(kind).await?;
        assert!(list["next"].is_null(), "{list}");
        let listed = list[kind].as_array().context(kind.to_owned())?;
        let mut without = one.clone();
        if let Some(fields) = without.as_object_mut() {
            // What only one object has.
            fields.remove("content");
            fields.remove("uses");
        }
        assert!(listed.contains(&without), "{list}");
    }
    let machine = get("machines/local").await?;
    assert_eq!(
        (&machine["agents"], &machine["open_runs"]),
        (&json!(2), &json!(1))
    );
    let agent = get(&format!("agents/{ada}")).await?;
    assert_eq!(
        (&agent["open_runs"], &agent["last_run_at"]),
        (&json!(1), &run.body["created_at"])
    );
    assert_eq!(get("notes/org%2Fa.md").await?["bytes"], 2);
    assert_eq!(get("logins/guild:core:search").await?["status"], "pending");
    for (path, status, code) in [
        ("guilds?limit=0", 422, "invalid"),
        ("guilds?order=id", 422, "invalid"),
        ("guilds/none", 404, "not_found"),
        ("guilds/%00", 404, "not_found"),
        ("export?x=1", 422, "invalid"),
        ("nothings", 404, "not_found"),
    ] {
        let answer = stack.operator.get(&format!("/v1/operator/{path}")).await?;
        assert_eq!(answer.refusal(), (status, code.to_owned()), "{path}");
        let role = stack.backend.get(&format!("/v1/operator/{path}")).await?;
        assert_eq!(
            role.status,
            if path == "nothings" { 404 } else { 403 },
            "{path}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn an_operator_writes_a_memory_within_its_limit_and_keeps_its_past() -> Result<()> {
    let stack = Stack::storage().await?;
    let path = format!("agent/{}/memory.md", stack.ada.id);
    let write = |content: &str| json!({ "notes": [{ "path": path, "content": content }] });
    stack.apply(&write("first")).await?;
    stack.apply(&write("second")).await?;
    let run = stack.run(&stack.ada).await?;
    assert_eq!(run.body["memory"], "second");
    let mut db = stack.database().await?;
    let past: Vec<String> = sqlx::query_scalar("SELECT body FROM memory_revisions ORDER BY id")
        .fetch_all(&mut db)
        .await?;
    assert_eq!(past, ["first"]);
    let long = stack
        .operator
        .post("/v1/operator/apply", &write(&"x".repeat(12_001)))
        .await?;
    assert_eq!(
        long.json()?["error"]["problems"][0]["message"],
        "has 12001 characters; at most 12000 are allowed"
    );
    let shared = json!({ "notes": [{ "path": path, "access": [{ "organisation": true, "access": "read" }] }] });
    let shared = stack.operator.post("/v1/operator/apply", &shared).await?;
    assert_eq!(
        shared.json()?["error"]["problems"][0]["message"],
        "stands on a memory, which is its agent's alone"
    );
    Ok(())
}
