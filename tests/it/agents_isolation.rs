//! What one agent's code reaches of another's: nothing.

use anyhow::Result;
use serde_json::json;
use tests::site::Site;
use tests::{Stack, spawn};

#[tokio::test]
async fn an_agent_reaches_neither_anothers_home_nor_its_browser() -> Result<()> {
    let stack = Stack::whole().await?;
    let site = Site::serve(&[("/", "<title>Mine</title>")]).await?;
    let ada = stack.run(&stack.ada).await?;
    let opened = ada
        .call("browser_navigate", json!({ "url": site.url("/") }))
        .await?;
    assert!(opened.content.contains("Mine"), "{opened:?}");
    let port = 9300 + u16::from(stack.ada.slot());
    let source = format!(
        "import os, socket\n\
         try:\n    print('home', os.listdir('{home}'))\nexcept OSError as error:\n    print('home', error.strerror)\n\
         for address in ('127.0.0.1', '::1'):\n    try:\n        socket.create_connection((address, {port}), 5).close()\n        print(address, 'connected')\n    \
         except OSError as error:\n        print(address, error.strerror)\n",
        home = stack.ada.home()
    );
    let bob = stack.run(&stack.bob).await?;
    bob.call(
        "script_create",
        json!({ "name": "look", "description": "d", "source": source }),
    )
    .await?;
    let seen = bob.call("script_run", json!({ "name": "look" })).await?;
    assert_eq!(
        seen.text().trim_end(),
        "home Permission denied\n127.0.0.1 Connection refused\n::1 Connection refused"
    );
    ada.call(
        "script_create",
        json!({ "name": "look", "description": "d", "source": source }),
    )
    .await?;
    let own = ada.call("script_run", json!({ "name": "look" })).await?;
    assert!(own.text().contains("127.0.0.1 connected"), "{own:?}");
    Ok(())
}

#[tokio::test]
async fn a_home_is_the_agents_alone() -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.bob).await?;
    run.call(
        "script_create",
        json!({ "name": "a", "description": "d", "source": "pass" }),
    )
    .await?;
    run.call("script_run", json!({ "name": "a" })).await?;
    let home = std::fs::metadata(stack.bob.home())?;
    assert_eq!(home.mode() & 0o7777, 0o700);
    assert_eq!(home.uid(), stack.bob.uid()?);
    Ok(())
}

#[tokio::test]
async fn a_browser_call_without_the_firewalls_table_is_refused() -> Result<()> {
    let stack = Stack::whole().await?;
    let site = Site::serve(&[("/", "<title>Mine</title>")]).await?;
    let run = stack.run(&stack.ada).await?;
    let fine = run
        .call("browser_navigate", json!({ "url": site.url("/") }))
        .await?;
    assert!(fine.content.contains("Mine"), "{fine:?}");
    spawn::run(spawn::command("/usr/sbin/nft").args([
        "delete",
        "table",
        "inet",
        stack.machine()?.table(),
    ]))?;
    let refused = run.call("browser_snapshot", json!({})).await?;
    assert!(refused.content.starts_with("ERROR: "), "{refused:?}");
    assert!(refused.content.contains("firewall"), "{refused:?}");
    let shell = run.call("shell", json!({ "command": "echo fine" })).await?;
    assert!(
        shell.content.contains("fine"),
        "other calls go on: {shell:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_strangers_listener_on_the_agents_port_is_named_and_sent_nothing() -> Result<()> {
    let stack = Stack::whole().await?;
    let port = 9300 + u16::from(stack.ada.slot());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let run = stack.run(&stack.ada).await?;
    let refused = run.call("browser_snapshot", json!({})).await?;
    assert!(refused.content.starts_with("ERROR: "), "{refused:?}");
    assert!(refused.content.contains(&port.to_string()), "{refused:?}");
    let connected =
        tokio::time::timeout(std::time::Duration::from_millis(100), listener.accept()).await;
    assert!(connected.is_err(), "someone connected");
    Ok(())
}

#[tokio::test]
async fn an_account_that_the_machine_agent_did_not_make_is_never_used() -> Result<()> {
    let stack = Stack::whole().await?;
    spawn::run(spawn::command("/usr/sbin/useradd").args(["--no-create-home", &stack.bob.id]))?;
    let run = stack.run(&stack.bob).await?;
    run.call(
        "script_create",
        json!({ "name": "a", "description": "d", "source": "print('ran')" }),
    )
    .await?;
    let refused = run.call("script_run", json!({ "name": "a" })).await?;
    assert!(refused.content.starts_with("ERROR: "), "{refused:?}");
    assert!(refused.content.contains(&stack.bob.id), "{refused:?}");
    assert!(!std::fs::exists(stack.bob.home())?);
    Ok(())
}

#[tokio::test]
async fn the_fronts_end_takes_the_runners_and_chromes_along_when_told_so() -> Result<()> {
    let mut stack = Stack::whole().await?;
    let site = Site::serve(&[("/", "<title>Mine</title>")]).await?;
    let run = stack.run(&stack.ada).await?;
    run.call("browser_navigate", json!({ "url": site.url("/") }))
        .await?;
    let uid = stack.ada.uid()?;
    assert!(!tests::processes::of_uid(uid)?.is_empty());
    stack.machine_mut()?.stop()?;
    assert_eq!(tests::processes::of_uid(uid)?, []);
    Ok(())
}
