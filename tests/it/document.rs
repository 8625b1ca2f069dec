//! The operator's document: what it changes, what it refuses, what the audit keeps.

use anyhow::Result;
use serde_json::{Value, json};
use tests::control_plane::ControlPlane;
use tests::shared::ORGANISATION;
use tests::{Shared, Stack, spawn};

fn actions(answer: &Value) -> Vec<&str> {
    answer["changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|change| change["action"].as_str())
        .collect()
}

async fn count(stack: &Stack, sql: &'static str) -> Result<i64> {
    let mut db = stack.database().await?;
    Ok(sqlx::query_scalar(sql).fetch_one(&mut db).await?)
}

#[tokio::test]
async fn the_same_document_again_changes_nothing() -> Result<()> {
    let stack = Stack::storage().await?;
    let rows = count(&stack, "SELECT count(*) FROM audit").await?;
    // A guild, a machine and two agents were made by the stack's own document.
    assert_eq!(rows, 4);
    let again = stack.apply(&stack.document()).await?;
    assert_eq!(actions(&again), ["unchanged"; 4]);
    assert_eq!(count(&stack, "SELECT count(*) FROM audit").await?, 4);
    Ok(())
}

#[tokio::test]
async fn a_change_names_its_fields_and_is_audited_with_before_and_after() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["agents"][1]["config"] = json!({ "coding": true });
    document["bindings"] =
        json!([{ "tool": "note_delete", "agent": stack.bob.id, "enabled": false }]);
    let answer = stack.apply(&document).await?;
    let changes = answer["changes"].as_array().cloned().unwrap_or_default();
    let update: Vec<_> = changes
        .iter()
        .filter(|change| change["action"] == "update")
        .collect();
    assert_eq!(update.len(), 1, "{answer}");
    assert_eq!(update[0]["id"], stack.bob.id);
    assert!(
        update[0]["fields"].to_string().contains("config"),
        "{answer}"
    );
    let create: Vec<_> = changes
        .iter()
        .filter(|change| change["action"] == "create")
        .collect();
    assert_eq!(create.len(), 1, "{answer}");
    assert_eq!(
        create[0]["id"],
        format!("agent:{}:note_delete", stack.bob.id)
    );

    let mut db = stack.database().await?;
    let (organisation, actor, before, after): (String, String, Value, Value) = sqlx::query_as(
        "SELECT organisation, actor, before, after FROM audit WHERE object = $1 ORDER BY id DESC LIMIT 1",
    )
    .bind(&stack.bob.id)
    .fetch_one(&mut db)
    .await?;
    assert_eq!(organisation, ORGANISATION);
    assert!(!actor.is_empty());
    assert!(!actor.contains(&stack.shared.operator_token));
    assert_eq!(before["config"]["coding"], false, "{before}");
    assert_eq!(after["config"]["coding"], true, "{after}");
    Ok(())
}

