//! Who reaches a collection: every combination of rows, live at each call.

use anyhow::Result;
use serde_json::{Value, json};

use super::{add, contacts, with_contacts};
use crate::checks::check_refused;

#[tokio::test]
async fn every_combination_of_rows_opens_what_the_rule_says() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let id = add(&run, json!({ "email": "a@b.c" })).await?;
    let absent = run
        .call("record_list", json!({ "collection": "nothing" }))
        .await?;
    assert!(
        absent
            .content
            .starts_with("ERROR: 404 no collection nothing")
    );
    let rows = [None, Some("none"), Some("read"), Some("write")];
    for agent in rows {
        for guild in rows {
            for organisation in rows {
                let mut access = Vec::new();
                for (row, word) in [
                    (json!({ "agent": stack.ada.id }), agent),
                    (json!({ "guild": "core" }), guild),
                    (json!({ "organisation": true }), organisation),
                ] {
                    if let Some(word) = word {
                        let mut row = row;
                        row["access"] = word.into();
                        access.push(row);
                    }
                }
                let mut collection = contacts();
                collection["access"] = json!(access);
                stack.apply(&json!({ "collections": [collection] })).await?;
                let better = guild.max(organisation).unwrap_or("none");
                let expected = agent.unwrap_or(better);
                let calls = json!([
                    { "id": format!("l{access:?}"), "name": "record_list", "arguments": { "collection": "contacts" } },
                    { "id": format!("u{access:?}"), "name": "record_update",
                      "arguments": { "collection": "contacts", "id": id, "body": { "vip": true } } },
                ]);
                let results = run.batch(calls).await?;
                let words: Vec<&str> = results
                    .iter()
                    .map(|result| match result.content.get(..10) {
                        Some("ERROR: 404") => "404",
                        Some("ERROR: 403") => "403",
                        _ => "done",
                    })
                    .collect();
                let allowed = match expected {
                    "none" => ["404", "404"],
                    "read" => ["done", "403"],
                    _ => ["done", "done"],
                };
                assert_eq!(words, allowed, "{access:?}: {results:?}");
                if expected == "none" {
                    // The same words as for what is not there.
                    let text = results[0].text().replace("contacts", "nothing");
                    assert_eq!(text, absent_now(&run).await?, "{access:?}");
                }
            }
        }
    }
    Ok(())
}

async fn absent_now(run: &tests::Run) -> Result<String> {
    let absent = run
        .call("record_list", json!({ "collection": "nothing" }))
        .await?;
    Ok(absent.text().to_owned())
}

#[tokio::test]
async fn what_may_only_be_read_is_refused_to_every_writer() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let id = add(&run, json!({ "email": "a@b.c", "name": "Ann" })).await?;
    let mut collection = contacts();
    collection["access"] = json!([{ "organisation": true, "access": "read" }]);
    stack.apply(&json!({ "collections": [collection] })).await?;
    assert_eq!(super::found(&run, "ann").await?, ["Ann"]);
    for (tool, arguments) in [
        (
            "record_add",
            json!({ "collection": "contacts", "body": {} }),
        ),
        (
            "record_update",
            json!({ "collection": "contacts", "id": id, "body": {} }),
        ),
        (
            "record_remove",
            json!({ "collection": "contacts", "id": id }),
        ),
    ] {
        check_refused(
            &run,
            tool,
            arguments,
            "ERROR: 403 you may read collection contacts and not change it",
            "",
        )
        .await?;
    }
    for name in ["contcats", "record/contacts/7", "collection/contacts"] {
        let arguments = json!({ "collection": name });
        check_refused(
            &run,
            "record_list",
            arguments,
            "ERROR: 404 ",
            "did you mean contacts?",
        )
        .await?;
    }
    let nul = json!({ "collection": "a\0b" });
    check_refused(
        &run,
        "record_list",
        nul,
        "ERROR: 404 ",
        "you can read: contacts",
    )
    .await?;
    let mut gone = contacts();
    gone["access"] = json!([{ "organisation": true, "access": "write" }, { "agent": stack.ada.id, "access": "none" }]);
    stack.apply(&json!({ "collections": [gone] })).await?;
    assert_eq!(super::found(&run, "ann").await?, [""; 0]);
    let bob = stack.run(&stack.bob).await?;
    let written = bob
        .call(
            "record_update",
            json!({ "collection": "contacts", "id": id, "body": { "vip": true } }),
        )
        .await?;
    assert_eq!(written.metadata["error"], Value::Null, "{written:?}");
    Ok(())
}
