//! The API's own document against its handlers: tokens, query parameters, bodies, and real answers.
//!
//! The harness holds every JSON answer of every test against the document, and every
//! request that was accepted; what is here asks each route of the document itself.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use hyper::Method;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tests::{Api, Stack};

struct Operation {
    method: Method,
    template: String,
    told: Value,
}

impl Operation {
    /// Its path with something in place of what it names.
    fn path(&self) -> String {
        self.template
            .replace("{run}", "0198c0de-0000-7000-8000-000000000000")
            .replace("{id}", "1")
            .replace("{revision}", "1")
            .replace(['{', '}'], "")
    }

    fn token(&self) -> Option<&str> {
        let scheme = self.told["security"][0].as_object()?;
        scheme.keys().next().map(String::as_str)
    }

    fn named(&self) -> String {
        format!("{} {}", self.method, self.template)
    }
}

async fn operations(stack: &Stack) -> Result<Vec<Operation>> {
    let open = Api::new(stack.control_plane.address(), None);
    let answer = open.get("/openapi.json").await?;
    assert_eq!(answer.content_type, "application/json");
    let document = answer.expect(200)?;
    assert_eq!(document["openapi"], "3.1.0");
    let mut found = Vec::new();
    for (template, operations) in document["paths"].as_object().context("paths")? {
        for (method, told) in operations.as_object().context("operations")? {
            found.push(Operation {
                method: method.to_uppercase().parse()?,
                template: template.clone(),
                told: told.clone(),
            });
        }
    }
    assert!(found.len() > 60, "only {} operations", found.len());
    Ok(found)
}

#[tokio::test]
async fn each_operation_is_a_route_that_its_own_token_opens() -> Result<()> {
    let stack = Stack::storage().await?;
    let open = Api::new(stack.control_plane.address(), None);
    for operation in operations(&stack).await? {
        let (method, path) = (operation.method.clone(), operation.path());
        let name = operation.named();
        let without = open.send(method.clone(), &path, Bytes::new()).await?;
        let Some(token) = operation.token() else {
            assert_eq!(without.status, 200, "{name}");
            continue;
        };
        assert_eq!(without.status, 401, "{name}");
        let other = match token {
            "backend" => &stack.operator,
            "operator" => &stack.backend,
            _ => continue,
        };
        let wrong = other.send(method, &path, Bytes::new()).await?;
        assert_eq!(wrong.refusal(), (403, "forbidden".to_owned()), "{name}");
    }
    Ok(())
}

/// The names after `allowed are ` in a refusal of `stray`.
fn allowed(message: &str, stray: &str) -> Option<BTreeSet<String>> {
    let (_, rest) = message.split_once(stray)?;
    let rest = rest.split(';').nth(1)?.trim();
    Some(match rest.strip_prefix("allowed are ") {
        Some(names) => names.split(", ").map(str::to_owned).collect(),
        None => BTreeSet::new(),
    })
}

fn client<'a>(stack: &'a Stack, operation: &Operation) -> Option<&'a Api> {
    match operation.token() {
        Some("backend") => Some(&stack.backend),
        Some("operator") => Some(&stack.operator),
        _ => None,
    }
}

