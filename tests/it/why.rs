//! Why a tool is offered: the explanation, the list with reasons and a run's offer say the same.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stack;

async fn why(stack: &Stack, agent: &str, tool: &str) -> Result<Value> {
    let path = format!("/v1/operator/why?agent={agent}&tool={tool}");
    stack.operator.get(&path).await?.expect(200)
}

#[tokio::test]
async fn the_explanation_names_levels_who_and_when() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["bindings"] = json!([
        { "tool": "note", "organisation": true, "enabled": false },
        { "tool": "note", "guild": "core", "enabled": true },
        { "tool": "note_write", "guild": "core", "enabled": false },
        { "tool": "note_write", "agent": stack.ada.id, "enabled": true },
    ]);
    stack.apply(&document).await?;
    let ada = why(&stack, &stack.ada.id, "note_write").await?;
    assert_eq!(ada["agent"], stack.ada.id);
    assert_eq!(ada["tool"], "note_write");
    assert_eq!(ada["source"], "native");
    assert_eq!(
        ada["offered"],
        json!({ "direct": true, "group_chat": true, "schedule": true })
    );
    let levels = ada["levels"].as_array().cloned().unwrap_or_default();
    let rows: Vec<Value> = levels
        .iter()
        .map(|level| {
            json!([
                level["level"],
                level["owner"],
                level["tool"],
                level["family"]
            ])
        })
        .collect();
    assert_eq!(
        json!(rows),
        json!([
            ["agent", stack.ada.id, true, null],
            ["guild", "core", false, true],
            ["organisation", "acme", null, false]
        ])
    );
    for level in &levels {
        let by = level["by"].as_str().unwrap_or_default();
        assert!(by.starts_with("operator:"), "{level}");
        assert!(
            level["at"].as_str().is_some_and(|at| at.ends_with('Z')),
            "{level}"
        );
    }
    assert_eq!(
        ada["decided_by"],
        format!("agent:{}:note_write", stack.ada.id)
    );
    assert_eq!(
        ada["reason"],
        format!(
            "note_write is offered to {0}: agent {0} switches note_write on",
            stack.ada.id
        )
    );
    let bob = why(&stack, &stack.bob.id, "note_write").await?;
    assert_eq!(bob["offered"]["direct"], false);
    assert_eq!(bob["decided_by"], "guild:core:note_write");
    assert_eq!(bob["levels"][0]["by"], Value::Null);

    let shell = why(&stack, &stack.bob.id, "shell").await?;
    assert_eq!(shell["decided_by"], "config.coding");
    assert_eq!(
        shell["reason"],
        format!(
            "shell is not offered to {0}: config.coding of {0} is false",
            stack.bob.id
        )
    );
    let always = why(&stack, &stack.bob.id, "report_issue").await?;
    assert_eq!(always["decided_by"], "always");
    Ok(())
}

