//! What is answered holds no secret of that moment, whenever it was stored and however often secrets change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::Stack;

const VALUE: &str = "hunter22-and-more";

/// Makes [`VALUE`] a secret.
async fn keep(stack: &Stack) -> Result<()> {
    let secret = json!({ "name": "DOOR", "value": VALUE });
    stack.apply(&json!({ "secrets": [secret] })).await?;
    Ok(())
}

#[tokio::test]
async fn descriptions_are_listed_read_and_audited_without_secrets_and_exported_as_written()
-> Result<()> {
    let stack = Stack::storage().await?;
    let ada = &stack.ada.id;
    let text = format!("not {VALUE}");
    let memory = format!("agent/{ada}/memory.md");
    let plan = format!("agent/{ada}/plan.md");
    let document = json!({
        "secrets": [{ "name": "OTHER_KEY", "value": "long enough", "description": text }],
        "collections": [{ "name": "doors", "description": text,
            "columns": [{ "name": "code", "type": "text" }] }],
        "notes": [{ "path": memory, "content": text }, { "path": plan, "content": text }],
    });
    stack.apply(&document).await?;
    keep(&stack).await?;
    let read = async |path: &str| -> Result<Value> {
        let path = format!("/v1/operator/{path}");
        stack.operator.get(&path).await?.expect(200)
    };
    let hidden = "not [redacted:DOOR]";
    let of_note = |path: &str| format!("notes/{}", path.replace('/', "%2F"));
    let mut others = Vec::new();
    for (path, pointer, expected) in [
        ("secrets", "/secrets/1/description", hidden),
        ("secrets/OTHER_KEY", "/description", hidden),
        ("collections", "/collections/0/description", hidden),
        ("collections/doors", "/description", hidden),
        (of_note(&memory).as_str(), "/content", hidden),
        (of_note(&plan).as_str(), "/content", text.as_str()),
        (
            "audit?kind=secrets&object=OTHER_KEY",
            "/audit/0/after/description",
            hidden,
        ),
        (
            "audit?kind=collections",
            "/audit/0/after/description",
            hidden,
        ),
        ("export", "/secrets/1/description", text.as_str()),
        ("export", "/collections/0/description", text.as_str()),
    ] {
        let answer = read(path).await?;
        if answer.pointer(pointer) != Some(&json!(expected)) {
            others.push((path.to_owned(), pointer, answer));
        }
    }
    assert!(others.is_empty(), "{others:#?}");
    for path in ["audit?kind=secrets", "audit?kind=collections"] {
        assert!(!read(path).await?.to_string().contains(VALUE), "{path}");
    }
    // What is exported can be applied again and changes nothing.
    let exported = read("export").await?;
    let changes = stack.apply(&exported).await?;
    let changes = changes["changes"].as_array().context("changes")?;
    assert!(
        changes.iter().all(|change| change["action"] == "unchanged"),
        "{changes:?}"
    );
    Ok(())
}

#[tokio::test]
async fn events_are_told_without_what_became_a_secret_after_them() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let text = format!("a {VALUE}");
    for (tool, arguments) in [
        (
            "report_issue",
            json!({ "summary": text, "detail": text, "kind": "api", "tool_name": VALUE }),
        ),
        (
            "secret_request",
            json!({ "name": "PAY_KEY", "reason": text }),
        ),
        ("group_post", json!({ "content": text })),
    ] {
        let result = run.call(tool, arguments).await?;
        assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
    }
    let told = async || stack.backend.get("/v1/events?after=0").await;
    let before = told().await?;
    assert_eq!(before.text.matches(VALUE).count(), 4, "{}", before.text);
    keep(&stack).await?;
    let after = told().await?.expect(200)?;
    let hidden = "a [redacted:DOOR]";
    assert_eq!(after["events"][0]["summary"], hidden);
    assert_eq!(after["events"][0]["tool_name"], "[redacted:DOOR]");
    assert_eq!(after["events"][1]["reason"], hidden);
    assert_eq!(after["events"][2]["content"], hidden);
    assert!(!after.to_string().contains(VALUE), "{after}");
    Ok(())
}

#[tokio::test]
async fn calls_end_while_an_organisations_secrets_never_stay_the_same() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    // So many that they change again before they are read.
    let secrets: Vec<Value> = (0..400)
        .map(|n| json!({ "name": format!("KEY_{n:04}"), "value": format!("value-{n:04}-of-many") }))
        .collect();
    stack.apply(&json!({ "secrets": secrets })).await?;
    let content = format!("{} value-0007-of-many", "word ".repeat(20).trim_end());
    let arguments = json!({ "level": "agent", "key": "a.md", "content": content });
    run.call("note_write", arguments).await?;

    let stop = Arc::new(AtomicBool::new(false));
    let changes = Arc::new(AtomicU32::new(0));
    let mut db = stack.database().await?;
    let changing = {
        let (stop, changes) = (Arc::clone(&stop), Arc::clone(&changes));
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                sqlx::query(
                    "UPDATE organisations SET secrets_version = nextval('secrets_versions')",
                )
                .execute(&mut db)
                .await?;
                changes.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(())
        })
    };
    for number in 0..5 {
        let found = run.call("note_find", json!({ "query": "word" })).await?;
        assert!(found.text().contains("[redacted:KEY_0007]"), "{found:?}");
        assert!(!found.content.contains("value-0007"), "{found:?}");
        let key = format!("{number}.md");
        let arguments = json!({ "level": "agent", "key": key, "content": "x" });
        let written = run.call("note_write", arguments).await?;
        assert_eq!(written.metadata["error"], Value::Null, "{written:?}");
    }
    stop.store(true, Ordering::Relaxed);
    changing.await??;
    // Each call met secrets that were new again.
    assert!(changes.load(Ordering::Relaxed) > 20, "{changes:?}");
    Ok(())
}
