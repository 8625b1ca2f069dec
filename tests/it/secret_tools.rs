//! `secret_store` and `secret_request`: values from files and from operators, and never in a message.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use serde_json::{Value, json};
use tests::shared::ORGANISATION;
use tests::{Run, Stack, processes, spawn};

use crate::checks::check_refused;
use crate::secret_requests::nowhere;

/// SHA-256 of `stored-8e41c7`, by `sha256sum`: the value stands in no message.
const STORED: &str = "4343df31f82b263cdb40351c22f85cb8cf6d34352c143fa734dbbb6f9c329f51";
/// SHA-256 of `stored-again-55ab`.
const STORED_AGAIN: &str = "c38e49b546ce32cae10c3ead464b68ef405a6a1280b5dc0309612204d4f628a1";
/// SHA-256 of `granted-2c90aa`.
const GRANTED: &str = "311e013ba54c87febb2d664c0cb3d2d7f7630411e1a39c05b17e71cd5eb9db6d";

async fn shell(run: &Run, command: &str) -> Result<String> {
    let result = run.call("shell", json!({ "command": command })).await?;
    Ok(result.text().to_owned())
}

fn digest_of(name: &str) -> String {
    format!("printf %s \"${name}\" | sha256sum | cut -d' ' -f1")
}

async fn secret(stack: &Stack, name: &str) -> Result<Value> {
    let path = format!("/v1/operator/secrets/{name}");
    stack.operator.get(&path).await?.expect(200)
}

async fn audit(stack: &Stack, name: &str) -> Result<Vec<Value>> {
    let path = format!("/v1/operator/audit?kind=secrets&object={name}");
    let body = stack.operator.get(&path).await?.expect(200)?;
    Ok(body["audit"].as_array().context("audit")?.clone())
}

#[tokio::test]
async fn a_value_is_stored_from_a_file_and_stands_in_no_message() -> Result<()> {
    let stack = Stack::whole().await?;
    let mut db = stack.database().await?;
    let run = stack.run(&stack.ada).await?;
    shell(&run, "mkdir keys; printf 'stored-%s\\n' 8e41c7 > keys/shop").await?;
    let store = json!({ "name": "SHOP_KEY", "path": "keys/shop", "description": "The shop's" });
    // Stored, and at hand for the next call of the same batch.
    let results = run
        .batch(json!([
            { "id": "store", "name": "secret_store", "arguments": store },
            { "id": "use", "name": "shell", "arguments": { "command": digest_of("SHOP_KEY") } },
        ]))
        .await?;
    assert_eq!(
        results[0].json(),
        json!({ "name": "SHOP_KEY", "stored": true })
    );
    assert!(results[1].text().contains(STORED), "{results:?}");
    // It counts for redaction at once, whatever prints it.
    let text = shell(&run, "cat keys/shop; base64 < keys/shop").await?;
    assert!(text.contains("[redacted:SHOP_KEY]"), "{text}");
    assert!(!text.contains("8e41c7"), "{text}");
    let shown = secret(&stack, "SHOP_KEY").await?;
    assert_eq!(
        (&shown["description"], &shown["grants"], &shown["stored_by"]),
        (
            &json!("The shop's"),
            &json!([stack.ada.id]),
            &json!(stack.ada.id)
        )
    );

    // Its own agent replaces it; without a description the old one stays.
    shell(&run, "printf 'stored-again-%s\\n' 55ab > keys/shop").await?;
    let again = json!({ "name": "SHOP_KEY", "path": "keys/shop" });
    for _ in 0..2 {
        let result = run.call("secret_store", again.clone()).await?;
        assert_eq!(result.json()["stored"], true, "{result:?}");
    }
    let text = shell(&run, &digest_of("SHOP_KEY")).await?;
    assert!(text.contains(STORED_AGAIN), "{text}");
    assert_eq!(
        secret(&stack, "SHOP_KEY").await?["description"],
        "The shop's"
    );

    // The same value again changed nothing, so two rows.
    let rows = audit(&stack, "SHOP_KEY").await?;
    let facts: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["actor"].clone(),
                row["action"].clone(),
                row["after"].clone(),
            )
        })
        .collect();
    let actor = json!(format!("agent:{}", stack.ada.id));
    let after = json!({ "name": "SHOP_KEY", "description": "The shop's", "value": true, "grants": [stack.ada.id] });
    assert_eq!(
        facts,
        [
            (actor.clone(), json!("update"), after.clone()),
            (actor, json!("create"), after),
        ]
    );
    for part in ["stored-8e41c7", "stored-again-55ab"] {
        nowhere(&stack, &mut db, part).await?;
        assert!(!stack.machine()?.log().contains(part), "the machine's log");
    }
    Ok(())
}