#[tokio::test]
async fn every_problem_is_reported_at_once_and_nothing_is_applied() -> Result<()> {
    let stack = Stack::storage().await?;
    let document = json!({
        "organisation": ORGANISATION,
        "guilds": [{ "id": "fine" }, { "id": "Not Fine" }],
        "machines": [{ "id": "plain", "address": "http://127.0.0.1:8443" }],
        "agents": [
            { "id": "user", "guild": "core", "machine": "local", "slot": 70 },
            { "id": "eve", "guild": "nowhere", "machine": "local", "slot": 100 },
            { "id": "mallory", "guild": "core", "machine": "local", "slot": 71,
              "config": { "broswer": true, "max_tool_calls": 0 } },
        ],
        "bindings": [
            { "tool": "shell", "organisation": true, "enabled": false },
            { "tool": "note_wriet", "organisation": true, "enabled": false },
        ],
    });
    let answer = stack.operator.post("/v1/operator/apply", &document).await?;
    assert_eq!(answer.refusal(), (422, "document_rejected".to_owned()));
    let body = answer.json()?;
    let problems = body["error"]["problems"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for (path, word) in [
        ("guilds[1]", "Not Fine"),
        ("machines[0]", "https"),
        ("agents[0]", "user"),
        ("agents[1]", "nowhere"),
        ("agents[1]", "99"),
        ("agents[2]", "browser"),
        ("agents[2]", "1000"),
        ("bindings[0]", "shell"),
        ("bindings[1]", "note_write"),
    ] {
        let found = problems.iter().any(|problem| {
            let named = problem["path"].as_str().unwrap_or_default();
            let message = problem["message"]
                .as_str()
                .unwrap_or_default()
                .replace("1,000", "1000");
            named.starts_with(path) && (message.contains(word) || named.contains(word))
        });
        assert!(found, "{path} {word}: {body}");
    }
    assert_eq!(
        count(&stack, "SELECT count(*) FROM guilds WHERE id = 'fine'").await?,
        0
    );
    assert_eq!(count(&stack, "SELECT count(*) FROM audit").await?, 4);
    Ok(())
}

#[tokio::test]
async fn a_dry_run_tells_and_changes_nothing() -> Result<()> {
    let stack = Stack::storage().await?;
    let document = json!({ "organisation": ORGANISATION, "guilds": [{ "id": "second" }] });
    let answer = stack
        .operator
        .post("/v1/operator/apply?dry_run=true", &document)
        .await?
        .expect(200)?;
    assert_eq!(actions(&answer), ["create"]);
    assert_eq!(
        count(&stack, "SELECT count(*) FROM guilds WHERE id = 'second'").await?,
        0
    );
    Ok(())
}

#[tokio::test]
async fn another_organisations_document_and_ids_are_refused() -> Result<()> {
    let stack = Stack::storage().await?;
    let answer = stack
        .operator
        .post("/v1/operator/apply", &json!({ "organisation": "other" }))
        .await?;
    assert_eq!(answer.refusal(), (422, "document_rejected".to_owned()));
    let program = stack.shared.program("guilds-control-plane");
    let token = spawn::run(
        spawn::command(program)
            .args([
                "token",
                "create",
                "--role",
                "operator",
                "--organisation",
                "other",
            ])
            .arg("--config")
            .arg(stack.control_plane.config()),
    )?;
    let other = tests::Api::new(stack.control_plane.address(), Some(token.trim()));
    let answer = other
        .post(
            "/v1/operator/apply",
            &json!({
                "organisation": "other",
                "guilds": [{ "id": "theirs" }],
                "machines": [{ "id": "elsewhere", "address": "https://127.0.0.1:8443" }],
                "agents": [{ "id": stack.ada.id, "guild": "theirs", "machine": "elsewhere", "slot": 3 }],
            }),
        )
        .await?;
    assert_eq!(answer.refusal(), (422, "document_rejected".to_owned()));
    assert!(answer.text.contains(&stack.ada.id), "{}", answer.text);
    Ok(())
}

#[tokio::test]
async fn two_agents_swap_their_slots_in_one_document_and_never_share_one() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["agents"][0]["slot"] = json!(stack.bob.slot());
    let shared = stack.operator.post("/v1/operator/apply", &document).await?;
    assert_eq!(shared.refusal(), (422, "document_rejected".to_owned()));
    document["agents"][1]["slot"] = json!(stack.ada.slot());
    stack.apply(&document).await?;
    Ok(())
}

#[tokio::test]
async fn an_agent_does_not_move_while_its_run_is_open() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.bob).await?;
    let mut document = stack.document();
    document["agents"][1]["slot"] = json!(48);
    let answer = stack.operator.post("/v1/operator/apply", &document).await?;
    assert_eq!(answer.refusal(), (422, "document_rejected".to_owned()));
    assert_eq!(
        answer.json()?["error"]["problems"][0],
        json!({
            "path": "agents[1].slot",
            "message": format!(
                "agent {} has a run open; end it before it moves: {}",
                stack.bob.id, run.id
            ),
        })
    );
    run.end().await?;
    stack.apply(&document).await?;
    Ok(())
}

#[tokio::test]
async fn the_demonstrations_document_is_accepted() -> Result<()> {
    // A database without the other tests' machine: the demonstration's has the same id.
    let shared = Shared::get().await?;
    let directory = tempfile::tempdir_in(&shared.work)?;
    let database = shared.cluster.database().await?;
    let control_plane = ControlPlane::start(shared, directory.path(), &database, "").await?;
    let token = spawn::run(
        spawn::command(shared.program("guilds-control-plane"))
            .args([
                "token",
                "create",
                "--role",
                "operator",
                "--organisation",
                "demo",
            ])
            .arg("--config")
            .arg(control_plane.config()),
    )?;
    let output = spawn::output(
        spawn::command(shared.program("guilds"))
            .arg("apply")
            .arg("-f")
            .arg(shared.repository.join("packaging/demo/demo.toml"))
            .env("GUILDS_URL", format!("http://{}", control_plane.address()))
            .env("GUILDS_OPERATOR_TOKEN", token.trim()),
    )?;
    assert!(output.status.success(), "{output:?}");
    let mut db = shared.cluster.connect(&database).await?;
    let slots: Vec<(String, i16)> =
        sqlx::query_as("SELECT id, slot FROM agents WHERE organisation = 'demo' ORDER BY id")
            .fetch_all(&mut db)
            .await?;
    assert_eq!(slots, [("ada".to_owned(), 1), ("bob".to_owned(), 2)]);
    Ok(())
}
