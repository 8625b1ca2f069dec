//! One grant at a time: given and taken without a word about the others.

use anyhow::Result;
use hyper::Method;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tests::{Api, Stack};
use tokio::task::JoinSet;

fn path(secret: &str, agent: &str) -> String {
    format!("/v1/operator/secrets/{secret}/grants/{agent}")
}

async fn give(api: &Api, secret: &str, agent: &str) -> Result<Value> {
    let path = path(secret, agent);
    api.send(Method::PUT, &path, Bytes::new())
        .await?
        .expect(200)
}

fn changes(action: &str, fields: &[&str]) -> Value {
    json!({ "changes": [{ "action": action, "kind": "secrets", "id": "STRIPE_KEY", "fields": fields }] })
}

/// A stack with a secret and six agents beside its two.
async fn with_agents() -> Result<(Stack, Vec<String>)> {
    let stack = Stack::storage().await?;
    let ids: Vec<String> = (0..6).map(|nth| format!("more{nth}")).collect();
    let agents: Vec<Value> = ids
        .iter()
        .enumerate()
        .map(|(nth, id)| json!({ "id": id, "guild": "core", "machine": "local", "slot": 90 + nth }))
        .collect();
    stack
        .apply(&json!({
            "agents": agents,
            "secrets": [{ "name": "STRIPE_KEY", "description": "Invoices", "value": "long enough" }],
        }))
        .await?;
    Ok((stack, ids))
}

async fn grants(stack: &Stack) -> Result<Value> {
    let path = "/v1/operator/secrets/STRIPE_KEY";
    Ok(stack.operator.get(path).await?.expect(200)?["grants"].clone())
}

#[tokio::test]
async fn grants_given_and_taken_at_once_all_count() -> Result<()> {
    let (stack, ids) = with_agents().await?;
    let mut asked = JoinSet::new();
    for id in ids.clone() {
        let api = stack.operator.clone();
        asked.spawn(async move { give(&api, "STRIPE_KEY", &id).await });
    }
    while let Some(answer) = asked.join_next().await {
        assert_eq!(answer??, changes("update", &["grants"]));
    }
    assert_eq!(grants(&stack).await?, json!(ids));
    for id in ["more0", "more1", "more2", "more3"] {
        let api = stack.operator.clone();
        asked.spawn(async move { api.delete(&path("STRIPE_KEY", id)).await?.expect(200) });
    }
    while let Some(answer) = asked.join_next().await {
        assert_eq!(answer??, changes("update", &["grants"]));
    }
    assert_eq!(grants(&stack).await?, json!(["more4", "more5"]));
    Ok(())
}

#[tokio::test]
async fn what_is_so_already_is_unchanged_and_not_audited() -> Result<()> {
    let (stack, _) = with_agents().await?;
    let take = async || {
        let path = path("STRIPE_KEY", "more1");
        stack.operator.delete(&path).await?.expect(200)
    };
    let unchanged = changes("unchanged", &[]);
    assert_eq!(take().await?, unchanged);
    let given = give(&stack.operator, "STRIPE_KEY", "more1").await?;
    assert_eq!(given, changes("update", &["grants"]));
    let given = give(&stack.operator, "STRIPE_KEY", "more1").await?;
    assert_eq!(given, unchanged);
    assert_eq!(take().await?, changes("update", &["grants"]));
    let audit = stack
        .operator
        .get("/v1/operator/audit?kind=secrets&object=STRIPE_KEY")
        .await?
        .expect(200)?;
    let rows: Vec<(Value, Value, Value)> = audit["audit"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| {
            (
                row["action"].clone(),
                row["before"].clone(),
                row["after"].clone(),
            )
        })
        .collect();
    let secret = |grants: Value| json!({ "name": "STRIPE_KEY", "description": "Invoices", "grants": grants });
    let (without, with) = (secret(json!([])), secret(json!(["more1"])));
    assert_eq!(
        rows,
        [
            (json!("update"), with.clone(), without.clone()),
            (json!("update"), without, with),
            (
                json!("create"),
                Value::Null,
                json!({ "name": "STRIPE_KEY", "description": "Invoices", "value": true, "grants": [] })
            ),
        ]
    );
    Ok(())
}

#[tokio::test]
async fn a_grant_of_what_is_not_there_names_what_is_near() -> Result<()> {
    let (stack, _) = with_agents().await?;
    let theirs = stack.operator_of("theirs")?;
    for (api, secret, agent, message) in [
        (
            &stack.operator,
            "STRIPE_KEI",
            "more1",
            "no secret STRIPE_KEI; did you mean STRIPE_KEY?",
        ),
        (&stack.operator, "STRIPE_KEY", "nobody", "no agent nobody"),
        (&theirs, "STRIPE_KEY", "more1", "no secret STRIPE_KEY"),
    ] {
        for method in [Method::PUT, Method::DELETE] {
            let answer = api.send(method, &path(secret, agent), Bytes::new()).await?;
            assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
            assert_eq!(answer.json()?["error"]["message"], message);
        }
    }
    let answer = stack.operator.get("/v1/operator/agents/mroe1").await?;
    assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    assert_eq!(
        answer.json()?["error"]["message"],
        "no agent mroe1; did you mean more1?"
    );
    let answer = stack.operator.delete("/v1/operator/secrets/STRIPE").await?;
    assert_eq!(answer.json()?["error"]["message"], "no secret STRIPE");
    assert_eq!(grants(&stack).await?, json!([]));
    Ok(())
}
