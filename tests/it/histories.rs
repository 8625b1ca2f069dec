//! What notes, memory and records were: kept at each change, read page by page, brought back.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sqlx::PgConnection;
use tests::{Api, Stack};

use crate::checks::check;

/// A note's routes; its path is one segment.
fn note(path: &str, rest: &str) -> String {
    format!("/v1/operator/notes/{}/{rest}", path.replace('/', "%2F"))
}

async fn revisions(api: &Api, path: &str) -> Result<Vec<Value>> {
    let list = api.get(path).await?.expect(200)?;
    list["revisions"].as_array().cloned().context("revisions")
}

async fn contents(stack: &Stack, path: &str) -> Result<Vec<(String, bool, String)>> {
    let mut found = Vec::new();
    for revision in revisions(&stack.operator, &note(path, "history")).await? {
        assert!(revision.get("content").is_none(), "{revision}");
        let one = note(path, &format!("history/{}", revision["id"]));
        let one = stack.operator.get(&one).await?.expect(200)?;
        assert_eq!(one["at"], revision["at"]);
        found.push((
            one["content"].as_str().context("content")?.to_owned(),
            one["deleted"].as_bool().context("deleted")?,
            one["actor"].as_str().unwrap_or_default().to_owned(),
        ));
    }
    Ok(found)
}

#[tokio::test]
async fn each_write_deletion_and_restore_keeps_what_was_there() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let path = format!("agent/{}/plan.md", stack.ada.id);
    let agent = format!("agent:{}", stack.ada.id);
    for content in ["one", "two"] {
        let write = json!({ "level": "agent", "key": "plan.md", "content": content });
        run.call("note_write", write).await?;
    }
    let deleted = json!({ "path": path, "deleted": true });
    check(&run, "note_delete", json!({ "path": path }), deleted).await?;
    assert_eq!(
        contents(&stack, &path).await?,
        [
            ("two".to_owned(), false, agent.clone()),
            ("one".to_owned(), false, agent.clone())
        ]
    );

    // Without a number a deleted note lives again as it was.
    let restore = note(&path, "restore");
    let answer = stack
        .operator
        .post(&restore, &json!({}))
        .await?
        .expect(200)?;
    assert_eq!(
        answer,
        json!({ "path": path, "restored": true, "revision": null, "bytes": 3 })
    );
    let read = run.call("note_get", json!({ "path": path })).await?.json();
    assert_eq!(read["content"], "two");
    let past = contents(&stack, &path).await?;
    assert_eq!((past[0].0.as_str(), past[0].1), ("two", true));
    assert!(past[0].2.starts_with("operator:"), "{past:?}");

    // A named one comes back, and is found by a search again.
    let list = revisions(&stack.operator, &note(&path, "history")).await?;
    let first = list.last().context("a revision")?["id"].clone();
    let answer = stack
        .operator
        .post(&restore, &json!({ "revision": first }))
        .await?
        .expect(200)?;
    assert_eq!(answer["revision"], first);
    let found = run
        .call("note_find", json!({ "query": "one" }))
        .await?
        .json();
    assert_eq!(found["notes"][0]["path"], path);
    assert_eq!(contents(&stack, &path).await?.len(), 4);

    // A live one without a number goes back to the revision before.
    let wrong = stack.operator.post(&restore, &Value::Null).await?;
    assert_eq!(wrong.refusal(), (422, "invalid".to_owned()));
    let answer = stack
        .operator
        .send(hyper::Method::POST, &restore, hyper::body::Bytes::new())
        .await?
        .expect(200)?;
    assert_eq!(answer["bytes"], 3);
    let read = run.call("note_get", json!({ "path": path })).await?.json();
    assert_eq!(read["content"], "two");

    let audit = stack
        .operator
        .get(&format!("/v1/operator/audit?kind=notes&object={path}"))
        .await?
        .expect(200)?;
    assert_eq!(audit["audit"].as_array().map(Vec::len), Some(3));
    assert_eq!(audit["audit"][2]["action"], "restore");
    assert_eq!(
        audit["audit"][2]["before"],
        json!({ "bytes": 3, "deleted": true })
    );
    assert_eq!(audit["audit"][1]["after"]["revision"], first);
    Ok(())
}

