//! The sentences about calls: a test each, its name the sentence in short.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::{CallResult, Run, Stack};

const NONE_LEFT: &str = "ERROR: no tool calls remain in this run";

/// One call with arguments as they stand in the request, in whatever shape.
fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({ "id": id, "name": name, "arguments": arguments })
}

fn left(result: &CallResult) -> Result<u32> {
    let (_, number) = result
        .content
        .rsplit_once("remaining_tool_calls: ")
        .context("a trailer")?;
    Ok(number.parse()?)
}

async fn refusal(run: &Run, calls: Value) -> Result<(u16, String)> {
    let body = json!({ "calls": calls });
    let answer = run.api().post(&run.path("/calls"), &body).await?;
    Ok(answer.refusal())
}

#[tokio::test]
async fn results_come_in_the_order_of_the_calls_and_n_counts_down_in_it() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run_with_budget(20).await?;
    let results = run
        .batch(json!([
            call("slow", "shell", &json!({ "command": "sleep 0.3" })),
            call("unknown", "no_such_tool", &json!({})),
            call("quick", "note_find", &json!({})),
        ]))
        .await?;
    let found: Vec<_> = results
        .iter()
        .map(|result| Ok((result.id.as_str(), left(result)?)))
        .collect::<Result<_>>()?;
    assert_eq!(found, [("slow", 19), ("unknown", 18), ("quick", 17)]);
    Ok(())
}

#[tokio::test]
async fn unrelated_calls_of_a_batch_run_side_by_side() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run_with_budget(20).await?;
    // Each waits for a file that the other one makes.
    let meet = |own: &str, other: &str| {
        let command = format!("touch {own}; until [ -e {other} ]; do sleep 0.02; done; echo met");
        json!({ "command": command })
    };
    let results = run
        .batch(json!([
            call("a", "shell", &meet("one", "two")),
            call("b", "shell", &meet("two", "one")),
        ]))
        .await?;
    for result in results {
        assert!(result.text().trim_end().ends_with("]\nmet"), "{result:?}");
    }
    Ok(())
}

#[tokio::test]
async fn calls_of_a_batch_that_touch_storage_run_in_the_order_given() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    let mut calls = Vec::new();
    for number in 0..6 {
        let content = number.to_string();
        calls.push(call(
            &format!("w{number}"),
            "note_write",
            &json!({ "level": "agent", "key": "a.md", "content": content }),
        ));
        calls.push(call(
            &format!("r{number}"),
            "note_get",
            &json!({ "path": format!("agent/{}/a.md", stack.ada.id) }),
        ));
    }
    let results = run.batch(json!(calls)).await?;
    for (number, pair) in results.chunks(2).enumerate() {
        assert_eq!(pair[1].json()["content"], number.to_string(), "{pair:?}");
    }
    Ok(())
}

#[tokio::test]
async fn arguments_are_an_object_or_its_text_and_nothing_means_none() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    let nothing = [
        json!({}),
        json!(null),
        json!(""),
        json!(" \n\t"),
        json!("{}"),
        json!("null"),
    ];
    for (number, arguments) in nothing.iter().enumerate() {
        let id = format!("nothing_{number}");
        let result = run
            .batch(json!([call(&id, "note_find", arguments)]))
            .await?;
        assert_eq!(result[0].metadata["error"], Value::Null, "{arguments}");
    }
    let missing = run
        .batch(json!([{ "id": "missing", "name": "note_find" }]))
        .await?;
    assert_eq!(missing[0].metadata["error"], Value::Null, "{missing:?}");
    for (number, arguments) in [
        json!([1]),
        json!(5),
        json!(true),
        json!("[1]"),
        json!("\"x\""),
    ]
    .iter()
    .enumerate()
    {
        let id = format!("other_{number}");
        let result = run
            .batch(json!([call(&id, "note_find", arguments)]))
            .await?;
        assert!(
            result[0].content.starts_with("ERROR: "),
            "{arguments}: {result:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn nothing_is_coerced() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    let result = run.call("note_find", json!({ "limit": "5" })).await?;
    assert!(result.content.starts_with("ERROR: "), "{result:?}");
    assert!(result.content.contains("limit"), "{result:?}");
    Ok(())
}

#[tokio::test]
async fn every_call_costs_one_whatever_it_comes_to() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    let kinds = [
        ("no_such_tool", json!({})),
        // Offered to nobody without a machine that answers, so it fails.
        ("shell", json!({ "command": "true" })),
        ("schedule_nothing", json!({})),
        ("note_get", json!({ "path": "nowhere" })),
        ("note_get", json!(7)),
        ("note_find", json!({})),
    ];
    for (number, (name, arguments)) in (0..).zip(&kinds) {
        let result = run.call(name, arguments.clone()).await?;
        assert_eq!(left(&result)?, 39 - number, "{result:?}");
    }
    Ok(())
}

