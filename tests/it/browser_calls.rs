//! The browser tools on a real Chromium.

use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tests::site::Site;
use tests::{Agent, CallResult, Run, Stack, processes};

const SHOP: &str = "<!doctype html><title>Lamp shop</title><h1>Lamps</h1>\
    <a href='/cart'>Your cart</a><button onclick=\"document.title='Bought'\">Buy</button>\
    <button disabled>Sold out</button><label>Pass <input type=password value=hunter2></label>\
    <ul><li>Brass</li><li>Glass</li></ul>";
const CART: &str = "<!doctype html><title>Cart</title><h1>Your cart is empty</h1>";

async fn site() -> Result<Site> {
    Site::serve(&[("/", SHOP), ("/cart", CART)]).await
}

async fn fine(run: &Run, name: &str, arguments: Value) -> Result<CallResult> {
    let result = run.call(name, arguments.clone()).await?;
    assert_eq!(
        result.metadata["error"],
        Value::Null,
        "{name} {arguments}: {result:?}"
    );
    assert_eq!(result.metadata["output_filter"], "page", "{name}");
    Ok(result)
}

/// The agent's Chrome: the process that was given the agent's port, not one of its children.
fn chrome(agent: &Agent) -> Result<processes::Process> {
    let port = format!("--remote-debugging-port={}", 9300 + u16::from(agent.slot()));
    processes::of_uid(agent.uid()?)?
        .into_iter()
        .find(|process| process.command.contains(&port) && !process.command.contains("--type="))
        .context("no Chrome of the agent")
}

#[tokio::test]
async fn a_page_is_opened_read_clicked_and_photographed() -> Result<()> {
    let stack = Stack::whole().await?;
    let site = site().await?;
    let run = stack.run(&stack.ada).await?;
    let opened = fine(&run, "browser_navigate", json!({ "url": site.url("/") })).await?;
    assert!(opened.text().contains("Lamp shop"), "{opened:?}");

    let snapshot = fine(&run, "browser_snapshot", json!({})).await?;
    let text = snapshot.text();
    let head = format!("url: {}\ntitle: Lamp shop\n\n- ", site.url("/"));
    assert!(text.starts_with(&head), "{text}");
    for line in [
        "heading \"Lamps\"",
        "link \"Your cart\"",
        "button \"Buy\"",
        "button \"Sold out\" [disabled]",
        "textbox \"Pass\"",
        "Brass",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("hunter2"), "a password is shown");

    fine(
        &run,
        "browser_click",
        json!({ "target": "role=button[name=\"Buy\"]" }),
    )
    .await?;
    let bought = fine(&run, "browser_snapshot", json!({})).await?;
    assert!(bought.text().contains("\ntitle: Bought\n"), "{bought:?}");

    let clicked = fine(&run, "browser_click", json!({ "target": "text=Your cart" })).await?;
    assert!(clicked.text().contains(&site.url("/cart")), "{clicked:?}");
    let cart = fine(&run, "browser_snapshot", json!({})).await?;
    assert!(
        cart.text().contains("heading \"Your cart is empty\""),
        "{cart:?}"
    );

    let photo = fine(&run, "browser_screenshot", json!({})).await?;
    assert_eq!(photo.text().lines().next(), Some("screenshots/latest.jpg"));
    let path = format!("{}/screenshots/latest.jpg", stack.ada.home());
    let bytes = std::fs::read(&path)?;
    assert_eq!(bytes[..3], [0xff, 0xd8, 0xff], "a JPEG");
    let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&path)?);
    assert_eq!(owner, stack.ada.uid()?);
    Ok(())
}