#[tokio::test]
async fn only_a_text_file_inside_the_home_becomes_a_secret() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let home = Path::new("/home").join(&stack.ada.id);
    let outside = stack.directory.path().join("outside");
    std::fs::write(&outside, "outside-4711\n")?;
    symlink(&outside, home.join("link"))?;
    symlink("/etc/hostname", home.join("absolute"))?;
    symlink("..", home.join("up"))?;
    symlink("/proc/self/environ", home.join("magic"))?;
    nix::unistd::mkfifo(&home.join("pipe"), Mode::from_bits_truncate(0o666))?;
    mknod(
        &home.join("device"),
        SFlag::S_IFCHR,
        Mode::from_bits_truncate(0o666),
        makedev(1, 5),
    )?;
    let _socket = std::os::unix::net::UnixListener::bind(home.join("socket"))?;
    std::fs::write(home.join("large"), "k".repeat(65_537))?;
    std::fs::write(home.join("short"), "abcde\n")?;
    std::fs::write(home.join("nul"), "abc\0def")?;
    std::fs::write(home.join("binary"), [0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa])?;
    let begun = Instant::now();
    for (path, begin, word) in [
        ("link", "ERROR: 422 ", "leads out of the home"),
        ("absolute", "ERROR: 422 ", "leads out of the home"),
        ("up/root-file", "ERROR: 422 ", "leads out of the home"),
        ("magic", "ERROR: 422 ", "leads out of the home"),
        ("../x", "ERROR: 422 ", "leads out of the home"),
        ("/etc/hostname", "ERROR: 422 ", "begins with /"),
        ("pipe", "ERROR: 422 ", "no regular file"),
        ("device", "ERROR: 422 ", "no regular file"),
        ("socket", "ERROR: 422 ", "no regular file"),
        ("scripts/..", "ERROR: ", ""),
        (".", "ERROR: 422 ", "is a folder"),
        ("none", "ERROR: 404 ", "there is no ~/none"),
        ("large", "ERROR: 422 ", "has 65537 bytes; at most 65536"),
        ("short", "ERROR: 422 ", "has 5 bytes, at least 6"),
        ("nul", "ERROR: 422 ", "U+0000"),
        ("binary", "ERROR: 422 ", "not UTF-8 text"),
    ] {
        let arguments = json!({ "name": "SOME_KEY", "path": path });
        check_refused(&run, "secret_store", arguments, begin, word).await?;
    }
    // Nothing was waited for at pipe, socket and device.
    assert!(begun.elapsed() < Duration::from_secs(20));
    for name in ["some_key", "PATH", "GUILDS_TOKEN", "LD_PRELOAD"] {
        let arguments = json!({ "name": name, "path": "short" });
        check_refused(&run, "secret_store", arguments, "ERROR: 422 ", "name is ").await?;
    }
    let stored = stack.operator.get("/v1/operator/secrets").await?;
    assert_eq!(stored.expect(200)?["secrets"], json!([]));
    // What exactly fits is stored.
    let fits = "k1-".repeat(21_845) + "!";
    std::fs::write(home.join("fits"), fits)?;
    let result = run
        .call(
            "secret_store",
            json!({ "name": "SOME_KEY", "path": "fits" }),
        )
        .await?;
    assert_eq!(result.json()["stored"], true, "{result:?}");
    Ok(())
}

