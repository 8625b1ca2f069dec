//! The machine's operations, asked as the control plane asks them.

use anyhow::Result;
use hyper::Method;
use serde_json::{Value, json};
use tests::Stack;
use tests::machine_client::MachineClient;

const ID: &str = "abcdefghijklmnopqrstuvwx22";

fn shell(command: &str) -> Value {
    json!({ "arguments": { "command": command }, "env": {}, "limit_ms": 20_000, "max_output_bytes": 131_072 })
}

async fn put(client: &MachineClient, agent: &str, slot: u8) -> Result<tests::Answer> {
    client
        .send(
            Method::PUT,
            &format!("/v1/agents/{agent}"),
            Some(slot),
            None,
        )
        .await
}

#[tokio::test]
async fn an_agent_is_made_once_and_listed() -> Result<()> {
    let stack = Stack::whole().await?;
    let client = stack.machine_client()?;
    let first = put(&client, &stack.ada.id, stack.ada.slot())
        .await?
        .expect(200)?;
    assert_eq!(first["home"], stack.ada.home());
    assert_eq!(first["uid"], stack.ada.uid()?);
    let again = put(&client, &stack.ada.id, stack.ada.slot())
        .await?
        .expect(200)?;
    assert_eq!(again, first);
    let health = client.get("/v1/health").await?.expect(200)?;
    assert_eq!(health["machine"], "local");
    assert!(health["version"].is_string());
    let end = health["certificate_not_after"].as_str().unwrap_or_default();
    assert!(
        end.ends_with('Z') && end.len() == "2026-01-02T03:04:05Z".len(),
        "{end}"
    );
    let agents = health["agents"].to_string();
    assert!(agents.contains(&stack.ada.id), "{agents}");
    let marked = nix::unistd::User::from_name(&stack.ada.id)?;
    let gecos = marked.map(|user| user.gecos.to_string_lossy().into_owned());
    assert!(
        gecos.is_some_and(|gecos| gecos.contains("acme")),
        "the mark names the organisation"
    );
    Ok(())
}

#[tokio::test]
async fn another_organisation_and_another_agents_slot_are_refused() -> Result<()> {
    let stack = Stack::whole().await?;
    let client = stack.machine_client()?;
    put(&client, &stack.ada.id, stack.ada.slot())
        .await?
        .expect(200)?;
    let theirs = put(
        &client.of_organisation("other"),
        &stack.ada.id,
        stack.ada.slot(),
    )
    .await?;
    assert_eq!(theirs.refusal(), (409, "conflict".to_owned()));
    assert!(
        theirs.text.contains("userdel"),
        "the command that removes it: {}",
        theirs.text
    );
    // The slot of an agent at work is refused; the document moves slots of agents at rest.
    let call = {
        let (client, slot) = (client.clone(), stack.ada.slot());
        let path = format!("/v1/agents/{}/code/shell/calls/{ID}", stack.ada.id);
        tokio::spawn(async move {
            client
                .send(Method::POST, &path, Some(slot), Some(&shell("sleep 2.9")))
                .await
        })
    };
    tests::processes::until_running(&stack.ada, "sleep 2.9").await?;
    let slot = put(&client, &stack.bob.id, stack.ada.slot()).await?;
    assert_eq!(slot.refusal(), (409, "conflict".to_owned()));
    assert!(slot.text.contains(&stack.ada.id), "{}", slot.text);
    assert!(stack.bob.uid().is_err(), "no account for a refused agent");
    call.await??.expect(200)?;
    Ok(())
}