#[tokio::test]
async fn refusals_name_the_target_and_what_is_there() -> Result<()> {
    let stack = Stack::whole().await?;
    let site = site().await?;
    let run = stack.run(&stack.ada).await?;
    fine(&run, "browser_navigate", json!({ "url": site.url("/") })).await?;
    let strict = run.call("browser_click", json!({ "target": "li" })).await?;
    assert!(
        strict
            .content
            .starts_with("ERROR: strict mode violation: li resolved to 2 elements"),
        "{strict:?}"
    );
    // Waits its 10 s, as it may still appear.
    let nothing = run
        .call("browser_click", json!({ "target": "#absent" }))
        .await?;
    assert!(
        nothing
            .content
            .starts_with("ERROR: no element matches #absent"),
        "{nothing:?}"
    );
    let file = run
        .call("browser_navigate", json!({ "url": "file:///etc/passwd" }))
        .await?;
    assert!(file.content.starts_with("ERROR: "), "{file:?}");
    let closed = run
        .call("browser_navigate", json!({ "url": "http://127.0.0.1:9/" }))
        .await?;
    assert!(closed.content.starts_with("ERROR: "), "{closed:?}");
    assert!(closed.content.contains("net::ERR_"), "{closed:?}");
    let absent = run
        .call("browser_navigate", json!({ "url": site.url("/absent") }))
        .await?;
    assert!(absent.content.contains("404"), "{absent:?}");
    Ok(())
}

#[tokio::test]
async fn chrome_runs_as_the_agent_with_its_sandbox_and_stays() -> Result<()> {
    let stack = Stack::whole().await?;
    let site = site().await?;
    let run = stack.run(&stack.ada).await?;
    let first = fine(&run, "browser_navigate", json!({ "url": site.url("/") })).await?;
    let chrome_then = chrome(&stack.ada)?;
    assert_eq!(chrome_then.uids, [stack.ada.uid()?; 4]);
    let all = processes::of_uid(stack.ada.uid()?)?;
    for process in &all {
        assert!(!process.command.contains("--no-sandbox"), "{process:?}");
    }
    let renderer = all
        .iter()
        .find(|process| process.command.contains("--type=renderer"))
        .context("a renderer")?;
    let status = processes::status(renderer.pid)?;
    assert_eq!(
        status.get("Seccomp").map(String::as_str),
        Some("2"),
        "a seccomp filter"
    );
    assert_eq!(status.get("NoNewPrivs").map(String::as_str), Some("1"));

    let second = fine(
        &run,
        "browser_navigate",
        json!({ "url": site.url("/cart") }),
    )
    .await?;
    assert_eq!(chrome(&stack.ada)?.pid, chrome_then.pid, "the same Chrome");
    let time = |result: &CallResult| result.metadata["duration_ms"].as_u64().unwrap_or(u64::MAX);
    assert!(
        time(&second) < time(&first),
        "{} ms, and the first with Chrome's start {} ms",
        time(&second),
        time(&first)
    );
    run.end().await?;
    let next = stack.run(&stack.ada).await?;
    fine(&next, "browser_snapshot", json!({})).await?;
    assert_eq!(
        chrome(&stack.ada)?.pid,
        chrome_then.pid,
        "it outlives the run"
    );
    Ok(())
}

#[tokio::test]
async fn a_chrome_that_died_is_started_again_and_the_call_says_so() -> Result<()> {
    let stack = Stack::whole().await?;
    let site = site().await?;
    let run = stack.run(&stack.ada).await?;
    fine(&run, "browser_navigate", json!({ "url": site.url("/") })).await?;
    let before = chrome(&stack.ada)?.pid;
    kill(Pid::from_raw(i32::try_from(before)?), Signal::SIGKILL)?;
    processes::until(Duration::from_secs(5), || {
        Ok(!processes::all()?
            .iter()
            .any(|process| process.pid == before))
    })
    .await?;
    let next = fine(
        &run,
        "browser_navigate",
        json!({ "url": site.url("/cart") }),
    )
    .await?;
    let first = next.text().lines().next().unwrap_or_default();
    assert!(
        first.contains("Chrome") && first.contains("again"),
        "{next:?}"
    );
    assert!(next.text().contains("Cart"), "{next:?}");
    assert_ne!(chrome(&stack.ada)?.pid, before);
    let quiet = fine(&run, "browser_snapshot", json!({})).await?;
    assert!(quiet.text().starts_with("url: "), "{quiet:?}");
    Ok(())
}

