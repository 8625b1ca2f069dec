//! `where`, `since`, `order`, `limit`, `offset`, `total` and `hint`.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::Run;

use super::{add, listed, names, with_contacts};
use crate::checks::check_refused;

async fn people(run: &Run) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    for body in [
        json!({ "email": "john@x.com", "name": "John Größe", "stage": "lead", "amount": 9, "met_at": "2026-03-01T00:00:00Z", "tags": ["Receive", "red car"], "areas": ["north"], "vip": true }),
        json!({ "email": "paid@x.com", "name": "paid", "stage": "client", "amount": 10.50, "met_at": "2026-03-01T23:59:59.999Z", "tags": ["unpaid"] }),
        json!({ "email": "m_x@y.com", "name": "100% of_it \\ \"q\"", "stage": "lost", "amount": -3, "met_at": "2026-03-02T00:00:00Z", "vip": false, "areas": ["north", "south"] }),
        json!({ "email": "z@y.com", "name": "ПРИВЕТ мир", "amount": 0 }),
        json!({ "email": "none@y.com" }),
    ] {
        ids.push(add(run, body).await?);
    }
    Ok(ids)
}

#[tokio::test]
async fn where_matches_by_the_type_of_the_column() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    every_term_matches(&run).await
}

/// The table of terms, in an empty collection.
pub(super) async fn every_term_matches(run: &Run) -> Result<()> {
    let ids = people(run).await?;
    let (john, paid, odd, greeting, none) = (
        "John Größe",
        "paid",
        "100% of_it \\ \"q\"",
        "ПРИВЕТ мир",
        "-",
    );
    let table: Vec<(Value, Vec<&str>)> = vec![
        // A part, folded; % _ \ and quotes are themselves.
        (json!({ "name": "john" }), vec![john]),
        (json!({ "name": "GRÖSSE" }), vec![john]),
        (json!({ "name": "oh" }), vec![john]),
        (json!({ "name": "%" }), vec![odd]),
        (json!({ "name": "100%" }), vec![odd]),
        (json!({ "name": "of_it" }), vec![odd]),
        (json!({ "name": "ofXit" }), vec![]),
        (json!({ "name": "\\ \"q" }), vec![odd]),
        (json!({ "name": "_" }), vec![odd]),
        (json!({ "name": "привет" }), vec![greeting]),
        (json!({ "name": "МИР" }), vec![greeting]),
        // Similar spelling.
        (json!({ "name": "Jonh" }), vec![john]),
        (json!({ "name": "превит" }), vec![]),
        (json!({ "name": "прывет" }), vec![greeting]),
        (json!({ "tags": "recieve" }), vec![john]),
        (json!({ "tags": "RED C" }), vec![john]),
        (json!({ "tags": "paid" }), vec![paid]),
        (json!({ "name": "unpaid" }), vec![]),
        (json!({ "name": "joh1n" }), vec![]),
        // A column with values matches exactly.
        (json!({ "stage": "lead" }), vec![john]),
        (json!({ "areas": "north" }), vec![john, odd]),
        // Numbers and times, their text forms, ranges that count their ends.
        (json!({ "amount": 10.5 }), vec![paid]),
        (json!({ "amount": "10.500" }), vec![paid]),
        (json!({ "amount": { "gte": 9 } }), vec![john, paid]),
        (
            json!({ "amount": { "gte": "-3", "lte": 9 } }),
            vec![john, odd, greeting],
        ),
        (json!({ "amount": { "lte": -0.5 } }), vec![odd]),
        (json!({ "met_at": "2026-03-01" }), vec![john, paid]),
        (json!({ "met_at": "2026-03-01T01:00:00+01:00" }), vec![john]),
        (json!({ "met_at": { "gte": "2026-03-02" } }), vec![odd]),
        (
            json!({ "met_at": { "lte": "2026-03-01", "gte": "2026-03-01T00:00:00.001Z" } }),
            vec![paid],
        ),
        (json!({ "vip": true }), vec![john]),
        (json!({ "vip": "false" }), vec![odd]),
        (json!({ "vip": null }), vec![paid, greeting, none]),
        (json!({ "amount": null }), vec![none]),
        (json!({ "id": ids[3] }), vec![greeting]),
        (json!({ "id": ids[3].to_string() }), vec![greeting]),
        (json!({ "id": 99999999 }), vec![]),
        (json!({ "id": null }), vec![]),
        // All of them.
        (
            json!({ "email": "y.com", "areas": "south", "vip": false }),
            vec![odd],
        ),
        (
            json!({ "created_at": { "gte": "2020-01-01" }, "name": "paid" }),
            vec![paid],
        ),
        (json!({ "updated_at": { "lte": "2020-01-01" } }), vec![]),
    ];
    for (narrowed, expected) in table {
        assert_eq!(listed(run, narrowed.clone()).await?, expected, "{narrowed}");
    }
    Ok(())
}

#[tokio::test]
async fn a_records_own_times_match_as_they_are_told() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    people(&run).await?;
    let all = run
        .call("record_list", json!({ "collection": "contacts" }))
        .await?
        .json();
    let at = &all["records"][1]["updated_at"];
    for narrowed in [
        json!({ "updated_at": at, "name": "paid" }),
        json!({ "updated_at": { "gte": at, "lte": at }, "name": "paid" }),
    ] {
        assert_eq!(listed(&run, narrowed).await?, ["paid"]);
    }
    Ok(())
}