#[tokio::test]
async fn requests_that_make_no_sense_touch_nothing() -> Result<()> {
    let stack = Stack::whole().await?;
    let client = stack.machine_client()?;
    let slot = Some(stack.ada.slot());
    for agent in ["user", "root", "Ada", "a..b", "-a", "%2e%2e", "postgres"] {
        let answer = put(&client, agent, stack.ada.slot()).await?;
        assert!(
            (400..500).contains(&answer.status),
            "{agent}: {}",
            answer.text
        );
        assert!(answer.json()?["error"]["message"].is_string(), "{agent}");
    }
    for out_of_range in [None, Some(100), Some(255)] {
        let path = format!("/v1/agents/{}", stack.ada.id);
        let answer = client.send(Method::PUT, &path, out_of_range, None).await?;
        assert!(
            (400..500).contains(&answer.status),
            "{out_of_range:?}: {}",
            answer.text
        );
    }
    let base = format!("/v1/agents/{}", stack.ada.id);
    put(&client, &stack.ada.id, stack.ada.slot())
        .await?
        .expect(200)?;
    for path in ["nothing/x/calls", "code/shell/calls/short/more", "code"] {
        let path = format!("{base}/{path}/{ID}");
        let answer = client
            .send(Method::POST, &path, slot, Some(&shell("true")))
            .await?;
        assert!(
            (400..500).contains(&answer.status),
            "{path}: {}",
            answer.text
        );
    }
    let mut large = shell("true");
    large["padding"] = json!("x".repeat(20 * 1024 * 1024));
    let path = format!("{base}/code/shell/calls/{ID}");
    // A front may answer before it has read such a body, or end the connection; it reads no 20 MiB.
    if let Ok(answer) = client.send(Method::POST, &path, slot, Some(&large)).await {
        assert_eq!(answer.refusal(), (413, "body_too_large".to_owned()));
    }
    let fine = client
        .send(Method::POST, &path, slot, Some(&shell("echo fine")))
        .await?
        .expect(200)?;
    assert_eq!(fine["state"], "done", "{fine}");
    Ok(())
}

#[tokio::test]
async fn an_id_that_was_called_unknown_never_runs() -> Result<()> {
    let stack = Stack::whole().await?;
    let client = stack.machine_client()?;
    let slot = Some(stack.ada.slot());
    put(&client, &stack.ada.id, stack.ada.slot())
        .await?
        .expect(200)?;
    let base = format!("/v1/agents/{}", stack.ada.id);
    let asked = client
        .send(
            Method::GET,
            &format!("{base}/calls/{ID}?wait_s=0"),
            slot,
            None,
        )
        .await?
        .expect(200)?;
    assert_eq!(asked, json!({ "state": "unknown" }));
    let path = format!("{base}/code/shell/calls/{ID}");
    let late = client
        .send(Method::POST, &path, slot, Some(&shell("touch ran")))
        .await?;
    assert_eq!(late.refusal(), (409, "conflict".to_owned()));
    assert!(!std::fs::exists(format!("{}/ran", stack.ada.home()))?);
    Ok(())
}

#[tokio::test]
async fn a_call_is_followed_attached_to_and_forgotten_but_for_its_id() -> Result<()> {
    let stack = Stack::whole().await?;
    let client = stack.machine_client()?;
    let slot = Some(stack.ada.slot());
    put(&client, &stack.ada.id, stack.ada.slot())
        .await?
        .expect(200)?;
    let base = format!("/v1/agents/{}", stack.ada.id);
    let path = format!("{base}/code/shell/calls/{ID}");
    let body = shell("echo once >> times; sleep 1.7; cat times");
    let first = {
        let (client, path, body) = (client.clone(), path.clone(), body.clone());
        tokio::spawn(async move { client.send(Method::POST, &path, slot, Some(&body)).await })
    };
    tests::processes::until_running(&stack.ada, "sleep 1.7").await?;
    let follow = format!("{base}/calls/{ID}");
    let running = client
        .send(Method::GET, &format!("{follow}?wait_s=0"), slot, None)
        .await?
        .expect(200)?;
    assert_eq!(running, json!({ "state": "running" }));
    let (attached, followed) =
        tokio::join!(client.send(Method::POST, &path, slot, Some(&body)), async {
            client
                .send(Method::GET, &format!("{follow}?wait_s=30"), slot, None)
                .await
        },);
    let done = first.await??.expect(200)?;
    assert_eq!(done["state"], "done", "{done}");
    let output = done["reply"]["output"].as_str().unwrap_or_default();
    assert!(output.trim_end().ends_with("]\nonce"), "{output}");
    assert_eq!(attached?.expect(200)?, done);
    assert_eq!(followed?.expect(200)?, done);

    client
        .send(Method::POST, &format!("{follow}/stored"), slot, None)
        .await?
        .expect(200)?;
    let after = client.send(Method::POST, &path, slot, Some(&body)).await?;
    // Whatever it is called now, it does not run again.
    assert!(
        after.status == 409 || after.json()?["state"] != "done",
        "{}",
        after.text
    );
    let times = std::fs::read_to_string(format!("{}/times", stack.ada.home()))?;
    assert_eq!(times, "once\n");
    Ok(())
}