#[tokio::test]
async fn only_who_stored_a_secret_replaces_it() -> Result<()> {
    let stack = Stack::whole().await?;
    stack
        .apply(&json!({ "secrets": [
            { "name": "OPERATORS_KEY", "value": "operators-9173", "grants": [stack.ada.id] },
        ] }))
        .await?;
    let (ada, bob) = (stack.run(&stack.ada).await?, stack.run(&stack.bob).await?);
    for agent in [&stack.ada, &stack.bob] {
        std::fs::write(format!("{}/key", agent.home()), "a value of its own\n")?;
    }
    let store = |name: &str| json!({ "name": name, "path": "key" });
    assert_eq!(
        ada.call("secret_store", store("ADAS_KEY")).await?.json()["stored"],
        true
    );
    for (run, name) in [(&ada, "OPERATORS_KEY"), (&bob, "ADAS_KEY")] {
        check_refused(run, "secret_store", store(name), "ERROR: 403 ", name).await?;
    }
    // Of several at once for one new name one wins, and all others are told.
    let calls = |run: &Run| {
        let run = run.clone();
        tokio::spawn(async move { run.call("secret_store", store("NEW_KEY")).await })
    };
    let (of_ada, of_bob) = (calls(&ada), calls(&bob));
    let texts = [of_ada.await??, of_bob.await??].map(|result| result.text().to_owned());
    let won = texts.iter().filter(|text| text.contains("stored")).count();
    let lost = texts
        .iter()
        .filter(|text| text.starts_with("ERROR: 403 "))
        .count();
    assert_eq!((won, lost), (1, 1), "{texts:?}");
    // A grant that an operator took comes back with the agent's own value.
    let path = format!("/v1/operator/secrets/ADAS_KEY/grants/{}", stack.ada.id);
    stack.operator.delete(&path).await?.expect(200)?;
    ada.call("secret_store", store("ADAS_KEY")).await?;
    assert_eq!(
        secret(&stack, "ADAS_KEY").await?["grants"],
        json!([stack.ada.id])
    );
    Ok(())
}

#[tokio::test]
async fn without_its_machine_nothing_is_stored_and_the_call_says_so() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run
        .call("secret_store", json!({ "name": "SHOP_KEY", "path": "key" }))
        .await?;
    assert!(
        result
            .text()
            .starts_with("ERROR: machine local can't be reached"),
        "{result:?}"
    );
    let stored = stack.operator.get("/v1/operator/secrets").await?;
    assert_eq!(stored.expect(200)?["secrets"], json!([]));
    Ok(())
}

#[tokio::test]
async fn a_request_is_told_answered_and_at_hand_in_the_same_run() -> Result<()> {
    let stack = Stack::whole().await?;
    let mut db = stack.database().await?;
    let run = stack.run(&stack.ada).await?;
    let ask = json!({ "name": "PAY_KEY", "reason": "To pay for test orders." });
    let asked = run.call_as("ask", "secret_request", ask).await?.json();
    let request = asked["request"].as_str().context("request")?.to_owned();
    assert_eq!(asked, json!({ "request": request, "status": "pending" }));
    let events = stack.backend.get("/v1/events?after=0").await?.expect(200)?;
    let event = &events["events"][0];
    assert_eq!(
        *event,
        json!({
            "seq": event["seq"], "type": "secret_request", "at": event["at"],
            "organisation": ORGANISATION, "guild": "core", "agent": stack.ada.id,
            "request": request, "name": "PAY_KEY", "reason": "To pay for test orders.",
            "run": run.id, "call_id": "ask",
        })
    );
    let inbox = stack
        .operator
        .get("/v1/operator/inbox")
        .await?
        .expect(200)?;
    assert_eq!(inbox["inbox"][0]["id"], json!(request), "{inbox}");
    assert_eq!(inbox["inbox"][0]["reason"], "To pay for test orders.");

    let path = format!("/v1/operator/secret-requests/{request}/fulfil");
    let value = json!({ "value": "granted-2c90aa" });
    stack.operator.post(&path, &value).await?.expect(200)?;
    let after = event["seq"].as_i64().context("seq")?;
    let events = stack
        .backend
        .get(&format!("/v1/events?after={after}"))
        .await?;
    let granted = events.expect(200)?["events"][0].clone();
    assert_eq!(
        (&granted["type"], &granted["request"], &granted["name"]),
        (&json!("secret_granted"), &json!(request), &json!("PAY_KEY"))
    );
    let text = shell(&run, &digest_of("PAY_KEY")).await?;
    assert!(text.contains(GRANTED), "{text}");
    let again = json!({ "name": "PAY_KEY", "reason": "To pay." });
    check_refused(&run, "secret_request", again, "ERROR: 422 ", "already").await?;
    nowhere(&stack, &mut db, "granted-2c90aa").await
}