#[tokio::test]
async fn offer_why_and_runs_agree_over_bindings_flags_and_kinds() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.bob).await?;
    for (name, parameters) in [
        ("count", json!({ "type": "object" })),
        ("quiet", Value::Null),
    ] {
        let mut script = json!({ "name": name, "description": "d", "source": "print(1)" });
        if parameters.is_object() {
            script["parameters"] = parameters;
        }
        let made = run.call("script_create", script).await?;
        assert_eq!(made.metadata["error"], Value::Null, "{made:?}");
    }
    let off =
        |tool: &str, at: &str, owner: Value| json!({ "tool": tool, at: owner, "enabled": false });
    let on =
        |tool: &str, at: &str, owner: Value| json!({ "tool": tool, at: owner, "enabled": true });
    let bob = || json!(stack.bob.id);
    // Each step adds its rows to those before.
    let steps = [
        (json!({}), json!([])),
        (
            json!({ "coding": true, "browser": true }),
            json!([off("note", "organisation", json!(true))]),
        ),
        (
            json!({ "memory": false }),
            json!([on("note_get", "guild", json!("core"))]),
        ),
        (
            json!({}),
            json!([
                off("script_run", "agent", bob()),
                on("note", "agent", bob())
            ]),
        ),
        (
            json!({ "scripting": false }),
            json!([off("note_get", "agent", bob())]),
        ),
    ];
    for (step, (config, bindings)) in steps.into_iter().enumerate() {
        let mut document = stack.document();
        document["agents"][1]["config"] = config;
        document["bindings"] = bindings;
        stack.apply(&document).await?;
        for kind in ["direct", "group_chat", "schedule"] {
            let run = stack
                .backend
                .start(&json!({ "agent": stack.bob.id, "kind": kind }))
                .await?;
            let path = format!("/v1/agents/{}/offer?kind={kind}", stack.bob.id);
            let list = stack.backend.get(&path).await?.expect(200)?;
            assert_eq!(list["next"], Value::Null);
            let rows = list["tools"].as_array().cloned().unwrap_or_default();
            let offered: Vec<&str> = rows
                .iter()
                .filter(|row| row["offered"] == true)
                .filter_map(|row| row["name"].as_str())
                .collect();
            assert_eq!(offered, run.offered(), "step {step}, {kind}");
            assert!(rows.iter().any(|row| row["name"] == "count"));
            assert!(!rows.iter().any(|row| row["name"] == "quiet"), "no tool");
            for row in &rows {
                assert!(
                    row["reason"]
                        .as_str()
                        .is_some_and(|reason| reason.len() > 10),
                    "{row}"
                );
                let name = row["name"].as_str().unwrap_or_default();
                let told = why(&stack, &stack.bob.id, name).await?;
                assert_eq!(told["offered"][kind], row["offered"], "step {step}, {name}");
            }
        }
    }
    let quiet = why(&stack, &stack.bob.id, "quiet").await?;
    assert_eq!(quiet["source"], "script");
    assert_eq!(
        quiet["offered"],
        json!({ "direct": false, "group_chat": false, "schedule": false })
    );
    Ok(())
}

#[tokio::test]
async fn a_name_that_nobody_has_gets_the_nearest_one() -> Result<()> {
    let stack = Stack::storage().await?;
    let ada = &stack.ada.id;
    let near = format!("{}x", ada);
    for (path, words) in [
        (
            format!("agent={ada}&tool=note_wirte"),
            "no tool note_wirte; did you mean note_write?".to_owned(),
        ),
        (
            format!("agent={ada}&tool=zzzzzzzz"),
            "no tool zzzzzzzz\"".to_owned(),
        ),
        (
            format!("agent={near}&tool=note_get"),
            format!("no agent {near}; did you mean {ada}?"),
        ),
    ] {
        let answer = stack
            .operator
            .get(&format!("/v1/operator/why?{path}"))
            .await?;
        assert_eq!(answer.refusal(), (404, "not_found".to_owned()), "{path}");
        assert!(answer.text.contains(&words), "{path}: {}", answer.text);
    }
    let both = stack.operator.get("/v1/operator/why?tol=x").await?;
    assert_eq!(both.refusal(), (422, "invalid".to_owned()));
    for words in [
        "`agent` is missing",
        "`tool` is missing",
        "`tol` is no parameter",
    ] {
        assert!(both.text.contains(words), "{}", both.text);
    }
    let offer = format!("/v1/agents/{ada}/offer?kind=cron&x=1");
    let offer = stack.backend.get(&offer).await?;
    assert_eq!(offer.refusal(), (422, "invalid".to_owned()));
    assert!(
        offer.text.contains("direct, group_chat, schedule")
            && offer.text.contains("`x` is no parameter"),
        "{}",
        offer.text
    );
    let other = stack.operator_of("other")?;
    let answer = other
        .get(&format!("/v1/operator/why?agent={ada}&tool=note_get"))
        .await?;
    assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    assert!(!answer.text.contains("did you mean"), "{}", answer.text);
    Ok(())
}
