//! Operators add, change, remove and bring back records; a changed definition has to fit.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{add, contacts, listed, with_contacts};

const RECORDS: &str = "/v1/operator/collections/contacts/records";

#[tokio::test]
async fn operators_write_by_the_rules_of_the_tools() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let bodies = json!({ "records": [
        { "email": "a@x.y", "name": "Ann" },
        { "email": "b@x.y", "name": "Bob" },
        { "email": "a@x.y", "amount": 1.5 },
    ] });
    let added = stack.operator.post(RECORDS, &bodies).await?.expect(201)?;
    let merged: Vec<_> = added["records"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| one["merged"].clone())
        .collect();
    assert_eq!(merged, [false, false, true]);
    let id = added["records"][0]["id"].as_i64().context("an id")?;
    assert_eq!(listed(&run, json!({ "name": "ann" })).await?, ["Ann"]);
    let refused = stack
        .operator
        .post(
            RECORDS,
            &json!({ "records": [{ "email": "c@x.y" }, { "stage": "x" }] }),
        )
        .await?;
    assert_eq!(refused.refusal(), (422, "invalid".to_owned()));
    for word in [
        "2 problems",
        "records[1].stage: x is none",
        "records[1].email: is missing",
    ] {
        assert!(refused.text.contains(word), "{}", refused.text);
    }
    assert_eq!(listed(&run, json!({ "email": "c@x.y" })).await?, [""; 0]);

    let one = format!("{RECORDS}/{id}");
    let changed = stack
        .operator
        .patch(&one, &json!({ "body": { "name": "Anna", "amount": null } }))
        .await?
        .expect(200)?;
    assert_eq!(
        changed["record"]["body"],
        json!({ "email": "a@x.y", "name": "Anna" })
    );
    assert_eq!(listed(&run, json!({ "name": "anna" })).await?, ["Anna"]);
    let wrong = json!({ "body": { "email": "b@x.y" } });
    let taken = stack.operator.patch(&one, &wrong).await?;
    assert_eq!(taken.refusal(), (422, "invalid".to_owned()));
    assert_eq!(
        stack.operator.delete(&one).await?.expect(200)?,
        json!({ "removed": id })
    );
    assert_eq!(
        stack.operator.delete(&one).await?.refusal(),
        (404, "not_found".to_owned())
    );
    assert_eq!(listed(&run, json!({ "name": "anna" })).await?, [""; 0]);
    let back = stack
        .operator
        .post(&format!("{one}/restore"), &json!({}))
        .await?
        .expect(200)?;
    assert_eq!(back["record"]["body"]["name"], "Anna");
    assert_eq!(listed(&run, json!({ "name": "anna" })).await?, ["Anna"]);
    Ok(())
}

#[tokio::test]
async fn what_comes_back_fits_the_present_definition() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let id = add(
        &run,
        json!({ "email": "a@x.y", "stage": "lead", "name": "Ann" }),
    )
    .await?;
    let one = format!("{RECORDS}/{id}");
    stack.operator.delete(&one).await?.expect(200)?;
    let mut changed = contacts();
    changed["columns"][2]["values"] = json!(["client"]);
    stack.apply(&json!({ "collections": [changed] })).await?;
    let restore = format!("{one}/restore");
    let refused = stack.operator.post(&restore, &json!({})).await?;
    assert_eq!(refused.refusal(), (409, "conflict".to_owned()));
    assert!(
        refused
            .text
            .contains("stage: lead is none of its values; allowed: client"),
        "{}",
        refused.text
    );
    stack.apply(&json!({ "collections": [contacts()] })).await?;
    stack
        .operator
        .post(&restore, &json!({}))
        .await?
        .expect(200)?;
    Ok(())
}

#[tokio::test]
async fn another_unique_column_holds_for_what_is_there() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let ann = add(&run, json!({ "email": "a@x.y", "amount": 1.50 })).await?;
    add(&run, json!({ "email": "b@x.y", "name": "1.5" })).await?;
    let mut changed = contacts();
    changed["unique"] = "amount".into();
    stack.apply(&json!({ "collections": [changed] })).await?;
    let merged = run
        .call(
            "record_add",
            json!({ "collection": "contacts", "body": { "email": "c@x.y", "amount": 1.5 } }),
        )
        .await?
        .json();
    assert_eq!(merged["record"]["id"], ann, "{merged}");
    changed = contacts();
    changed["unique"] = "".into();
    stack.apply(&json!({ "collections": [changed] })).await?;
    assert_ne!(
        add(&run, json!({ "email": "c@x.y", "amount": 1.5 })).await?,
        ann
    );
    let again = stack
        .operator
        .post(
            "/v1/operator/apply",
            &json!({ "collections": [contacts()] }),
        )
        .await?;
    assert_eq!(again.refusal(), (422, "document_rejected".to_owned()));
    assert!(again.text.contains("1 record"), "{}", again.text);
    Ok(())
}

#[tokio::test]
async fn an_agents_changes_are_in_the_history() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let id = add(&run, json!({ "email": "a@x.y", "name": "Ann" })).await?;
    for name in ["Anna", "Anne"] {
        let body = json!({ "email": "a@x.y", "name": name });
        let arguments = json!({ "collection": "contacts", "body": body });
        run.call("record_add", arguments).await?;
    }
    let history = stack
        .operator
        .get(&format!("{RECORDS}/{id}/history"))
        .await?
        .expect(200)?;
    let past: Vec<Value> = history["revisions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| json!([one["actor"], one["body"]["name"]]))
        .collect();
    let actor = format!("agent:{}", stack.ada.id);
    assert_eq!(past, [json!([actor, "Anna"]), json!([actor, "Ann"])]);
    Ok(())
}
