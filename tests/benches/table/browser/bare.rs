//! The least that each call can be: the bare DevTools commands, in a fresh process of the bench itself.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tests::spawn;

use super::devtools::DevTools;
use super::timed;
use super::verbs::{Subject, Verb};

/// The word that makes the bench such a client: `bare VERB PORT [WORD]`.
pub const WORD: &str = "bare";

/// Starts the bench once more for one call.
pub fn call(port: u16, verb: Verb, subject: &Subject) -> Result<Duration> {
    let mut command = spawn::command(std::env::current_exe()?);
    command
        .args([WORD, verb.name(), &port.to_string()])
        .args(subject.word(verb));
    let (output, took) = timed(|| spawn::output(&mut command))?;
    ensure!(output.status.success(), "{verb:?}: {output:?}");
    Ok(took)
}

/// What that process does; nothing is waited for but the replies and, in `navigate`, the page's load.
pub fn main(words: &[String]) -> Result<()> {
    let [verb, port, word @ ..] = words else {
        bail!("bare takes a verb, a port and what the verb is about");
    };
    let verb = Verb::of(verb).with_context(|| format!("unknown verb {verb}"))?;
    let word = word.first().map(String::as_str).unwrap_or_default();
    let mut devtools = DevTools::attach(port.parse()?)?;
    let printed = match verb {
        Verb::Navigate => navigate(&mut devtools, word)?,
        Verb::Snapshot => devtools.call("Accessibility.getFullAXTree", json!({}))?,
        Verb::Click => click(&mut devtools, word)?,
        Verb::Eval => value(&mut devtools, word)?,
        Verb::Screenshot => screenshot(&mut devtools, Path::new(word))?,
    };
    println!("{printed}");
    Ok(())
}

fn navigate(devtools: &mut DevTools, url: &str) -> Result<Value> {
    devtools.call("Page.enable", json!({}))?;
    let reply = devtools.call("Page.navigate", json!({ "url": url }))?;
    ensure!(reply["errorText"].is_null(), "{reply}");
    devtools.event("Page.loadEventFired")?;
    value(devtools, "[location.href, document.title]")
}

fn click(devtools: &mut DevTools, selector: &str) -> Result<Value> {
    let document = devtools.call("DOM.getDocument", json!({ "depth": 0 }))?;
    let query = json!({ "nodeId": document["root"]["nodeId"], "selector": selector });
    let node = devtools.call("DOM.querySelector", query)?;
    let node = json!({ "nodeId": node["nodeId"] });
    devtools.call("DOM.scrollIntoViewIfNeeded", node.clone())?;
    let quads = devtools.call("DOM.getContentQuads", node)?;
    let corner = |at: usize| quads["quads"][0][at].as_f64().context("no box");
    let (x, y) = (
        f64::midpoint(corner(0)?, corner(4)?),
        f64::midpoint(corner(1)?, corner(5)?),
    );
    for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
        devtools.call("Input.dispatchMouseEvent", event)?;
    }
    Ok(json!([x, y]))
}

fn value(devtools: &mut DevTools, expression: &str) -> Result<Value> {
    let evaluate = json!({
        "expression": format!("(async () => {{ return {expression} }})()"),
        "awaitPromise": true,
        "returnByValue": true,
    });
    let mut reply = devtools.call("Runtime.evaluate", evaluate)?;
    ensure!(reply["exceptionDetails"].is_null(), "{reply}");
    Ok(reply["result"]["value"].take())
}

fn screenshot(devtools: &mut DevTools, path: &Path) -> Result<Value> {
    let capture = json!({ "format": "jpeg", "quality": 80 });
    let reply = devtools.call("Page.captureScreenshot", capture)?;
    let data = reply["data"].as_str().context("no picture")?;
    let picture = base64(data.as_bytes()).context("the picture is not base64")?;
    std::fs::write(path, &picture)?;
    Ok(json!(picture.len()))
}

/// RFC 4648, section 4, as Chrome writes it.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text
        .strip_suffix(b"==")
        .or(text.strip_suffix(b"="))
        .unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for letter in text {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// What each call consists of, for the table's reader.
pub const fn consists_of(verb: Verb) -> &'static str {
    match verb {
        Verb::Navigate => "bare DevTools, fresh process: Page.navigate, load event, evaluate",
        Verb::Snapshot => "bare DevTools, fresh process: getFullAXTree",
        Verb::Click => "bare DevTools, fresh process: querySelector, quads, 3 mouse events",
        Verb::Eval => "bare DevTools, fresh process: Runtime.evaluate",
        Verb::Screenshot => "bare DevTools, fresh process: captureScreenshot, one file",
    }
}
