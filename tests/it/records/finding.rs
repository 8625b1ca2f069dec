//! `record_search`: the words of any column, parts of words, ranks, many collections.

use anyhow::Result;
use serde_json::json;
use tests::Run;

use super::{add, contacts, found, names, with_contacts};
use crate::checks::check_refused;

#[tokio::test]
async fn a_search_reads_the_words_of_every_column() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    every_query_finds(&run).await
}

/// The table of queries, in an empty collection.
pub(super) async fn every_query_finds(run: &Run) -> Result<()> {
    for body in [
        json!({ "email": "bob@example.com", "name": "Bob", "stage": "lead", "amount": 1250.75, "met_at": "2026-03-01T09:30:00Z" }),
        json!({ "email": "a@b.c", "name": "INV-2024-001", "tags": ["red car", "big bus"], "vip": true }),
        json!({ "email": "c@b.c", "name": "Straße ΟΔΟΣ", "tags": ["red", "car"] }),
    ] {
        add(run, body).await?;
    }
    let invoice = "INV-2024-001";
    for (query, expected) in [
        ("bob", vec!["Bob"]),
        ("BOB@EXAMPLE.COM", vec!["Bob"]),
        ("example", vec!["Bob"]),
        ("xamp", vec!["Bob"]),
        ("lead", vec!["Bob"]),
        ("1250.75", vec!["Bob"]),
        ("2026-03-01", vec!["Bob"]),
        ("\"2026-03-01T09:30:00Z\"", vec!["Bob"]),
        ("2024", vec![invoice]),
        ("inv-2024", vec![invoice]),
        ("024-00", vec![invoice]),
        ("INV2024", vec![]),
        ("true", vec![invoice]),
        ("STRASSE", vec!["Straße ΟΔΟΣ"]),
        ("οδος", vec!["Straße ΟΔΟΣ"]),
        // A phrase runs neither over columns nor over items.
        ("\"red car\"", vec![invoice]),
        ("\"car big\"", vec![]),
        ("\"com bob\"", vec![]),
        ("red car", vec!["Straße ΟΔΟΣ", invoice]),
        ("red -bus", vec!["Straße ΟΔΟΣ"]),
        ("bob OR bus", vec![invoice, "Bob"]),
        // Never fuzzy.
        ("exmaple", vec![]),
        // A column's name is no word.
        ("email", vec![]),
        ("amount", vec![]),
    ] {
        assert_eq!(found(run, query).await?, expected, "{query}");
    }
    for query in ["", "  ", "...", "-bob", "-\"a b\" -c", "\"\""] {
        let arguments = json!({ "query": query });
        check_refused(
            run,
            "record_search",
            arguments,
            "ERROR: 422 the query has nothing",
            "",
        )
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn whole_words_come_first_then_parts_then_the_newest() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    for (nth, name) in ["whole cat", "concat", "cat again", "catalogue", "dog"]
        .into_iter()
        .enumerate()
    {
        add(&run, json!({ "email": format!("{nth}@x.y"), "name": name })).await?;
    }
    assert_eq!(
        found(&run, "cat").await?,
        ["cat again", "whole cat", "catalogue", "concat"]
    );
    // More than one token: whole words only.
    assert_eq!(found(&run, "cat again").await?, ["cat again"]);
    // One character finds whole words only.
    assert_eq!(found(&run, "c").await?, [""; 0]);
    let one = run
        .call("record_search", json!({ "query": "cat", "limit": 1 }))
        .await?;
    assert_eq!(names(&one.json()), ["cat again"]);
    Ok(())
}

#[tokio::test]
async fn a_search_reads_every_collection_in_reach_or_one() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let mut deals = contacts();
    deals["name"] = "deals".into();
    let mut hidden = contacts();
    hidden["name"] = "hidden".into();
    hidden["access"] = json!([]);
    stack
        .apply(&json!({ "collections": [deals, hidden] }))
        .await?;
    add(&run, json!({ "email": "x@y.z", "name": "needle one" })).await?;
    let other =
        json!({ "collection": "deals", "body": { "email": "x@y.z", "name": "needle two" } });
    run.call("record_add", other).await?;
    assert_eq!(found(&run, "needle").await?, ["needle two", "needle one"]);
    let one = run
        .call(
            "record_search",
            json!({ "query": "needle", "collection": "deals", "where": { "email": "x@y" } }),
        )
        .await?
        .json();
    assert_eq!(names(&one), ["needle two"]);
    assert_eq!(one["records"][0]["collection"], "deals");
    Ok(())
}
