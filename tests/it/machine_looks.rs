//! A look at machines: which answer as themselves, and when certificates end.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::Stack;

fn row<'a>(list: &'a Value, id: &str) -> Result<&'a Value> {
    let rows = list["machines"].as_array().context("machines")?;
    rows.iter().find(|row| row["id"] == id).context("the row")
}

#[tokio::test]
async fn each_machine_is_up_or_says_why_not_and_until_when_it_is_trusted() -> Result<()> {
    let stack = Stack::whole().await?;
    // Takes connections and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let mut document = stack.document();
    document["machines"] = json!([
        { "id": "gone", "address": "https://127.0.0.1:9" },
        { "id": "local", "address": format!("https://{}", stack.machine_address()) },
        { "id": "posing", "address": format!("https://{}", stack.machine_address()) },
        { "id": "silent", "address": format!("https://{}", silent.local_addr()?) },
    ]);
    stack.apply(&document).await?;
    let list = stack
        .operator
        .get("/v1/operator/machines")
        .await?
        .expect(200)?;
    let local = row(&list, "local")?;
    assert_eq!(local["state"], "up", "{local}");
    assert_eq!(local["version"], env!("CARGO_PKG_VERSION"));
    assert!(local.get("reason").is_none());
    let health = stack
        .machine_client()?
        .get("/v1/health")
        .await?
        .expect(200)?;
    assert_eq!(
        local["certificate_expires_at"],
        health["certificate_not_after"]
    );
    for (id, words) in [
        ("gone", "connection refused"),
        ("posing", "identity was not accepted"),
        ("silent", "no answer within 3 s"),
    ] {
        let down = row(&list, id)?;
        assert_eq!(down["state"], "down", "{down}");
        let reason = down["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(words), "{id}: {reason}");
        assert!(down.get("version").is_none() && down.get("certificate_expires_at").is_none());
    }
    let own = &list["control_plane"];
    assert_eq!(own["version"], env!("CARGO_PKG_VERSION"));
    // A year against a machine's 30 days; such times compare as texts.
    assert!(
        own["certificate_expires_at"].as_str() > local["certificate_expires_at"].as_str(),
        "{own}"
    );
    let page = stack
        .operator
        .get("/v1/operator/machines?limit=1&after=gone")
        .await?
        .expect(200)?;
    assert_eq!(page["machines"][0]["state"], "up");
    let one = stack
        .operator
        .get("/v1/operator/machines/gone")
        .await?
        .expect(200)?;
    assert_eq!(one["state"], "down", "{one}");
    Ok(())
}
