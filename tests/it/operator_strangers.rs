//! Another organisation's objects: refused in a document, and nowhere else to be found.

use anyhow::Result;
use serde_json::json;
use tests::Stack;

use crate::operator_document::problems;

#[tokio::test]
async fn what_an_organisation_does_not_have_is_refused_in_every_kind() -> Result<()> {
    let stack = Stack::storage().await?;
    let theirs = stack.operator_of("theirs")?;
    let setting_up = json!({
        "guilds": [{ "id": "far" }],
        "machines": [{ "id": "elsewhere", "address": "https://127.0.0.1:1" }],
        "agents": [{ "id": "zoe", "guild": "far", "machine": "elsewhere", "slot": 3 }],
        "connectors": [{ "id": "their-search", "kind": "mcp", "url": "https://example.com/mcp" }],
    });
    theirs
        .post("/v1/operator/apply", &setting_up)
        .await?
        .expect(200)?;
    let document = json!({
        "machines": [{ "id": "elsewhere", "address": "https://127.0.0.1:2" }],
        "agents": [
            { "id": "zoe", "guild": "core", "machine": "local", "slot": 4 },
            { "id": "yan", "guild": "far", "machine": "local", "slot": 5 },
        ],
        "bindings": [
            { "tool": "note", "guild": "far", "enabled": false },
            { "connector": "their-search", "organisation": true, "enabled": false },
        ],
        "collections": [{ "name": "contacts", "columns": [{ "name": "email", "type": "text" }],
                          "access": [{ "guild": "far", "access": "read" }] }],
        "notes": [{ "path": "guild/far/a.md", "content": "x" }],
        "logins": [{ "connector": "their-search", "organisation": true }],
        "secrets": [{ "name": "STRIPE_KEY", "value": "long enough", "grants": ["yuri"] }],
    });
    let answer = stack.operator.post("/v1/operator/apply", &document).await?;
    assert_eq!(answer.refusal(), (422, "document_rejected".to_owned()));
    let agents = format!("{}, {}, yan, zoe", stack.ada.id, stack.bob.id);
    let wanted = [
        (
            "machines[0].id",
            "elsewhere is another organisation's machine".to_owned(),
        ),
        (
            "agents[0].id",
            "zoe is another organisation's agent".to_owned(),
        ),
        (
            "agents[1].guild",
            "there is no guild far in this organisation; allowed: core".to_owned(),
        ),
        (
            "bindings[0].guild",
            "there is no guild far in this organisation; allowed: core".to_owned(),
        ),
        (
            "bindings[1].connector",
            "there is no connector their-search in this organisation".to_owned(),
        ),
        (
            "collections[0].access[0].guild",
            "there is no guild far in this organisation; allowed: core".to_owned(),
        ),
        (
            "notes[0].path",
            "there is no guild far in this organisation; allowed: core".to_owned(),
        ),
        (
            "logins[0].connector",
            "there is no connector their-search in this organisation".to_owned(),
        ),
        (
            "secrets[0].grants[0]",
            format!("there is no agent yuri in this organisation; allowed: {agents}"),
        ),
    ]
    .map(|(path, message)| (path.to_owned(), message));
    assert_eq!(problems(&answer.json()?), wanted);

    // Paths name what is one's own only.
    for path in [
        "guilds/far",
        "machines/elsewhere",
        "agents/zoe",
        "connectors/their-search",
    ] {
        let path = format!("/v1/operator/{path}");
        let shown = stack.operator.get(&path).await?;
        assert_eq!(shown.refusal(), (404, "not_found".to_owned()), "{path}");
        let deleted = stack.operator.delete(&path).await?;
        assert_eq!(deleted.refusal(), (404, "not_found".to_owned()), "{path}");
        theirs.get(&path).await?.expect(200)?;
    }
    Ok(())
}