#[tokio::test]
async fn order_puts_missing_values_last_and_ends_in_the_id() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    people(&run).await?;
    let (john, paid, odd, greeting, none) = (
        "John Größe",
        "paid",
        "100% of_it \\ \"q\"",
        "ПРИВЕТ мир",
        "-",
    );
    for (column, direction, expected) in [
        ("amount", "asc", [odd, greeting, john, paid, none]),
        ("amount", "desc", [paid, john, greeting, odd, none]),
        // Text goes by code point.
        ("name", "asc", [odd, john, paid, greeting, none]),
        ("met_at", "desc", [odd, paid, john, greeting, none]),
        ("vip", "asc", [odd, john, paid, greeting, none]),
        ("vip", "desc", [john, odd, paid, greeting, none]),
        ("id", "desc", [none, greeting, odd, paid, john]),
        ("created_at", "desc", [none, greeting, odd, paid, john]),
    ] {
        for narrowed in [json!({}), json!({ "email": "com" })] {
            let answer = run
                .call(
                    "record_list",
                    json!({ "collection": "contacts", "where": narrowed,
                        "order": { "column": column, "direction": direction } }),
                )
                .await?
                .json();
            assert_eq!(names(&answer), expected, "{column} {direction} {narrowed}");
        }
    }
    for (order, word) in [
        (
            json!({ "column": "tags" }),
            "is an array, which does not sort",
        ),
        (json!({ "column": "nmae" }), "did you mean name?"),
    ] {
        let arguments = json!({ "collection": "contacts", "order": order });
        check_refused(
            &run,
            "record_list",
            arguments,
            "ERROR: 422 order.column",
            word,
        )
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn total_counts_before_limit_and_offset() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    people(&run).await?;
    for (narrowed, total) in [(json!({}), 5), (json!({ "email": "y.com" }), 3)] {
        for (limit, offset, count) in [(2, 0, 2), (2, 4, usize::from(total == 5)), (100, 9, 0)] {
            let answer = run
                .call(
                    "record_list",
                    json!({ "collection": "contacts", "where": narrowed, "limit": limit, "offset": offset }),
                )
                .await?
                .json();
            assert_eq!(answer["total"], total, "{answer}");
            assert_eq!(names(&answer).len(), count, "{answer}");
            assert!(answer.get("hint").is_none(), "{answer}");
        }
    }
    for limit in [0, 101, -1] {
        let arguments = json!({ "collection": "contacts", "limit": limit });
        check_refused(
            &run,
            "record_list",
            arguments,
            "ERROR: invalid arguments: limit",
            "",
        )
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn since_lists_the_oldest_change_first() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    let ids = people(&run).await?;
    // So that times, which are told by the millisecond, differ.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let changed = run
        .call(
            "record_update",
            json!({ "collection": "contacts", "id": ids[0], "body": { "vip": false } }),
        )
        .await?
        .json();
    let since = |since: &str| json!({ "collection": "contacts", "since": since });
    let at = changed["record"]["updated_at"].as_str().context("a time")?;
    let answer = run.call("record_list", since(at)).await?.json();
    assert_eq!(names(&answer), ["John Größe"], "{answer}");
    let answer = run.call("record_list", since("2020-01-01")).await?.json();
    assert_eq!(answer["total"], 5);
    assert_eq!(names(&answer)[4], "John Größe");
    let mut ordered = since("2020-01-01T00:00:00+02:00");
    ordered["order"] = json!({ "column": "id" });
    let answer = run.call("record_list", ordered).await?.json();
    assert_eq!(names(&answer)[0], "John Größe");
    let wrong = since("yesterday");
    check_refused(
        &run,
        "record_list",
        wrong,
        "ERROR: 422 since yesterday",
        "RFC 3339",
    )
    .await
}

#[tokio::test]
async fn an_empty_list_that_was_narrowed_has_a_hint() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    let empty = run
        .call(
            "record_list",
            json!({ "collection": "contacts", "where": { "name": "nobody" } }),
        )
        .await?
        .json();
    assert_eq!(empty["hint"]["records"], 0);
    assert_eq!(empty["hint"]["newest_change"], Value::Null);
    people(&run).await?;
    for narrowed in [
        json!({ "collection": "contacts", "where": { "name": "nobody" } }),
        json!({ "collection": "contacts", "since": "2999-01-01" }),
    ] {
        let answer = run.call("record_list", narrowed).await?.json();
        assert_eq!(answer["total"], 0);
        assert_eq!(answer["hint"]["records"], 5);
        assert!(answer["hint"]["newest_change"].is_string(), "{answer}");
        assert_eq!(answer["hint"]["columns"][2]["values"][0], "lead");
    }
    Ok(())
}

#[tokio::test]
async fn what_a_column_does_not_take_is_refused() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    let nine: serde_json::Map<String, Value> =
        (0..9).map(|n| (format!("c{n}"), json!("x"))).collect();
    for (narrowed, word) in [
        (json!({ "stage": "open" }), "allowed: lead, client, lost"),
        (json!({ "areas": "nroth" }), "did you mean north?"),
        (json!({ "nmae": "x" }), "did you mean name?"),
        (json!({ "name": "" }), "where.name is empty"),
        (json!({ "name": "x".repeat(201) }), "at most 200"),
        (
            json!({ "amount": { "gte": 2, "lte": 1 } }),
            "no number is in between",
        ),
        (json!({ "name": { "gte": "a" } }), "is an object"),
        (Value::Object(nine), "at most 8"),
    ] {
        for (tool, query) in [("record_list", None), ("record_search", Some("x"))] {
            let mut arguments = json!({ "collection": "contacts", "where": narrowed });
            if let Some(query) = query {
                arguments["query"] = query.into();
            }
            check_refused(&run, tool, arguments, "ERROR: 422 where", word).await?;
        }
    }
    check_refused(
        &run,
        "record_search",
        json!({ "query": "x", "where": { "name": "x" } }),
        "ERROR: 422 where needs collection",
        "",
    )
    .await
}
