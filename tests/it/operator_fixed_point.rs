//! Random documents: applied, exported, applied again; and two operators at once.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::{Api, Stack};

use crate::operator_world::{Random, World};

async fn apply(api: &Api, document: &Value, query: &str) -> Result<Value> {
    let path = format!("/v1/operator/apply{query}");
    let answer = api.post(&path, document).await?;
    answer.expect(200).with_context(|| document.to_string())
}

fn pending(answer: &Value) -> Vec<String> {
    answer["changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|change| change["action"] != "unchanged")
        .map(Value::to_string)
        .collect()
}

async fn export(api: &Api) -> Result<Value> {
    api.get("/v1/operator/export").await?.expect(200)
}

/// Applies an export to a control plane that has nothing yet, with values added.
async fn is_made_anew_from(export_of: &Value) -> Result<()> {
    let fresh = Stack::storage().await?;
    let theirs = export(&fresh.operator).await?;
    for kind in ["agents", "machines", "guilds"] {
        for object in theirs[kind].as_array().into_iter().flatten() {
            let id = object["id"].as_str().context("id")?;
            let path = format!("/v1/operator/{kind}/{id}");
            fresh.operator.delete(&path).await?.expect(200)?;
        }
    }
    assert_eq!(
        export(&fresh.operator).await?,
        json!({ "organisation": tests::shared::ORGANISATION })
    );
    let mut document = export_of.clone();
    if let Some(secrets) = document["secrets"].as_array_mut() {
        for secret in secrets {
            secret["value"] = "a value of its own".into();
        }
    }
    if document["secrets"].is_null()
        && let Some(fields) = document.as_object_mut()
    {
        fields.remove("secrets");
    }
    apply(&fresh.operator, &document, "").await?;
    assert_eq!(export(&fresh.operator).await?, *export_of);
    Ok(())
}

#[tokio::test]
async fn two_hundred_random_documents_are_fixed_points() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut world = World::default();
    world.meet("guild", "core");
    world.meet("machine", "local");
    let mut random = Random(2_026);
    let mut kinds = BTreeSet::new();
    for nth in 0..200 {
        let document = world.document(&mut random);
        let first = apply(&stack.operator, &document, "").await?;
        kinds.extend(
            first["changes"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|change| change["kind"].as_str().map(str::to_owned)),
        );
        let second = apply(&stack.operator, &document, "").await?;
        ensure!(
            pending(&second).is_empty(),
            "{nth}: {document}: {:?}",
            pending(&second)
        );
        let exported = export(&stack.operator).await?;
        let diff = apply(&stack.operator, &exported, "?dry_run=true").await?;
        ensure!(
            pending(&diff).is_empty(),
            "{nth}: {exported}: {:?}",
            pending(&diff)
        );
        if nth % 10 == 0 {
            apply(&stack.operator, &exported, "").await?;
            ensure!(
                export(&stack.operator).await? == exported,
                "{nth}: {exported}"
            );
        }
        if [20, 199].contains(&nth) {
            is_made_anew_from(&exported).await?;
        }
    }
    assert_eq!(kinds.len(), 9, "{kinds:?}");
    Ok(())
}

