//! Adding, merging, changing and removing.

use anyhow::Result;
use serde_json::{Value, json};

use super::{add, with_contacts};
use crate::checks::{check, check_refused};

#[tokio::test]
async fn a_record_comes_back_digit_for_digit_in_the_order_of_its_columns() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    let body = r#"{"tags":["a","b"],"amount":12345678901234567890.10,"met_at":"2026-03-01T10:30:00+01:00","email":"Ann@Example.com","vip":false,"name":null}"#;
    let arguments: Value = json!(format!("{{\"collection\":\"contacts\",\"body\":{body}}}"));
    let result = run.call("record_add", arguments).await?;
    assert!(
        result.text().contains(
            r#""body":{"email":"Ann@Example.com","amount":12345678901234567890.10,"met_at":"2026-03-01T09:30:00Z","tags":["a","b"],"vip":false}"#
        ),
        "{result:?}"
    );
    let keys: Vec<_> = result.json()["record"]
        .as_object()
        .into_iter()
        .flat_map(|record| record.keys().cloned())
        .collect();
    assert_eq!(
        keys,
        ["collection", "id", "created_at", "updated_at", "body"]
    );
    let list = run
        .call("record_list", json!({ "collection": "contacts" }))
        .await?;
    assert!(list.text().contains("12345678901234567890.10"), "{list:?}");
    Ok(())
}

#[tokio::test]
async fn every_problem_is_told_at_once_and_nothing_is_stored() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    let refused = run
        .call(
            "record_add",
            json!({ "collection": "contacts", "body": {
                "emial": "a@b.c", "stage": "cleint", "amount": "5", "met_at": "tomorrow", "tags": "x", "vip": 1 } }),
        )
        .await?;
    assert_eq!(
        refused.text(),
        "ERROR: 422 record rejected: 7 problems\n\
         emial: is no column of contacts; allowed: email, name, stage, amount, met_at, tags, areas, vip; did you mean email?\n\
         stage: cleint is none of its values; allowed: lead, client, lost; did you mean client?\n\
         amount: is a text; allowed: a number, without quotes\n\
         met_at: tomorrow is no time; allowed: a time with its offset as RFC 3339 writes it, for example 2026-03-01T09:30:00Z\n\
         tags: is a text; allowed: an array of texts\n\
         vip: is a number; allowed: true or false, without quotes\n\
         email: is missing (required)"
    );
    assert_eq!(refused.metadata["error"], "422 record rejected: 7 problems");
    let list = run
        .call("record_list", json!({ "collection": "contacts" }))
        .await?;
    assert_eq!(list.json(), json!({ "total": 0, "records": [] }));
    Ok(())
}

#[tokio::test]
async fn a_unique_value_merges_into_the_live_record() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    let id = add(
        &run,
        json!({ "email": "ann@b.c", "name": "Ann", "amount": 1.5 }),
    )
    .await?;
    let merged = run
        .call(
            "record_add",
            json!({ "collection": "contacts", "body": { "email": "ann@b.c", "amount": 2, "name": null, "vip": true } }),
        )
        .await?
        .json();
    assert_eq!(merged["note"], format!("merged into existing record {id}"));
    assert_eq!(merged["record"]["id"], id);
    assert_eq!(
        merged["record"]["body"],
        json!({ "email": "ann@b.c", "name": "Ann", "amount": 2, "vip": true })
    );
    // Another spelling of the value is another value.
    assert_ne!(add(&run, json!({ "email": "Ann@b.c" })).await?, id);
    Ok(())
}

#[tokio::test]
async fn an_update_merges_clears_and_refuses_what_others_have() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    let ann = add(
        &run,
        json!({ "email": "ann@b.c", "amount": 1, "tags": ["x"] }),
    )
    .await?;
    let bob = add(&run, json!({ "email": "bob@b.c" })).await?;
    let update = |id: i64, body: Value| json!({ "collection": "contacts", "id": id, "body": body });
    let changed = run
        .call(
            "record_update",
            update(ann, json!({ "amount": null, "tags": [], "name": "Ann" })),
        )
        .await?
        .json();
    assert_eq!(
        changed["record"]["body"],
        json!({ "email": "ann@b.c", "name": "Ann", "tags": [] })
    );
    assert!(changed.get("warnings").is_none(), "{changed}");
    for (id, body, refusal) in [
        (
            bob,
            json!({ "email": "ann@b.c" }),
            format!(
                "ERROR: 422 record rejected: 1 problems\nemail: record {ann} has this value already"
            ),
        ),
        (
            bob,
            json!({ "email": null, "vip": "yes" }),
            "ERROR: 422 record rejected: 2 problems\n".to_owned(),
        ),
        (bob, json!({}), "ERROR: 422 body is empty".to_owned()),
        (
            bob + 1,
            json!({ "vip": true }),
            format!("ERROR: 404 no record {} in collection contacts", bob + 1),
        ),
        (0, json!({ "vip": true }), "ERROR: 404 ".to_owned()),
    ] {
        check_refused(&run, "record_update", update(id, body), &refusal, "").await?;
    }
    check_refused(
        &run,
        "record_update",
        json!({ "collection": "contacts", "id": "5", "body": {} }),
        "ERROR: invalid arguments: id is a string; allowed: integer",
        "",
    )
    .await
}

#[tokio::test]
async fn a_removed_record_is_gone_and_frees_its_unique_value() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    let id = add(&run, json!({ "email": "ann@b.c", "name": "Ann" })).await?;
    let remove = json!({ "collection": "contacts", "id": id });
    check(
        &run,
        "record_remove",
        remove.clone(),
        json!({ "removed": id }),
    )
    .await?;
    check_refused(&run, "record_remove", remove, "ERROR: 404 no record", "").await?;
    assert_eq!(super::found(&run, "ann").await?, [""; 0]);
    let again = add(&run, json!({ "email": "ann@b.c", "name": "Ann" })).await?;
    assert_ne!(again, id);
    assert_eq!(super::found(&run, "ann").await?, ["Ann"]);
    Ok(())
}

#[tokio::test]
async fn warnings_name_stored_values_that_would_be_refused_now() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let id = add(&run, json!({ "email": "ann@b.c", "stage": "lead" })).await?;
    // What no operator's document can do: a definition that stored values don't fit.
    let mut db = stack.database().await?;
    sqlx::query("UPDATE records SET body = body || '{\"stage\":\"old\"}'")
        .execute(&mut db)
        .await?;
    let update = |body: Value| json!({ "collection": "contacts", "id": id, "body": body });
    let changed = run
        .call("record_update", update(json!({ "vip": true })))
        .await?
        .json();
    assert_eq!(
        changed["warnings"],
        json!(["stage: the stored value old is none of its values; allowed: lead, client, lost"])
    );
    let mended = run
        .call("record_update", update(json!({ "stage": "lost" })))
        .await?
        .json();
    assert!(mended.get("warnings").is_none(), "{mended}");
    Ok(())
}
