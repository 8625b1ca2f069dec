//! The script tools as storage: create, list, read, delete, the run's snapshot, the refusals.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Stack;

#[tokio::test]
async fn a_script_is_created_listed_read_replaced_and_deleted() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let create =
        |source: &str| json!({ "name": "count", "description": "Counts.", "source": source });
    assert_eq!(
        run.call("script_create", create("print(1)")).await?.json(),
        json!({ "name": "count", "created": true, "runs_from": "now" })
    );
    assert_eq!(
        run.call("script_create", create("print(2)")).await?.json(),
        json!({ "name": "count", "created": false, "runs_from": "next run" })
    );
    assert_eq!(
        run.call("script_list", json!({})).await?.json(),
        json!({ "scripts": [{ "name": "count", "description": "Counts." }] })
    );
    assert_eq!(
        run.call("script_read", json!({ "name": "count" }))
            .await?
            .json(),
        json!({ "name": "count", "description": "Counts.", "source": "print(2)" })
    );
    assert_eq!(
        run.call("script_delete", json!({ "name": "count" }))
            .await?
            .json(),
        json!({ "name": "count", "deleted": true })
    );
    for name in ["script_read", "script_delete", "script_run"] {
        let result = run.call(name, json!({ "name": "count" })).await?;
        assert!(
            result.content.starts_with("ERROR: 404 "),
            "{name}: {result:?}"
        );
    }
    assert_eq!(
        run.call("script_list", json!({})).await?.json(),
        json!({ "scripts": [] })
    );
    assert_eq!(
        run.call("script_create", create("print(3)")).await?.json()["runs_from"],
        "now"
    );
    Ok(())
}

#[tokio::test]
async fn a_script_with_parameters_is_a_tool_from_the_next_run() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false });
    run.call(
        "script_create",
        json!({ "name": "weather", "description": "Tells the weather.", "source": "print(1)", "parameters": parameters }),
    )
    .await?;
    assert_eq!(
        run.call("script_list", json!({})).await?.json()["scripts"][0]["parameters"],
        parameters
    );
    let early = run.call("weather", json!({ "city": "Bonn" })).await?;
    assert_eq!(early.text(), "ERROR: tool weather is not offered this run");

    let next = stack.run(&stack.ada).await?;
    let tool = next.body["tools"]
        .as_array()
        .and_then(|tools| tools.last())
        .cloned()
        .unwrap_or_default();
    assert_eq!(tool["name"], "weather");
    assert_eq!(tool["source"], "script");
    assert_eq!(tool["description"], "Tells the weather.");
    // The rewritten schema is what the model sees; the original still validates.
    assert!(
        tool["input_schema"].get("additionalProperties").is_none(),
        "{tool}"
    );
    let wrong = next.call("weather", json!({ "town": "Bonn" })).await?;
    assert!(wrong.text().starts_with("ERROR: "), "{wrong:?}");
    for word in ["town", "city"] {
        assert!(wrong.text().contains(word), "{wrong:?}");
    }
    let through = next
        .call(
            "script_run",
            json!({ "name": "weather", "arguments": { "city": 5 } }),
        )
        .await?;
    assert!(through.text().starts_with("ERROR: "), "{through:?}");
    assert!(through.text().contains("city"), "{through:?}");

    let mut document = stack.document();
    document["bindings"] =
        json!([{ "tool": "script_run", "agent": stack.ada.id, "enabled": false }]);
    stack.apply(&document).await?;
    let without = stack.run(&stack.ada).await?;
    assert!(!without.offered().contains(&"weather".to_owned()));
    let other = stack.run(&stack.bob).await?;
    assert_eq!(
        other.call("weather", json!({})).await?.text(),
        "ERROR: unknown tool weather"
    );
    Ok(())
}

#[tokio::test]
async fn every_refusal_of_a_script_names_the_problem() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let script = |name: &str| json!({ "name": name, "description": "d", "source": "pass" });
    for (arguments, word) in [
        (script("Count"), "name"),
        (script("1st"), "name"),
        (script(&"a".repeat(64)), "name"),
        (script("manifest"), "manifest"),
        (script("note_get"), "note_get"),
        (script("shell"), "shell"),
        (
            json!({ "name": "a", "description": "", "source": "pass" }),
            "description",
        ),
        (
            json!({ "name": "a", "description": "d".repeat(401), "source": "pass" }),
            "400",
        ),
        (json!({ "name": "a", "description": "d" }), "source"),
        (
            json!({ "name": "a", "description": "d", "source": "x".repeat(256 * 1024 + 1) }),
            "256",
        ),
        (
            json!({ "name": "a", "description": "d", "source": "pass", "parameters": { "type": "nothing" } }),
            "parameters",
        ),
        (
            json!({ "name": "a", "description": "d", "source": "pass", "parameters": { "type": "string" } }),
            "object",
        ),
    ] {
        let result = run.call("script_create", arguments.clone()).await?;
        assert!(
            result.content.starts_with("ERROR: "),
            "{arguments}: {result:?}"
        );
        assert!(result.content.contains(word), "{word}: {result:?}");
    }
    assert_eq!(
        run.call("script_list", json!({})).await?.json(),
        json!({ "scripts": [] })
    );
    Ok(())
}

#[tokio::test]
async fn a_new_name_is_refused_at_max_scripts_and_a_replacement_is_not() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["agents"][0]["config"]["max_scripts"] = json!(2);
    stack.apply(&document).await?;
    let run = stack.run(&stack.ada).await?;
    let script = |name: &str| json!({ "name": name, "description": "d", "source": "pass" });
    for name in ["one", "two"] {
        assert_eq!(
            run.call("script_create", script(name)).await?.json()["created"],
            true
        );
    }
    let refused = run.call("script_create", script("three")).await?;
    assert!(refused.content.starts_with("ERROR: "), "{refused:?}");
    assert!(refused.content.contains('2'), "{refused:?}");
    assert_eq!(
        run.call("script_create", script("two")).await?.json()["created"],
        false
    );
    run.call("script_delete", json!({ "name": "one" })).await?;
    let fits = run.call("script_create", script("three")).await?;
    assert_eq!(fits.metadata["error"], Value::Null, "{fits:?}");
    Ok(())
}
