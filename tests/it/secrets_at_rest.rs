//! Secrets at rest: values stand nowhere but sealed, and what is stored is redacted with the secrets of that moment.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use hyper::Method;
use hyper::body::Bytes;
use serde_json::{Value, json};
use sqlx::{Connection, Row};
use tests::cluster::Cluster;
use tests::{Stack, processes, spawn};

/// A value that reads differently in most of its forms.
const SECRET: &str = "sk \"Sésame\"/öffne+dich&7391";
const LOGIN_KEY: &str = "tvly-4f9b2c81d07e";

fn with_secrets(stack: &Stack) -> Value {
    json!({
        "secrets": [{ "name": "STRIPE_KEY", "value": SECRET, "grants": [stack.ada.id] }],
        "connectors": [{ "id": "web-search", "kind": "tavily", "url": "https://api.tavily.com" }],
        "logins": [{ "connector": "web-search", "organisation": true, "status": "connected", "key": LOGIN_KEY }],
    })
}

/// Python that prints a value in every form that is looked for, a line each.
fn printer(path: &str) -> String {
    format!(
        r#"
import base64, json, urllib.parse
value = open({path:?}, encoding="utf-8").read()
quote = urllib.parse.quote
def lower(text):
    out, at = "", 0
    while at < len(text):
        if text[at] == "%":
            out += text[at:at + 3].lower(); at += 3
        else:
            out += text[at]; at += 1
    return out
raw = value.encode()
print("raw", value)
print("json", json.dumps(value, ensure_ascii=False)[1:-1])
print("json-ascii", json.dumps(value)[1:-1])
print("json-twice", json.dumps(json.dumps(value)))
print("percent", quote(value, safe=""))
print("percent-lower", lower(quote(value, safe="")))
print("percent-plus", urllib.parse.quote_plus(value))
for before in range(3):
    text = b"x" * before + raw
    print("base64", before, base64.b64encode(text).decode())
    print("base64-url", before, base64.urlsafe_b64encode(text).decode())
"#
    )
}

/// What must be nowhere: the value and the forms that a search of bytes can meet.
fn traces(value: &str) -> Vec<Vec<u8>> {
    let ascii: String = value
        .chars()
        .map(|c| {
            if c.is_ascii() {
                c.to_string()
            } else {
                format!("\\u{:04x}", u32::from(c))
            }
        })
        .collect();
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let quoted = |text: &str| text.replace('"', "\\\"");
    let mut traces: Vec<Vec<u8>> = vec![
        value.into(),
        quoted(value).into(),
        quoted(&ascii).into(),
        hex.to_uppercase().into(),
        hex.into(),
    ];
    // Base64 of the value from its first, second and third byte on, without what its
    // neighbours decide.
    for skipped in 0..3 {
        let text = base64(&value.as_bytes()[skipped..]);
        traces.push(text.as_bytes()[..text.len() - 4].to_vec());
    }
    traces
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    (0..(bytes.len() * 8).div_ceil(6))
        .map(|group| {
            let six = (0..6).fold(0, |value, offset| value << 1 | bit(group * 6 + offset));
            char::from(LETTERS[usize::from(six)])
        })
        .collect()
}