#[tokio::test]
async fn calls_of_one_batch_use_the_browser_in_the_order_given() -> Result<()> {
    let stack = Stack::whole().await?;
    let site = site().await?;
    let run = stack.run(&stack.ada).await?;
    let results = run
        .batch(json!([
            { "id": "1", "name": "browser_navigate", "arguments": { "url": site.url("/") } },
            { "id": "2", "name": "browser_snapshot", "arguments": {} },
            { "id": "3", "name": "browser_navigate", "arguments": { "url": site.url("/cart") } },
            { "id": "4", "name": "browser_snapshot", "arguments": {} },
        ]))
        .await?;
    assert!(
        results[1].text().contains("title: Lamp shop"),
        "{results:?}"
    );
    assert!(results[3].text().contains("title: Cart"), "{results:?}");
    Ok(())
}

const FORM: &str = "<!doctype html><title>Order</title><label>Name <input id=name></label>\
    <label>Day <input id=day type=date></label>\
    <ul id=list aria-label=Lamps style='height:100px;overflow:auto'><li style='height:900px'>Brass</li></ul>";

#[tokio::test]
async fn a_form_is_typed_into_filled_scrolled_and_looked_into() -> Result<()> {
    let stack = Stack::whole().await?;
    let site = Site::serve(&[("/", FORM)]).await?;
    let run = stack.run(&stack.ada).await?;
    fine(&run, "browser_navigate", json!({ "url": site.url("/") })).await?;
    for (tool, arguments, answer) in [
        (
            "browser_fill",
            json!({ "target": "role=textbox[name=\"Name\"]", "value": "Ada" }),
            "filled textbox \"Name\"\nvalue: \"Ada\"",
        ),
        (
            "browser_type",
            json!({ "target": "#name", "text": " Lovelace 🙂" }),
            "typed 11 characters into textbox \"Name\"\nvalue: \"Ada Lovelace 🙂\"",
        ),
        (
            "browser_fill",
            json!({ "target": "#day", "value": "2026-03-01" }),
            "filled textbox \"Day\"\nvalue: \"2026-03-01\"",
        ),
        (
            "browser_scroll",
            json!({ "direction": "down" }),
            "scrolled down by 100 px\ncontainer: the panel list \"Lamps\" [target=#list]\nremaining: up 100 px, down 700 px, left 0 px, right 0 px",
        ),
        (
            "browser_eval",
            json!({ "expression": "return { name: document.querySelector('#name').value, none: undefined }" }),
            "{\"name\":\"Ada Lovelace 🙂\"}",
        ),
        (
            "browser_eval",
            json!({ "expression": "1 + 1" }),
            "undefined",
        ),
    ] {
        assert_eq!(fine(&run, tool, arguments).await?.text(), answer, "{tool}");
    }
    let refused = run
        .call(
            "browser_eval",
            json!({ "expression": "return document.body" }),
        )
        .await?;
    assert!(
        refused
            .content
            .starts_with("ERROR: the value is a DOM node (body)"),
        "{refused:?}"
    );
    let astray = run
        .call("browser_scroll", json!({ "direction": "sideways" }))
        .await?;
    assert!(astray.content.starts_with("ERROR: "), "{astray:?}");
    Ok(())
}

#[tokio::test]
async fn a_chrome_killed_during_a_call_is_told_at_once_and_the_next_call_has_a_new_one()
-> Result<()> {
    let stack = Stack::whole().await?;
    let site = site().await?;
    let run = stack.run(&stack.ada).await?;
    fine(&run, "browser_navigate", json!({ "url": site.url("/") })).await?;
    let pid = Pid::from_raw(i32::try_from(chrome(&stack.ada)?.pid)?);
    let waits = json!({ "expression": "await new Promise(() => {})" });
    let begun = std::time::Instant::now();
    let (cut_off, killed) = tokio::join!(run.call("browser_eval", waits), async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        kill(pid, Signal::SIGKILL)
    });
    killed?;
    let cut_off = cut_off?;
    assert!(
        cut_off
            .content
            .starts_with("ERROR: the connection to the browser ended during the call"),
        "{cut_off:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(15));
    let next = fine(
        &run,
        "browser_navigate",
        json!({ "url": site.url("/cart") }),
    )
    .await?;
    assert!(next.text().contains("again"), "{next:?}");
    assert!(next.text().contains("title: Cart"), "{next:?}");
    Ok(())
}