#[tokio::test]
async fn the_newest_50_revisions_stay_and_are_read_in_pages() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.bob).await?;
    let path = format!("agent/{}/task.md", stack.bob.id);
    for number in 0..53 {
        let write = json!({ "path": path, "content": format!("version {number}") });
        run.call("note_write", write).await?;
    }
    let history = note(&path, "history");
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = format!("{history}?limit=20{cursor}");
        let page = stack.operator.get(&page).await?.expect(200)?;
        let rows = page["revisions"].as_array().cloned().unwrap_or_default();
        seen.extend(rows.iter().filter_map(|row| row["id"].as_i64()));
        if page["next"].is_null() {
            break;
        }
        cursor = format!("&after={}", page["next"]);
        // What is written between two pages moves nothing.
        let write = json!({ "path": path, "content": "meanwhile" });
        run.call("note_write", write).await?;
    }
    // The empty note that nobody wrote was none, so 53 writes left 52 behind; of the
    // 50 that stayed two left while the pages were read.
    assert_eq!(seen.len(), 48, "{seen:?}");
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "{seen:?}");
    let oldest = contents(&stack, &path).await?;
    assert_eq!(oldest.len(), 50);
    assert_eq!(oldest[49].0, "version 4");
    Ok(())
}

#[tokio::test]
async fn a_memory_has_its_past_too_and_comes_back() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let path = format!("agent/{}/memory.md", stack.ada.id);
    for content in ["likes tea", "likes coffee"] {
        run.call("note_write", json!({ "path": path, "content": content }))
            .await?;
    }
    let past = contents(&stack, &path).await?;
    assert_eq!(past, [("likes tea".to_owned(), false, String::new())]);
    stack
        .operator
        .post(&note(&path, "restore"), &json!({}))
        .await?
        .expect(200)?;
    assert_eq!(stack.run(&stack.ada).await?.body["memory"], "likes tea");
    assert_eq!(contents(&stack, &path).await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_note_or_revision_that_is_not_there_is_refused() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let path = format!("agent/{}/plan.md", stack.ada.id);
    let write = json!({ "level": "agent", "key": "plan.md", "content": "one" });
    run.call("note_write", write).await?;
    let other = stack.operator_of("other")?;
    for (api, path) in [
        (&stack.operator, "agent/nobody/plan.md"),
        (&stack.operator, "plan.md"),
        (&stack.operator, "record/contacts/1"),
        (&other, path.as_str()),
    ] {
        let history = api.get(&note(path, "history")).await?;
        assert_eq!(history.refusal(), (404, "not_found".to_owned()), "{path}");
        let restored = api.post(&note(path, "restore"), &json!({})).await?;
        assert_eq!(restored.refusal(), (404, "not_found".to_owned()), "{path}");
    }
    let nothing = stack
        .operator
        .post(&note(&path, "restore"), &json!({}))
        .await?;
    assert_eq!(nothing.refusal(), (409, "conflict".to_owned()));
    let wrong = stack
        .operator
        .post(&note(&path, "restore"), &json!({ "revision": 999 }))
        .await?;
    assert_eq!(wrong.refusal(), (404, "not_found".to_owned()));
    let wrong = stack
        .operator
        .post(
            &note(&path, "restore"),
            &json!({ "revision": "x", "more": 1 }),
        )
        .await?;
    assert_eq!(wrong.refusal(), (422, "invalid".to_owned()));
    assert!(
        wrong.text.contains("`revision`") && wrong.text.contains("`more`"),
        "{}",
        wrong.text
    );
    for revision in ["999", "x"] {
        let one = note(&path, &format!("history/{revision}"));
        let one = stack.operator.get(&one).await?;
        assert_eq!(one.refusal(), (404, "not_found".to_owned()));
    }
    let query = stack
        .operator
        .get(&note(&path, "history?limit=0&after=x&deep=1"))
        .await?;
    assert_eq!(query.refusal(), (422, "invalid".to_owned()));
    for name in ["`limit`", "`after`", "`deep`"] {
        assert!(query.text.contains(name), "{}", query.text);
    }
    Ok(())
}

