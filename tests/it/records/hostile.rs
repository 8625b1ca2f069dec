//! Hostile terms give results or a clear refusal, never a failure.

use anyhow::Result;
use serde_json::{Value, json};

use super::{add, found, listed, with_contacts};

#[tokio::test]
async fn hostile_terms_find_or_are_refused() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let nasty = [
        "%",
        "_",
        "\\",
        "'",
        "\"",
        "'; drop table records; --",
        "a%b_c\\d",
        "$1",
        "{}",
        "{\"a\":1}",
        "\u{202e}abc",
        "e\u{301}",
        "\u{feff}",
        "\r\n\t",
        "null",
        "\u{fffd}",
        "\u{1e}\u{1}\u{1f}",
        "((((",
        ":*",
        "a & b | !c",
        "<->",
    ];
    let emoji = "😀".repeat(200);
    for (nth, text) in nasty.iter().copied().chain([emoji.as_str()]).enumerate() {
        add(
            &run,
            json!({ "email": format!("{nth}@x.y"), "name": format!("n{nth}"), "tags": [text, "end"] }),
        )
        .await?;
    }
    for (nth, text) in nasty.iter().copied().chain([emoji.as_str()]).enumerate() {
        let names = listed(&run, json!({ "tags": text })).await?;
        assert!(names.contains(&format!("n{nth}")), "{text:?}: {names:?}");
        let result = run.call("record_search", json!({ "query": text })).await?;
        let refused = result
            .content
            .starts_with("ERROR: 422 the query has nothing");
        assert!(
            refused || result.metadata["error"] == Value::Null,
            "{text:?}: {result:?}"
        );
    }
    let many = vec!["word"; 10_000].join(" ");
    for query in [
        many.as_str(),
        "a\0b",
        "\0",
        &"(".repeat(900),
        &"-".repeat(900),
        &"\"".repeat(900),
    ] {
        let result = run.call("record_search", json!({ "query": query })).await?;
        let refused = result.content.starts_with("ERROR: 422 the query");
        assert!(
            refused || result.metadata["error"] == Value::Null,
            "{query:?}: {result:?}"
        );
    }
    let nul = listed(&run, json!({ "name": "a\0b" })).await?;
    assert_eq!(nul, [""; 0]);
    for arguments in [
        r#"{"collection":"contacts","where":{"name":"\ud800"}}"#,
        r#"{"collection":"contacts","where":{"amount":1e999}}"#,
        r#"{"collection":"contacts","where":{"name":"a","name":"b"}}"#,
        r#"{"collection":"contacts","where":[]}"#,
    ] {
        let result = run.call("record_list", json!(arguments)).await?;
        assert!(result.content.starts_with("ERROR: "), "{result:?}");
        assert!(!result.content.contains("call id"), "{result:?}");
    }
    assert_eq!(found(&run, "end").await?.len(), 22);
    let mut db = stack.database().await?;
    let live: i64 = sqlx::query_scalar("SELECT count(*) FROM records")
        .fetch_one(&mut db)
        .await?;
    assert_eq!(live, 22);
    Ok(())
}

#[tokio::test]
async fn what_a_body_may_not_hold_is_refused() -> Result<()> {
    let (_stack, run) = with_contacts().await?;
    for (body, word) in [
        (
            r#"{"email":"a","email":"b"}"#,
            "email: is given more than once",
        ),
        (r#"{"email":"a","amount":1e99}"#, "at most 60 digits"),
        (r#"{"email":"a","tags":[["x"]]}"#, "item 1 is no text"),
        (
            r#"{"email":"a","met_at":"2026-02-30T00:00:00Z"}"#,
            "is no time",
        ),
        (r#"{"email":{"a":1}}"#, "email: is an object"),
        (r#"{"id":7,"email":"a"}"#, "id: is no column"),
        (r#"{"email":"\ud800"}"#, ""),
        (r#"[]"#, "body is an array"),
        (r#"{"email":"a","__proto__":1}"#, "is no column"),
    ] {
        let arguments = format!("{{\"collection\":\"contacts\",\"body\":{body}}}");
        let result = run.call("record_add", json!(arguments)).await?;
        assert!(result.content.starts_with("ERROR: "), "{body}: {result:?}");
        assert!(result.content.contains(word), "{body}: {result:?}");
    }
    let nul = add(&run, json!({ "email": "a\0b" })).await?;
    let again = json!({ "collection": "contacts", "body": { "email": "a\u{fffd}b" } });
    let merged = run.call("record_add", again).await?.json();
    assert_eq!(merged["record"]["id"], nul);
    Ok(())
}