#[tokio::test]
async fn what_waits_for_an_answer_is_one_request_however_often_it_is_asked() -> Result<()> {
    let stack = Stack::storage().await?;
    stack
        .apply(
            &json!({ "secrets": [{ "name": "OLD_KEY", "value": "old-key-66102", "grants": [] }] }),
        )
        .await?;
    let run = stack.run_with_budget(100).await?;
    let other = stack.run(&stack.bob).await?;
    let ask = |name: &str, reason: &str| json!({ "name": name, "reason": reason });
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..10 {
        let run = run.clone();
        let arguments = ask("PAY_KEY", &format!("Reason {number}, like old-key-66102"));
        asked.spawn(async move { run.call("secret_request", arguments).await });
    }
    let mut ids = std::collections::BTreeSet::new();
    while let Some(result) = asked.join_next().await {
        ids.insert(
            result??.json()["request"]
                .as_str()
                .context("id")?
                .to_owned(),
        );
    }
    assert_eq!(ids.len(), 1, "{ids:?}");
    let theirs = other.call("secret_request", ask("PAY_KEY", "Mine")).await?;
    assert!(!ids.contains(theirs.json()["request"].as_str().context("id")?));
    let listed = stack.operator.get("/v1/operator/secret-requests").await?;
    let listed = listed.expect(200)?;
    let requests = listed["secret_requests"].as_array().context("requests")?;
    assert_eq!(requests.len(), 2, "{listed}");
    let mut db = stack.database().await?;
    let reason: String = sqlx::query_scalar("SELECT reason FROM secret_requests WHERE agent = $1")
        .bind(&stack.ada.id)
        .fetch_one(&mut db)
        .await?;
    assert!(reason.ends_with(", like [redacted:OLD_KEY]"), "{reason}");
    let events: i64 =
        sqlx::query_scalar("SELECT count(*) FROM events WHERE type = 'secret_request'")
            .fetch_one(&mut db)
            .await?;
    assert_eq!(events, 2);

    // Denied, it may be asked again, and that is another one.
    let id = ids.first().context("id")?;
    let path = format!("/v1/operator/secret-requests/{id}/deny");
    let body = json!({ "reason": "Use the test account." });
    stack.operator.post(&path, &body).await?.expect(200)?;
    let again = run.call("secret_request", ask("PAY_KEY", "Please")).await?;
    assert_ne!(again.json()["request"].as_str(), Some(id.as_str()));
    // An inbox is not flooded: 20 of an agent wait at most.
    for number in 1..20 {
        let name = format!("KEY_{number}");
        let result = run.call("secret_request", ask(&name, "More")).await?;
        assert_eq!(result.metadata["error"], Value::Null, "{result:?}");
    }
    check_refused(
        &run,
        "secret_request",
        ask("KEY_20", "More"),
        "ERROR: 422 ",
        "no more than 20",
    )
    .await?;
    for (arguments, word) in [
        (ask("pay key", "x"), "name is no name of a secret"),
        (ask("PATH", "x"), "reserved"),
        (ask("OK_KEY", " "), "reason is empty"),
        (json!({ "name": "OK_KEY" }), "reason"),
    ] {
        check_refused(&run, "secret_request", arguments, "ERROR: ", word).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_operator_sees_where_a_secret_is_used() -> Result<()> {
    let stack = Stack::whole().await?;
    let grants = json!([stack.ada.id, stack.bob.id]);
    stack
        .apply(&json!({ "secrets": [
            { "name": "API_KEY", "value": "used-somewhere-311", "grants": grants },
            { "name": "IDLE_KEY", "value": "never-used-99120", "grants": [] },
        ] }))
        .await?;
    let fresh = secret(&stack, "API_KEY").await?;
    assert_eq!(
        (&fresh["uses"], &fresh["last_used_at"]),
        (&json!([]), &Value::Null)
    );
    let (ada, bob) = (stack.run(&stack.ada).await?, stack.run(&stack.bob).await?);
    let script = json!({ "name": "report", "description": "d", "source": "print(1)" });
    bob.call_as("make", "script_create", script).await?;
    bob.call_as("first", "script_run", json!({ "name": "report" }))
        .await?;
    ada.call_as("second", "shell", json!({ "command": "true" }))
        .await?;
    ada.call_as("third", "note_find", json!({ "query": "" }))
        .await?;
    let shown = secret(&stack, "API_KEY").await?;
    assert_eq!(shown["grants"], grants);
    let uses = shown["uses"].as_array().context("uses")?;
    let facts: Vec<Value> = uses
        .iter()
        .map(|found| {
            json!([
                found["agent"],
                found["run"],
                found["call_id"],
                found["tool"]
            ])
        })
        .collect();
    assert_eq!(
        facts,
        [
            json!([stack.ada.id, ada.id, "second", "shell"]),
            json!([stack.bob.id, bob.id, "first", "script_run"]),
        ]
    );
    assert_eq!(shown["last_used_at"], uses[0]["at"]);
    assert!(uses[0]["at"].as_str().is_some_and(|at| at.ends_with('Z')));
    assert_eq!(secret(&stack, "IDLE_KEY").await?["uses"], json!([]));
    // A list says when, and not where.
    let listed = stack
        .operator
        .get("/v1/operator/secrets")
        .await?
        .expect(200)?;
    assert_eq!(listed["secrets"][0]["last_used_at"], shown["last_used_at"]);
    assert_eq!(listed["secrets"][0].get("uses"), None);
    Ok(())
}

#[tokio::test]
async fn a_running_script_shows_its_secrets_to_nobody_else() -> Result<()> {
    const VALUE: &str = "shown-to-nobody-5a0f";
    let stack = Stack::whole().await?;
    stack
        .apply(&json!({ "secrets": [{ "name": "API_KEY", "value": VALUE, "grants": [stack.ada.id] }] }))
        .await?;
    let run = stack.run(&stack.ada).await?;
    stack.run(&stack.bob).await?;
    let source = "import os, time\nassert len(os.environ['API_KEY']) == 20\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)\n";
    let script = json!({ "name": "waits", "description": "d", "source": source });
    run.call("script_create", script).await?;
    let waiting = {
        let run = run.clone();
        tokio::spawn(async move {
            run.call_as("waits", "script_run", json!({ "name": "waits" }))
                .await
        })
    };
    let file = format!("{}/pid", stack.ada.home());
    processes::until(Duration::from_secs(20), || {
        Ok(std::fs::read_to_string(&file).is_ok_and(|pid| !pid.is_empty()))
    })
    .await?;
    let pid: u32 = std::fs::read_to_string(&file)?.parse()?;
    // The one process that has it is the script, whose cores are not kept.
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits"))?;
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let core: Vec<&str> = core
        .context("a limit of cores")?
        .split_whitespace()
        .collect();
    assert_eq!(core[4..6], ["0", "0"]);
    let holders: Vec<u32> = processes::all()?
        .into_iter()
        .filter(|process| {
            let environ = std::fs::read(format!("/proc/{}/environ", process.pid));
            environ.is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(VALUE))
        })
        .map(|process| process.pid)
        .collect();
    assert_eq!(holders, [pid]);
    assert_eq!(processes::with_command(VALUE)?, []);
    // Another agent of the machine reads nothing of it.
    let uid = stack.bob.uid()?.to_string();
    for name in ["environ", "mem", "fd"] {
        let mut command = spawn::command("setpriv");
        command.args(["--reuid", &uid, "--regid", &uid, "--clear-groups", "ls"]);
        let output = spawn::output(command.arg(format!("/proc/{pid}/{name}/")))?;
        assert!(!output.status.success(), "{name}: {output:?}");
        let mut command = spawn::command("setpriv");
        command.args(["--reuid", &uid, "--regid", &uid, "--clear-groups", "cat"]);
        let output = spawn::output(command.arg(format!("/proc/{pid}/{name}")))?;
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{name}: {output:?}"
        );
    }
    stack
        .backend
        .post(&run.path("/calls/waits/cancel"), &json!({}))
        .await?
        .expect(200)?;
    waiting.await??;
    Ok(())
}