/// A collection with three records, the third of them removed, and the past of the first.
async fn contacts(db: &mut PgConnection) -> Result<[i64; 3]> {
    let collection: i64 = sqlx::query_scalar(
        r#"INSERT INTO artifacts (organisation, kind, level, owner, key, body, detail)
           VALUES ('acme', 'collection', 'org', 'acme', 'contacts', '',
                   '{"description":"","unique":"email","columns":[{"name":"email","type":"text"},{"name":"amount","type":"number"}]}')
           RETURNING id"#,
    )
    .fetch_one(&mut *db)
    .await?;
    let mut ids = [0; 3];
    for (id, body) in ids.iter_mut().zip([
        r#"{"email":"a@example.com","amount":1.50}"#,
        r#"{"email":"b@example.com","amount":12345678901234567890.123}"#,
        r#"{"email":"c@example.com"}"#,
    ]) {
        *id = sqlx::query_scalar(
            "INSERT INTO records (collection, body) VALUES ($1, $2::text::jsonb) RETURNING id",
        )
        .bind(collection)
        .bind(body)
        .fetch_one(&mut *db)
        .await?;
    }
    sqlx::query("UPDATE records SET deleted_at = now() WHERE id = $1")
        .bind(ids[2])
        .execute(&mut *db)
        .await?;
    sqlx::query(
        r#"INSERT INTO record_revisions (record, body, deleted, actor)
           VALUES ($1, '{"email":"old@example.com","amount":0.10}', false, 'agent:ada')"#,
    )
    .bind(ids[0])
    .execute(db)
    .await?;
    Ok(ids)
}

const RECORDS: &str = "/v1/operator/collections/contacts/records";

#[tokio::test]
async fn records_are_listed_with_their_digits_live_or_removed() -> Result<()> {
    let stack = Stack::storage().await?;
    let ids = contacts(&mut stack.database().await?).await?;
    let first = stack.operator.get(&format!("{RECORDS}?limit=1")).await?;
    let page = first.clone().expect(200)?;
    assert_eq!(page["records"][0]["id"], ids[0]);
    assert_eq!(page["records"][0]["collection"], "contacts");
    assert_eq!(page["next"], ids[0]);
    assert!(first.text.contains("1.50"), "{}", first.text);
    let second = stack
        .operator
        .get(&format!("{RECORDS}?limit=1&after={}", ids[0]))
        .await?;
    assert!(
        second.text.contains("12345678901234567890.123"),
        "{}",
        second.text
    );
    let page = second.expect(200)?;
    assert_eq!(page["records"][0]["id"], ids[1]);
    assert_eq!(page["next"], Value::Null);
    let removed = stack
        .operator
        .get(&format!("{RECORDS}?deleted=true"))
        .await?
        .expect(200)?;
    assert_eq!(removed["records"].as_array().map(Vec::len), Some(1));
    assert_eq!(removed["records"][0]["id"], ids[2]);
    assert!(removed["records"][0]["deleted_at"].is_string());
    let one = stack
        .operator
        .get(&format!("{RECORDS}/{}", ids[2]))
        .await?
        .expect(200)?;
    assert_eq!(one, removed["records"][0]);
    Ok(())
}