#[track_caller]
fn nowhere(place: &str, bytes: &[u8]) {
    for value in [SECRET, LOGIN_KEY] {
        for trace in traces(value) {
            let found = bytes
                .windows(trace.len())
                .any(|window| window == trace.as_slice());
            assert!(
                !found,
                "{place} holds {}: {}",
                String::from_utf8_lossy(&trace),
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

/// Every table of the database as text, which is what a dump would hold.
async fn dump(stack: &Stack) -> Result<String> {
    let mut db = stack.database().await?;
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename",
    )
    .fetch_all(&mut db)
    .await?;
    ensure!(tables.contains(&"secrets".to_owned()), "{tables:?}");
    let mut text = String::new();
    for table in tables {
        let statement = sqlx::AssertSqlSafe(format!("SELECT t::text FROM \"{table}\" t"));
        for row in sqlx::query(statement).fetch_all(&mut db).await? {
            text.push_str(&row.get::<String, _>(0));
            text.push('\n');
        }
    }
    db.close().await?;
    let dumped = spawn::run(
        spawn::command(Cluster::program("pg_dump"))
            .arg(stack.shared.cluster.url(stack.database_name())),
    )?;
    ensure!(dumped.contains("CREATE TABLE public.secrets"), "a dump");
    Ok(text + &dumped)
}

fn of_process(pid: u32) -> Result<Vec<u8>> {
    let mut bytes = fs::read(format!("/proc/{pid}/environ"))?;
    bytes.extend(fs::read(format!("/proc/{pid}/cmdline"))?);
    Ok(bytes)
}

#[tokio::test]
async fn a_secret_stands_nowhere_but_sealed() -> Result<()> {
    let stack = Stack::whole().await?;
    let applied = stack.apply(&with_secrets(&stack)).await?;
    nowhere("the answer to an apply", applied.to_string().as_bytes());

    let run = stack.run(&stack.ada).await?;
    ensure!(run.body["secrets"] == json!(["STRIPE_KEY"]), "{}", run.body);
    let bobs = stack.run(&stack.bob).await?;
    ensure!(bobs.body["secrets"] == json!([]), "{}", bobs.body);

    // The agent has the values in files of its home, as if it had found them out.
    let home = PathBuf::from(stack.ada.home());
    for (name, value) in [("one", SECRET), ("two", LOGIN_KEY)] {
        fs::write(home.join(name), value)?;
        fs::write(home.join(format!("{name}.py")), printer(name))?;
        std::os::unix::fs::chown(home.join(name), Some(stack.ada.uid()?), None)?;
    }
    for (file, mark) in [("one.py", "STRIPE_KEY"), ("two.py", "web-search")] {
        let printed = run
            .call("shell", json!({ "command": format!("python3 {file}") }))
            .await?;
        let text = printed.text();
        let marks = text.matches(&format!("[redacted:{mark}]")).count();
        // Seven lines, and two alphabets at three alignments.
        assert_eq!(marks, 13, "{text}");
    }
    // An error, arguments, a report and a name that no tool has.
    run.call("note_get", json!({ "path": format!("agent/{SECRET}.md") }))
        .await?;
    run.call(
        "report_issue",
        json!({ "summary": format!("key {LOGIN_KEY} is refused"), "detail": format!("with {SECRET} too"),
                "kind": "tool_failure", "tool_name": LOGIN_KEY }),
    )
    .await?;
    run.call(&format!("x{LOGIN_KEY}"), json!({ "key": SECRET }))
        .await?;
    // A script's own words.
    run.call(
        "script_create",
        json!({ "name": "pay", "description": "pays", "source": "print(1)",
                "parameters": { "type": "object", "properties": {} } }),
    )
    .await?;
    run.end().await?;

    let messages = stack.backend.get(&run.path("/messages")).await?;
    nowhere("messages", messages.text.as_bytes());
    let shown = stack.backend.get(&run.path("")).await?;
    nowhere("the run", shown.text.as_bytes());
    for path in [
        "audit", "issues", "inbox", "export", "secrets", "logins", "runs",
    ] {
        let answer = stack.operator.get(&format!("/v1/operator/{path}")).await?;
        assert_eq!(answer.status, 200, "{path}");
        nowhere(path, answer.text.as_bytes());
    }
    nowhere("the database", dump(&stack).await?.as_bytes());
    let machine = stack.machine()?;
    nowhere(
        "the control plane's log",
        stack.control_plane.log().as_bytes(),
    );
    nowhere("the machine agent's log", machine.log().as_bytes());
    nowhere("PostgreSQL's log", stack.shared.cluster.log()?.as_bytes());
    for pid in [stack.control_plane.pid(), machine.pid()] {
        nowhere("a daemon's surroundings", &of_process(pid)?);
    }
    // The sealed rows are there, and the search itself finds what is there.
    let mut db = stack.database().await?;
    let sealed: Vec<Vec<u8>> = sqlx::query_scalar(
        "SELECT sealed FROM secrets UNION ALL SELECT sealed FROM logins WHERE sealed IS NOT NULL",
    )
    .fetch_all(&mut db)
    .await?;
    let lengths: BTreeSet<usize> = sealed.iter().map(Vec::len).collect();
    // A nonce of 12 bytes, the value, a tag of 16.
    assert_eq!(
        lengths,
        BTreeSet::from([SECRET.len() + 28, LOGIN_KEY.len() + 28])
    );
    Ok(())
}

#[tokio::test]
async fn the_search_for_traces_finds_them() -> Result<()> {
    for trace in traces(SECRET) {
        let text = [b"before ".as_slice(), &trace, b" after"].concat();
        let found = std::panic::catch_unwind(|| nowhere("a text", &text));
        ensure!(found.is_err(), "{}", String::from_utf8_lossy(&trace));
    }
    nowhere("another text", b"nothing to see");
    Ok(())
}

#[tokio::test]
async fn what_is_stored_in_the_middle_of_a_call_is_taken_out_of_its_result() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    // This replica has redacted for the organisation before, so it keeps what it knew.
    run.call("note_find", json!({ "query": "" })).await?;
    let home = PathBuf::from(stack.ada.home());
    let command =
        format!("touch begun; while [ ! -e go ]; do sleep 0.05; done; echo 'it is {LOGIN_KEY}'");
    let call = run.call("shell", json!({ "command": command }));
    let store = async {
        processes::until(Duration::from_secs(20), || Ok(home.join("begun").exists())).await?;
        stack
            .apply(&json!({ "secrets": [{ "name": "MIDWAY", "value": LOGIN_KEY }] }))
            .await?;
        fs::write(home.join("go"), "")?;
        anyhow::Ok(())
    };
    let (result, stored) = tokio::join!(call, store);
    stored?;
    let text = result?.text().to_owned();
    assert!(text.contains("it is [redacted:MIDWAY]"), "{text}");
    let messages = stack.backend.get(&run.path("/messages")).await?;
    // The arguments were stored before the secret was, and are redacted with the result.
    nowhere("messages", messages.text.as_bytes());
    assert!(messages.text.contains("echo 'it is [redacted:MIDWAY]'"));
    Ok(())
}

#[tokio::test]
async fn a_changed_and_a_removed_secret_count_at_once() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let found = async |value: &str| -> Result<String> {
        let told = run.call(&format!("x-{value}"), json!({})).await?;
        Ok(told.text().to_owned())
    };
    assert!(found("first-value").await?.contains("first-value"));
    let apply = async |secret: Value| stack.apply(&json!({ "secrets": [secret] })).await;
    apply(json!({ "name": "K", "value": "first-value" })).await?;
    assert!(found("first-value").await?.contains("[redacted:K]"));
    apply(json!({ "name": "K", "value": "other-value" })).await?;
    assert!(found("first-value").await?.contains("first-value"));
    assert!(found("other-value").await?.contains("[redacted:K]"));
    stack
        .operator
        .send(Method::DELETE, "/v1/operator/secrets/K", Bytes::new())
        .await?
        .expect(200)?;
    assert!(found("other-value").await?.contains("other-value"));
    Ok(())
}
