//! `docs/backend.md`: every command in it works, and every answer in it is what comes back.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tests::{Stack, spawn};

/// What stands for anything.
const ANY: &str = "…";
/// Between the output of one block and the next.
const MARK: &str = "=== end of block ===";

/// A block of commands and the answer that the guide shows for it.
struct Block {
    commands: String,
    answer: Option<String>,
}

/// The fenced blocks of a guide: commands, each with the answer that follows it.
fn blocks(guide: &str) -> Result<Vec<Block>> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut rest = guide;
    while let Some((_, fenced)) = rest.split_once("\n```") {
        let (kind, fenced) = fenced.split_once('\n').context("an open fence")?;
        let (text, after) = fenced.split_once("\n```").context("an open fence")?;
        match kind {
            "sh" => blocks.push(Block {
                commands: text.to_owned(),
                answer: None,
            }),
            "json" => {
                let last = blocks.last_mut().context("an answer without commands")?;
                ensure!(last.answer.is_none(), "two answers: {text}");
                last.answer = Some(text.to_owned());
            }
            other => anyhow::bail!("a block of {other:?}"),
        }
        rest = after;
    }
    Ok(blocks)
}

/// Where an answer is not what the guide shows: other keys, types, texts or lengths.
/// Numbers may differ, and `…` stands for anything, in a text too.
fn differences(at: &str, shown: &Value, found: &Value, told: &mut Vec<String>) {
    match (shown, found) {
        (Value::String(text), _) if text == ANY => {}
        (Value::Object(shown), Value::Object(found)) => {
            for (key, shown) in shown.iter().filter(|(key, _)| *key != ANY) {
                match found.get(key) {
                    Some(found) => differences(&format!("{at}.{key}"), shown, found, told),
                    None => told.push(format!("{at}.{key} is not there")),
                }
            }
            let more = found.keys().filter(|key| !shown.contains_key(*key));
            if !shown.contains_key(ANY) {
                told.extend(more.map(|key| format!("{at}.{key} is not in the guide")));
            }
        }
        (Value::Array(shown), Value::Array(found)) => {
            let open = shown.last().is_some_and(|last| last == ANY);
            let wanted = &shown[..shown.len() - usize::from(open)];
            if found.len() < wanted.len() || (!open && found.len() > wanted.len()) {
                told.push(format!("{at} has {} entries", found.len()));
            }
            for (number, (shown, found)) in wanted.iter().zip(found).enumerate() {
                differences(&format!("{at}[{number}]"), shown, found, told);
            }
        }
        (Value::Number(_), Value::Number(_)) => {}
        (Value::String(shown), Value::String(found)) if fits(shown, found) => {}
        (shown, found) if shown == found => {}
        (shown, found) => told.push(format!("{at} is {found}, not {shown}")),
    }
}

/// Whether a text has the parts around each `…`, in their order, from its start to its end.
fn fits(shown: &str, found: &str) -> bool {
    let Some((start, rest)) = shown.split_once(ANY) else {
        return shown == found;
    };
    let Some(mut left) = found.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split(ANY).collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(end)
}

#[tokio::test]
async fn the_guides_commands_work_and_answer_what_it_shows() -> Result<()> {
    let stack = Stack::whole().await?;
    let environment = stack.directory.path().join("dev.env");
    std::fs::write(
        &environment,
        format!(
            "GUILDS_URL=http://{}\nGUILDS_BACKEND_TOKEN={}\n",
            stack.control_plane.address(),
            stack.shared.backend_token
        ),
    )?;
    let guide = std::fs::read_to_string(stack.shared.repository.join("docs/backend.md"))?
        .replace(
            "/var/lib/guilds-dev/dev.env",
            &environment.to_string_lossy(),
        )
        .replace("\"ada\"", &format!("\"{}\"", stack.ada.id))
        .replace("/agents/ada/", &format!("/agents/{}/", stack.ada.id));
    let blocks = blocks(&guide)?;
    let answered = blocks.iter().filter(|block| block.answer.is_some()).count();
    ensure!(answered >= 12, "only {answered} answers are shown");
    let script: String = blocks
        .iter()
        .map(|block| format!("{}\nprintf '\\n{MARK}\\n'\n", block.commands))
        .collect();
    let output =
        spawn::output(spawn::command("/bin/bash").args(["-euo", "pipefail", "-c", &script]))?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(
        output.status.success(),
        "{}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let outputs: Vec<&str> = text.split(MARK).collect();
    assert_eq!(outputs.len(), blocks.len() + 1, "{text}");
    let mut told = Vec::new();
    for (block, output) in blocks.iter().zip(outputs) {
        let Some(answer) = &block.answer else {
            continue;
        };
        let shown = serde_json::from_str(answer).with_context(|| answer.clone())?;
        let found = serde_json::from_str(output.trim()).with_context(|| output.to_owned())?;
        let mut differ = Vec::new();
        differences("answer", &shown, &found, &mut differ);
        if !differ.is_empty() {
            told.push(format!("{}\n  {}", block.commands, differ.join("\n  ")));
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
    Ok(())
}

#[test]
fn a_difference_is_found_wherever_it_is() {
    let check = |shown: &str, found: &str, expected: &[&str]| {
        let mut told = Vec::new();
        let (shown, found) = (serde_json::from_str(shown), serde_json::from_str(found));
        let (Ok(shown), Ok(found)) = (shown, found) else {
            panic!("no JSON");
        };
        differences("x", &shown, &found, &mut told);
        assert_eq!(told, expected);
    };
    check(r#"{"a":1,"b":"…"}"#, r#"{"a":2,"b":[3]}"#, &[]);
    check(r#"{"a":1}"#, r#"{"a":"1"}"#, &["x.a is \"1\", not 1"]);
    check(
        r#"{"a":1}"#,
        r#"{"b":1}"#,
        &["x.a is not there", "x.b is not in the guide"],
    );
    check(r#"{"a":1,"…":"…"}"#, r#"{"a":1,"b":1}"#, &[]);
    check(r#"["a","…"]"#, r#"["a","b","c"]"#, &[]);
    check(r#""a…b…c""#, r#""a1b2c""#, &[]);
    check(r#""a…c""#, r#""a1""#, &["x is \"a1\", not \"a…c\""]);
    check(r#""a…""#, r#""1""#, &["x is \"1\", not \"a…\""]);
    check(r#"["a","…"]"#, "[]", &["x has 0 entries"]);
    check(
        r#"["a"]"#,
        r#"["b","c"]"#,
        &["x has 2 entries", "x[0] is \"b\", not \"a\""],
    );
}