#[tokio::test]
async fn a_removed_record_and_an_earlier_body_come_back() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut db = stack.database().await?;
    let ids = contacts(&mut db).await?;
    let restore = |id: i64| format!("{RECORDS}/{id}/restore");
    let back = stack
        .operator
        .post(&restore(ids[2]), &json!({}))
        .await?
        .expect(200)?;
    assert_eq!(back["revision"], Value::Null);
    assert_eq!(back["record"]["body"], json!({ "email": "c@example.com" }));
    assert!(back["record"].get("deleted_at").is_none());

    let history = format!("{RECORDS}/{}/history", ids[0]);
    let past = revisions(&stack.operator, &history).await?;
    assert_eq!(past.len(), 1);
    assert_eq!(past[0]["actor"], "agent:ada");
    assert_eq!(past[0]["body"]["email"], "old@example.com");
    let answer = stack
        .operator
        .post(&restore(ids[0]), &json!({ "revision": past[0]["id"] }))
        .await?;
    assert!(answer.text.contains("0.10"), "{}", answer.text);
    assert_eq!(answer.expect(200)?["revision"], past[0]["id"]);
    let past = revisions(&stack.operator, &history).await?;
    assert_eq!(past.len(), 2);
    assert_eq!(past[0]["body"]["email"], "a@example.com");
    assert!(
        past[0]["actor"]
            .as_str()
            .is_some_and(|by| by.starts_with("operator:"))
    );

    // Its unique value is another's by now: nothing changes.
    stack
        .operator
        .patch(
            &format!("{RECORDS}/{}", ids[1]),
            &json!({ "body": { "email": "a@example.com" } }),
        )
        .await?
        .expect(200)?;
    let taken = stack
        .operator
        .post(&restore(ids[0]), &json!({ "revision": past[0]["id"] }))
        .await?;
    assert_eq!(taken.refusal(), (409, "conflict".to_owned()));
    assert!(
        taken
            .text
            .contains(&format!("email: record {} has this value already", ids[1])),
        "{}",
        taken.text
    );
    assert_eq!(revisions(&stack.operator, &history).await?.len(), 2);

    let audit = stack
        .operator
        .get("/v1/operator/audit?kind=records")
        .await?
        .expect(200)?;
    let objects: Vec<&Value> = audit["audit"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| &row["object"])
        .collect();
    assert_eq!(
        json!(objects),
        json!([
            format!("record/contacts/{}", ids[1]),
            format!("record/contacts/{}", ids[0]),
            format!("record/contacts/{}", ids[2])
        ])
    );
    Ok(())
}

#[tokio::test]
async fn records_that_are_not_there_are_refused() -> Result<()> {
    let stack = Stack::storage().await?;
    let ids = contacts(&mut stack.database().await?).await?;
    let other = stack.operator_of("other")?;
    let missing = [
        (
            &stack.operator,
            "/v1/operator/collections/none/records".to_owned(),
        ),
        (&other, RECORDS.to_owned()),
        (&stack.operator, format!("{RECORDS}/999")),
        (&stack.operator, format!("{RECORDS}/x")),
        (&stack.operator, format!("{RECORDS}/999/history")),
        (&other, format!("{RECORDS}/{}/history", ids[0])),
    ];
    for (api, path) in missing {
        let answer = api.get(&path).await?;
        assert_eq!(answer.refusal(), (404, "not_found".to_owned()), "{path}");
    }
    let theirs = other
        .post(&format!("{RECORDS}/{}/restore", ids[2]), &json!({}))
        .await?;
    assert_eq!(theirs.refusal(), (404, "not_found".to_owned()));
    let nothing = stack
        .operator
        .post(&format!("{RECORDS}/{}/restore", ids[1]), &json!({}))
        .await?;
    assert_eq!(nothing.refusal(), (409, "conflict".to_owned()));
    let wrong = stack
        .operator
        .post(
            &format!("{RECORDS}/{}/restore", ids[1]),
            &json!({ "revision": 999 }),
        )
        .await?;
    assert_eq!(wrong.refusal(), (404, "not_found".to_owned()));
    let query = stack
        .operator
        .get(&format!("{RECORDS}?deleted=maybe&limit=1001&after=a&x=1"))
        .await?;
    assert_eq!(query.refusal(), (422, "invalid".to_owned()));
    for name in ["`deleted`", "`limit`", "`after`", "`x`"] {
        assert!(query.text.contains(name), "{}", query.text);
    }
    Ok(())
}