#[tokio::test]
async fn an_export_says_every_field_and_undoes_what_was_changed_since() -> Result<()> {
    let stack = Stack::storage().await?;
    let bob = &stack.bob.id;
    stack
        .apply(&json!({
            "collections": [{ "name": "contacts", "columns": [{ "name": "email", "type": "text" }] }],
            "notes": [{ "path": "org/a.md", "content": "a" }],
            "connectors": [{ "id": "search", "kind": "tavily", "url": "https://example.com" }],
            "logins": [{ "connector": "search", "organisation": true }],
            "secrets": [{ "name": "STRIPE_KEY", "value": "long enough" }],
        }))
        .await?;
    let before = export(&stack.operator).await?;
    let of_bob = before["agents"].as_array().into_iter().flatten();
    let of_bob = of_bob.filter(|agent| agent["id"] == json!(bob));
    assert_eq!(
        of_bob.map(|agent| &agent["config"]).collect::<Vec<_>>(),
        [
            &json!({ "browser": false, "coding": false, "scripting": true, "memory": true,
            "max_scripts": 10, "max_tool_calls": 60 })
        ]
    );
    assert_eq!(
        before["guilds"],
        json!([{ "id": "core", "repositories": [] }])
    );
    assert_eq!(
        before["collections"],
        json!([{ "name": "contacts", "description": "", "unique": "",
            "columns": [{ "name": "email", "type": "text" }], "access": [] }])
    );
    assert_eq!(
        before["notes"],
        json!([{ "path": "org/a.md", "content": "a", "access": [] }])
    );
    assert_eq!(before["connectors"][0]["filters"], json!({}));
    assert_eq!(before["logins"][0]["platform"], false);
    let by_hand = json!({
        "guilds": [{ "id": "core", "repositories": [{ "name": "site", "url": "https://example.com/s" }] }],
        "agents": [{ "id": bob, "config": { "coding": true, "max_scripts": 3 } }],
        "collections": [{ "name": "contacts", "description": "d", "unique": "email",
            "access": [{ "organisation": true, "access": "read" }] }],
        "notes": [{ "path": "org/a.md", "access": [{ "organisation": true, "access": "write" }] }],
        "connectors": [{ "id": "search", "filters": { "a": "jq:.a" } }],
        "logins": [{ "connector": "search", "organisation": true, "platform": true }],
        "secrets": [{ "name": "STRIPE_KEY", "description": "d", "grants": [bob] }],
    });
    apply(&stack.operator, &by_hand, "").await?;
    let back = apply(&stack.operator, &before, "").await?;
    let undone: Vec<&Value> = back["changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|change| change["action"] == "update")
        .map(|change| &change["fields"])
        .collect();
    assert_eq!(
        undone,
        [
            &json!(["repositories"]),
            &json!(["config"]),
            &json!(["description", "unique", "access"]),
            &json!(["access"]),
            &json!(["filters"]),
            &json!(["platform"]),
            &json!(["description", "grants"]),
        ]
    );
    assert_eq!(export(&stack.operator).await?, before);
    Ok(())
}

/// A document that marks objects of many kinds with one word.
fn marked(word: &str) -> Value {
    json!({
        "guilds": [{ "id": "core", "repositories": [{ "name": "site", "url": format!("https://example.com/{word}") }] }],
        "machines": [{ "id": "spare", "address": format!("https://{word}:1") }],
        "collections": [{ "name": "contacts", "description": word, "columns": [{ "name": "email", "type": "text", "values": [word] }] }],
        "notes": [
            { "path": "org/a.md", "content": word },
            { "path": "org/b.md", "content": word },
            { "path": "guild/core/c.md", "content": word },
        ],
        "connectors": [{ "id": "c-one", "kind": "mcp", "url": format!("https://{word}") }],
        "logins": [{ "connector": "c-one", "organisation": true, "key": format!("key-of-{word}") }],
        "secrets": [{ "name": "STRIPE_KEY", "description": word, "value": format!("value of {word}") }],
    })
}

#[tokio::test]
async fn of_two_operators_at_once_one_comes_after_the_other() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut seen = BTreeSet::new();
    for round in 0..25 {
        let (a, b) = (format!("a{round}"), format!("b{round}"));
        let (of_a, of_b) = (marked(&a), marked(&b));
        // Whoever begins has the better chance; both get it in turn.
        let (first, second) = if round % 2 == 0 {
            (&of_a, &of_b)
        } else {
            (&of_b, &of_a)
        };
        let (one, other) = tokio::join!(
            apply(&stack.operator, first, ""),
            apply(&stack.operator, second, ""),
        );
        one?;
        other?;
        let text = export(&stack.operator).await?.to_string();
        let marks = |word: &str| text.matches(&format!("{word}\"")).count();
        // One mark in each of the eight places that an export shows.
        let found = (marks(&a), marks(&b));
        ensure!(found == (8, 0) || found == (0, 8), "{found:?}: {text}");
        seen.insert(found);
        // Values don't show: the last document again is all unchanged, the first is not.
        let last = if found.0 == 0 { &of_b } else { &of_a };
        let again = apply(&stack.operator, last, "?dry_run=true").await?;
        ensure!(pending(&again).is_empty(), "{:?}", pending(&again));
    }
    ensure!(!seen.is_empty());
    Ok(())
}