#[tokio::test]
async fn query_parameters_are_those_that_the_handlers_allow() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut asked = 0;
    for operation in operations(&stack).await? {
        let Some(client) = client(&stack, &operation) else {
            continue;
        };
        let name = operation.named();
        let path = format!("{}?stray_one=1", operation.path());
        let answer = client
            .send(operation.method.clone(), &path, Bytes::new())
            .await?;
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{name}");
        let message = answer.json()?["error"]["message"].clone();
        let message = message.as_str().context("a message")?.to_owned();
        let found = allowed(&message, "`stray_one` is no parameter").context(message.clone())?;
        let told: BTreeSet<String> = operation.told["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "query")
            .filter_map(|parameter| parameter["name"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(told, found, "{name}");
        asked += 1;
    }
    assert!(asked > 60, "{asked}");
    Ok(())
}

#[tokio::test]
async fn fields_of_bodies_are_those_that_the_handlers_read() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    run.call(
        "report_issue",
        json!({ "summary": "s", "detail": "d", "kind": "other" }),
    )
    .await?;
    let schedule = run
        .call(
            "schedule_create_cron",
            json!({ "cron": "0 9 * * *", "description": "d", "instruction": "i" }),
        )
        .await?
        .json()["schedule"]["schedule_id"]
        .clone();
    let schedule = schedule.as_str().context("a schedule")?;
    let request = uuid::Uuid::now_v7();
    sqlx::query(
        "INSERT INTO secret_requests (id, organisation, guild, agent, name, reason)
         VALUES ($1, 'acme', 'core', $2, 'A_KEY', 'to pay')",
    )
    .bind(request)
    .bind(&stack.ada.id)
    .execute(&mut stack.database().await?)
    .await?;
    let mut asked = BTreeSet::new();
    for operation in operations(&stack).await? {
        let schema = &operation.told["requestBody"]["content"]["application/json"]["schema"];
        let Some(properties) = schema["properties"].as_object() else {
            continue;
        };
        let Some(client) = client(&stack, &operation) else {
            continue;
        };
        let path = operation
            .path()
            .replace("0198c0de-0000-7000-8000-000000000000", &run.id)
            .replace("secret-requests/1", &format!("secret-requests/{request}"))
            .replace("schedules/1", &format!("schedules/{schedule}"));
        let body = Bytes::from_static(br#"{"stray_one":1}"#);
        let answer = client.send(operation.method.clone(), &path, body).await?;
        let name = operation.named();
        assert_eq!(answer.status, 422, "{name}: {}", answer.text);
        let message = answer.json()?["error"]["message"].clone();
        let message = message.as_str().context("a message")?.to_owned();
        let found = allowed(&message, "`stray_one` is no field").context(message.clone())?;
        let told: BTreeSet<String> = properties.keys().cloned().collect();
        assert_eq!(told, found, "{name}");
        asked.insert(name);
    }
    for name in [
        "POST /v1/runs",
        "POST /v1/runs/{run}/calls",
        "PATCH /v1/operator/issues/{id}",
        "POST /v1/operator/secret-requests/{id}/fulfil",
        "POST /v1/operator/secret-requests/{id}/deny",
    ] {
        assert!(asked.contains(name), "{name} was not asked");
    }
    Ok(())
}

/// Everything that can be read without naming an object, in a world with one of each kind.
#[tokio::test]
async fn what_is_read_is_what_the_document_says() -> Result<()> {
    let stack = Stack::storage().await?;
    let mut document = stack.document();
    document["bindings"] =
        json!([{ "tool": "note_delete", "agent": stack.bob.id, "enabled": false }]);
    document["collections"] = json!([{ "name": "contacts", "description": "People", "unique": "email",
        "columns": [{ "name": "email", "type": "text", "required": true },
                    { "name": "stage", "type": "text", "values": ["lead", "lost"] }],
        "access": [{ "guild": "core", "access": "write" }, { "agent": stack.bob.id, "access": "none" }] }]);
    document["notes"] = json!([{ "path": "org/handbook.md", "content": "x",
        "access": [{ "organisation": true, "access": "read" }] }]);
    document["connectors"] = json!([{ "id": "web", "kind": "tavily", "url": "https://api.example.com",
        "filters": { "tavily_search": "jq:.results[]" } }]);
    document["logins"] = json!([{ "connector": "web", "organisation": true, "status": "connected",
        "key": "abcdefgh", "tools": { "tavily_extract": false } }]);
    document["secrets"] =
        json!([{ "name": "A_KEY", "value": "abcdefgh", "grants": [stack.ada.id] }]);
    stack.apply(&document).await?;
    let run = stack.run(&stack.ada).await?;
    run.batch(json!([
        { "id": "1", "name": "note_find" },
        { "id": "2", "name": "script_create", "arguments": { "name": "count", "description": "Counts.",
            "source": "pass", "parameters": { "type": "object" } } },
        { "id": "3", "name": "report_issue", "arguments": { "summary": "s", "detail": "d", "kind": "other" } },
        { "id": "4", "name": "none" },
    ]))
    .await?;
    let before = tests::document::checked();
    let mut read = 0;
    for operation in operations(&stack).await? {
        let Some(client) = client(&stack, &operation) else {
            continue;
        };
        let path = operation
            .path()
            .replace("0198c0de-0000-7000-8000-000000000000", &run.id)
            .replace("agents/agent/", &format!("agents/{}/", stack.ada.id))
            .replace("collections/name/", "collections/contacts/")
            .replace("notes/path/", "notes/org%2Fhandbook.md/")
            .replace(
                "scripts/agent/name",
                &format!("scripts/{}/count", stack.ada.id),
            );
        let path = match operation.template.as_str() {
            "/v1/operator/why" => format!("{path}?agent={}&tool=note_get", stack.ada.id),
            // A machine has to be there for it.
            "/v1/agents/{agent}/files" => continue,
            _ => path,
        };
        if operation.method == Method::GET {
            // The harness holds the answer against the document.
            let answer = client.get(&path).await?;
            assert!(
                [200, 404].contains(&answer.status),
                "{path}: {}",
                answer.text
            );
            read += usize::from(answer.status == 200);
        }
    }
    assert!(read > 30, "{read}");
    assert!(tests::document::checked() >= before + read);
    Ok(())
}
