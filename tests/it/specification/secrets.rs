//! The section "Secrets" of the native tools, and when a run offers them.

use anyhow::Result;
use serde_json::json;
use tests::Stack;

#[tokio::test]
async fn secret_request_is_a_direct_runs_and_secret_store_every_runs() -> Result<()> {
    let stack = Stack::storage().await?;
    for (kind, request) in [("direct", true), ("group_chat", false), ("schedule", false)] {
        let start = json!({ "agent": stack.ada.id, "kind": kind });
        let run = stack.backend.start(&start).await?;
        let offered = run.offered();
        assert!(offered.contains(&"secret_store".to_owned()), "{kind}");
        assert_eq!(
            offered.contains(&"secret_request".to_owned()),
            request,
            "{kind}"
        );
        if !request {
            let arguments = json!({ "name": "PAY_KEY", "reason": "To pay." });
            let result = run.call("secret_request", arguments).await?;
            assert_eq!(
                result.text(),
                "ERROR: tool secret_request is not offered this run",
                "{kind}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn both_are_bindings_of_one_family() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let mut document = stack.document();
    document["bindings"] = json!([
        { "tool": "secret", "organisation": true, "enabled": false },
        { "tool": "secret_request", "agent": stack.ada.id, "enabled": true },
    ]);
    stack.apply(&document).await?;
    // What is off now leaves the run at the next turn, and not before.
    let refused = run
        .call("secret_store", json!({ "name": "A_KEY", "path": "a" }))
        .await?;
    assert!(
        refused.text().starts_with("ERROR: machine local"),
        "{refused:?}"
    );
    assert_eq!(run.turn().await?["removed"], json!(["secret_store"]));
    let refused = run
        .call("secret_store", json!({ "name": "A_KEY", "path": "a" }))
        .await?;
    assert_eq!(
        refused.text(),
        "ERROR: tool secret_store is not offered this run"
    );
    let offered = stack.run(&stack.bob).await?.offered();
    assert!(
        !offered.iter().any(|name| name.starts_with("secret_")),
        "{offered:?}"
    );
    Ok(())
}