#[tokio::test]
async fn with_none_left_a_call_is_refused_stored_and_free() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(1).await?;
    run.call("note_find", json!({})).await?;
    for id in ["late", "later"] {
        let result = run.call_as(id, "note_find", json!({})).await?;
        assert_eq!(result.text(), NONE_LEFT);
        assert_eq!(left(&result)?, 0);
    }
    let messages = run.api().get(&run.path("/messages")).await?.expect(200)?;
    let stored: Vec<_> = messages["messages"]
        .as_array()
        .context("messages")?
        .iter()
        .map(|message| message["call_id"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(stored[1..], ["late", "later"]);
    Ok(())
}

#[tokio::test]
async fn the_same_call_is_known_by_its_json_values_and_another_one_is_refused() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    let arguments = json!({ "level": "agent", "key": "a.md", "content": "x" });
    let first = run.call_as("one", "note_write", arguments.clone()).await?;
    let same = [
        json!({ "content": "x", "key": "a.md", "level": "agent" }),
        json!(arguments.to_string()),
        json!(" {\"key\" : \"a.md\", \"level\":\"\\u0061gent\", \"content\":\"x\"}\n"),
    ];
    for arguments in &same {
        let again = run
            .batch(json!([call("one", "note_write", arguments)]))
            .await?;
        assert_eq!(again[0], first, "{arguments}");
    }
    let others = [
        (
            "note_write",
            json!({ "level": "agent", "key": "a.md", "content": "X" }),
        ),
        ("note_write", json!({ "level": "agent", "key": "a.md" })),
        ("note_get", arguments.clone()),
    ];
    for (name, arguments) in &others {
        let refused = refusal(
            &run,
            json!([
                call(
                    "new",
                    "note_write",
                    &json!({ "level": "agent", "key": "new.md", "content": "x" })
                ),
                call("one", name, arguments),
            ]),
        )
        .await?;
        assert_eq!(refused, (409, "call_id_reused".to_owned()), "{arguments}");
    }
    // Twice in one batch with two bodies is refused too, before anything runs.
    let refused = refusal(
        &run,
        json!([
            call("two", "note_find", &json!({})),
            call("two", "note_find", &json!({ "limit": 1 }))
        ]),
    )
    .await?;
    assert_eq!(refused, (409, "call_id_reused".to_owned()));
    let view = run.api().get(&run.path("")).await?.expect(200)?;
    assert_eq!(view["remaining_tool_calls"], 39);
    Ok(())
}

#[tokio::test]
async fn a_batch_of_known_and_new_calls_pays_for_the_new_ones() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    let known = run.call_as("known", "note_find", json!({})).await?;
    let results = run
        .batch(json!([
            call("new_1", "note_find", &json!({})),
            call("known", "note_find", &json!({})),
            call("new_2", "note_find", &json!({})),
            call("new_1", "note_find", &json!({})),
        ]))
        .await?;
    assert_eq!(results[1], known);
    assert_eq!(results[3], results[0]);
    assert_eq!((left(&results[0])?, left(&results[2])?), (38, 37));
    Ok(())
}

#[tokio::test]
async fn the_stamped_string_is_what_is_stored_and_read() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(5).await?;
    let result = run
        .call_as("one", "note_find", json!({ "query": "nowhere" }))
        .await?;
    assert_eq!(
        result.content,
        "{\"notes\":[]}\nWrite durable findings and finish with text. A batch costs one call each.\n\
         remaining_tool_calls: 4"
    );
    let messages = run.api().get(&run.path("/messages")).await?.expect(200)?;
    assert_eq!(messages["messages"][0]["content"], result.content.as_str());
    let mut db = stack.database().await?;
    let stored: String = sqlx::query_scalar("SELECT content FROM calls WHERE call_id = 'one'")
        .fetch_one(&mut db)
        .await?;
    assert_eq!(stored, result.content);
    Ok(())
}

#[tokio::test]
async fn a_handler_that_fails_is_an_error_and_only_the_log_has_its_cause() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    let mut db = stack.database().await?;
    sqlx::query("ALTER TABLE artifacts RENAME COLUMN body TO body_that_is_gone")
        .execute(&mut db)
        .await?;
    let result = run
        .call_as(
            "failing",
            "note_write",
            json!({ "level": "agent", "key": "a.md", "content": "x" }),
        )
        .await?;
    assert!(
        result.content.starts_with("ERROR: note_write failed"),
        "{result:?}"
    );
    assert!(result.content.contains("failing"), "{result:?}");
    assert!(!result.content.contains("column"), "{result:?}");
    let log = stack.control_plane.log();
    assert!(
        log.contains("does not exist") && log.contains("failing"),
        "{log}"
    );
    Ok(())
}

#[tokio::test]
async fn after_an_end_calls_are_refused_and_a_second_end_is_the_same() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run_with_budget(40).await?;
    run.call_as("one", "note_find", json!({})).await?;
    let first = run.end().await?;
    assert_eq!(first, json!({ "run": run.id, "state": "ended" }));
    assert_eq!(run.end().await?, first);
    for id in ["one", "two"] {
        let refused = refusal(&run, json!([call(id, "note_find", &json!({}))])).await?;
        assert_eq!(refused, (409, "run_ended".to_owned()), "{id}");
    }
    Ok(())
}
