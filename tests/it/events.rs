//! The feed of events: what it tells, how it waits, what it refuses.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::control_plane::ControlPlane;
use tests::event_stream::EventStream;
use tests::shared::ORGANISATION;
use tests::{Api, Run, Stack};

fn report(summary: &str) -> Value {
    json!({ "summary": summary, "detail": "d", "kind": "api", "severity": "low" })
}

/// Events after `after`, those of one answer.
async fn events(api: &Api, query: &str) -> Result<Vec<Value>> {
    let body = api.get(&format!("/v1/events?{query}")).await?.expect(200)?;
    Ok(body["events"].as_array().context("events")?.clone())
}

#[tokio::test]
async fn a_report_is_told_with_what_became_of_its_issue() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let issue = run
        .call_as("first", "report_issue", report("Line 9"))
        .await?
        .json()["issue"]
        .clone();
    // The same call again is no second report.
    run.call_as("first", "report_issue", report("Line 9"))
        .await?;
    let more = json!({ "summary": "LINE 10", "detail": "d", "kind": "api", "severity": "high", "tool_name": " " });
    run.call_as("second", "report_issue", more).await?;
    let mut db = stack.database().await?;
    sqlx::query("UPDATE issues SET status = 'resolved'")
        .execute(&mut db)
        .await?;
    run.call_as("third", "report_issue", report("line 11"))
        .await?;
    // A refused report tells nobody.
    run.call("report_issue", report(" ")).await?;

    let found = events(&stack.backend, "after=0").await?;
    let expected = |number: usize, change: &str, call: &str, summary: &str, severity: &str| {
        json!({
            "seq": found[number]["seq"], "type": "issue", "at": found[number]["at"],
            "organisation": ORGANISATION, "guild": "core", "agent": stack.ada.id,
            "issue": issue, "change": change, "kind": "api", "tool_name": null,
            "summary": summary, "severity": severity, "reports": number + 1,
            "run": run.id, "call_id": call,
        })
    };
    assert_eq!(
        found,
        [
            expected(0, "new", "first", "Line 9", "low"),
            expected(1, "counted", "second", "LINE 10", "high"),
            expected(2, "reopened", "third", "line 11", "high"),
        ]
    );
    let at = found[0]["at"].as_str().context("at")?;
    assert!(at.ends_with('Z') && at.contains('T'), "{at}");
    Ok(())
}

#[tokio::test]
async fn a_login_with_another_status_is_told_and_nothing_else_of_it() -> Result<()> {
    let stack = Stack::storage().await?;
    let document = |status: &str, platform: bool| {
        json!({
            "organisation": ORGANISATION,
            "connectors": [{ "id": "web-search", "kind": "tavily", "url": "https://search.example" }],
            "logins": [
                { "connector": "web-search", "organisation": true, "status": status, "platform": platform },
                { "connector": "web-search", "agent": stack.bob.id, "status": "pending" },
            ],
        })
    };
    let dry = stack
        .operator
        .post(
            "/v1/operator/apply?dry_run=true",
            &document("pending", false),
        )
        .await?;
    dry.expect(200)?;
    assert_eq!(
        events(&stack.backend, "after=0").await?,
        Vec::<Value>::new()
    );
    for (status, platform) in [
        ("pending", false),
        ("pending", false),
        ("pending", true),
        ("connected", true),
    ] {
        stack.apply(&document(status, platform)).await?;
    }
    let found = events(&stack.backend, "after=0").await?;
    let told = |number: usize, level: &str, owner: &str, of: [Value; 2], status: &str| {
        let [guild, agent] = of;
        json!({
            "seq": found[number]["seq"], "type": "login_changed", "at": found[number]["at"],
            "organisation": ORGANISATION, "guild": guild, "agent": agent,
            "connector": "web-search", "level": level, "owner": owner, "status": status,
        })
    };
    let nobody = [Value::Null, Value::Null];
    let bob = [json!("core"), json!(stack.bob.id)];
    assert_eq!(
        found,
        [
            told(0, "organisation", ORGANISATION, nobody.clone(), "pending"),
            told(1, "agent", &stack.bob.id, bob, "pending"),
            told(2, "organisation", ORGANISATION, nobody, "connected"),
        ]
    );
    Ok(())
}

#[tokio::test]
async fn pages_go_on_where_the_last_one_ended() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for number in 0..5 {
        run.call("report_issue", report(["a", "b", "c", "d", "e"][number]))
            .await?;
    }
    let (mut after, mut pages, mut seen) = (0, Vec::new(), Vec::new());
    loop {
        let path = format!("/v1/events?after={after}&limit=2");
        let body = stack.backend.get(&path).await?.expect(200)?;
        let events = body["events"].as_array().context("events")?;
        pages.push(events.len());
        seen.extend(events.iter().map(|event| event["summary"].clone()));
        let Some(next) = body["next"].as_i64() else {
            break;
        };
        assert_eq!(
            events.last().map(|event| &event["seq"]),
            Some(&body["next"])
        );
        after = next;
    }
    assert_eq!(pages, [2, 2, 1]);
    assert_eq!(seen, ["a", "b", "c", "d", "e"]);
    Ok(())
}

#[tokio::test]
async fn a_waiting_reader_is_answered_by_the_next_event() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let empty = stack.backend.get("/v1/events").await?.expect(200)?;
    assert_eq!(empty, json!({ "events": [], "next": null }));
    let waiting = events(&stack.backend, "after=0&wait=60");
    let reporting = async {
        // The answer may only come from the report.
        tokio::time::sleep(Duration::from_millis(300)).await;
        run.call("report_issue", report("now")).await
    };
    let (found, reported) = tokio::try_join!(waiting, reporting)?;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["issue"], reported.json()["issue"]);
    let seq = &found[0]["seq"];
    let nothing = events(&stack.backend, &format!("after={seq}&wait=1")).await?;
    assert_eq!(nothing, Vec::<Value>::new());
    Ok(())
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_all_of_it_at_once() -> Result<()> {
    let stack = Stack::storage().await?;
    let answer = stack
        .backend
        .get("/v1/events?after=-1&wait=61&limit=0&since=1")
        .await?;
    assert_eq!(answer.refusal(), (422, "invalid".to_owned()));
    assert_eq!(
        answer.json()?["error"]["message"],
        "`after` is \"-1\"; allowed are 0 to 9223372036854775807; `wait` is \"61\"; allowed are 0 to 60; \
         `limit` is \"0\"; allowed are 1 to 1000; `since` is no parameter; allowed are after, wait, limit"
    );
    // A place that this database never gave is another database's.
    let answer = stack.backend.get("/v1/events?after=7&wait=60").await?;
    assert_eq!(answer.refusal(), (422, "invalid".to_owned()));
    assert_eq!(
        answer.json()?["error"]["message"],
        "`after` is 7 and the newest event is 0; begin again without it"
    );
    let answer = stack.operator.get("/v1/events").await?;
    assert_eq!(answer.refusal(), (403, "forbidden".to_owned()));
    let nobody = Api::new(stack.control_plane.address(), None);
    let answer = nobody.get("/v1/events").await?;
    assert_eq!(answer.refusal(), (401, "unauthorized".to_owned()));
    let opened = EventStream::open(
        stack.control_plane.address(),
        &stack.shared.operator_token,
        None,
    )
    .await;
    assert!(opened.is_err_and(|error| error.to_string().contains("403")));
    Ok(())
}

#[tokio::test]
async fn a_stream_tells_what_was_and_what_comes_and_ends_in_good_order_at_a_stop() -> Result<()> {
    let mut stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let address = stack.control_plane.address().to_owned();
    let token = stack.shared.backend_token.clone();
    for summary in ["one", "two"] {
        run.call("report_issue", report(summary)).await?;
    }
    let mut stream = EventStream::open(&address, &token, None).await?;
    let first = stream.next().await?.context("an event")?;
    assert_eq!(first["summary"], "one");
    assert_eq!(first["type"], "issue");
    assert_eq!(stream.next().await?.context("an event")?["summary"], "two");
    run.call("report_issue", report("three")).await?;
    assert_eq!(
        stream.next().await?.context("an event")?["summary"],
        "three"
    );
    drop(stream);

    let seq = first["seq"].as_i64();
    let mut stream = EventStream::open(&address, &token, seq).await?;
    assert_eq!(stream.next().await?.context("an event")?["summary"], "two");
    assert_eq!(
        stream.next().await?.context("an event")?["summary"],
        "three"
    );
    // A waiting reader goes home as well.
    let waiting = tokio::spawn({
        let backend = stack.backend.clone();
        async move { events(&backend, "after=3&wait=60").await }
    });
    while connections(&address)? < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let stopped = tokio::task::spawn_blocking(move || {
        stack.control_plane.stop()?;
        Ok::<_, anyhow::Error>(stack)
    });
    assert_eq!(stream.next().await?, None, "the stream ends whole");
    assert_eq!(waiting.await??, Vec::<Value>::new());
    let stack = stopped.await??;
    let log = stack.control_plane.log();
    assert!(!log.contains("still in flight"), "{log}");
    Ok(())
}

/// Connections that the daemon at `host:port` serves.
fn connections(address: &str) -> Result<usize> {
    let port: u16 = address.rsplit(':').next().context("a port")?.parse()?;
    let local = format!(":{port:04X} ");
    let table = std::fs::read_to_string("/proc/net/tcp")?;
    let established = |line: &&str| {
        line.split_whitespace()
            .nth(1)
            .is_some_and(|at| format!("{at} ").ends_with(&local))
            && line.split_whitespace().nth(3) == Some("01")
    };
    Ok(table.lines().filter(established).count())
}

#[tokio::test]
async fn readers_outlive_the_database_connections() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    let token = stack.shared.backend_token.clone();
    let mut stream = EventStream::open(stack.control_plane.address(), &token, None).await?;
    let mut db = stack.database().await?;
    let waiting = tokio::spawn({
        let backend = stack.backend.clone();
        // A reader whose connection ends before it waits is told to ask again.
        async move {
            loop {
                let answer = backend.get("/v1/events?after=0&wait=60").await?;
                if answer.status != 503 {
                    let body = answer.expect(200)?;
                    return Ok::<_, anyhow::Error>(body["events"].as_array().cloned());
                }
            }
        }
    });
    listening(&mut db).await?;
    // Every connection of the replica at once, the one that listens among them.
    sqlx::query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'guilds-control-plane'",
    )
    .execute(&mut db)
    .await?;
    // Recorded by someone else while nobody listens: only a look finds it.
    let seq: i64 =
        sqlx::query_scalar("SELECT record_event('issue', $1, NULL, NULL, '{\"issue\":5}')")
            .bind(ORGANISATION)
            .fetch_one(&mut db)
            .await?;
    let found = waiting.await??.context("events")?;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["seq"], &found[0]["issue"]),
        (&json!(seq), &json!(5))
    );
    assert_eq!(stream.next().await?.context("an event")?["seq"], seq);
    // And it listens again.
    listening(&mut db).await?;
    reported_at_last(&stack, &run, "after").await?;
    assert_eq!(
        stream.next().await?.context("an event")?["summary"],
        "after"
    );
    Ok(())
}

/// Reports as a chat backend does: a 503, as from a connection that just ended, is sent again.
async fn reported_at_last(stack: &Stack, run: &Run, summary: &str) -> Result<()> {
    let call = json!({ "calls": [{ "id": "again", "name": "report_issue", "arguments": report(summary) }] });
    for _ in 0..100 {
        let answer = stack.backend.post(&run.path("/calls"), &call).await?;
        if answer.status != 503 {
            answer.expect(200)?;
            return Ok(());
        }
    }
    anyhow::bail!("only 503")
}

/// Waits until a replica listens.
async fn listening(db: &mut sqlx::PgConnection) -> Result<()> {
    for _ in 0..1_000 {
        let found: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM pg_stat_activity
              WHERE datname = current_database() AND query LIKE 'LISTEN%guilds_events%')",
        )
        .fetch_one(&mut *db)
        .await?;
        if found {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    anyhow::bail!("nobody listens")
}

#[tokio::test]
async fn events_go_after_30_days_and_a_late_reader_learns_it() -> Result<()> {
    let stack = Stack::storage().await?;
    let run = stack.run(&stack.ada).await?;
    for summary in ["a", "b", "c", "d"] {
        run.call("report_issue", report(summary)).await?;
    }
    let all = events(&stack.backend, "after=0").await?;
    let seq: Vec<i64> = all
        .iter()
        .filter_map(|event| event["seq"].as_i64())
        .collect();
    let mut db = stack.database().await?;
    sqlx::query("UPDATE events SET at = now() - interval '30 days 1 minute' WHERE seq <= $1")
        .bind(seq[1])
        .execute(&mut db)
        .await?;
    sqlx::query("UPDATE events SET at = now() - interval '29 days 23 hours' WHERE seq = $1")
        .bind(seq[2])
        .execute(&mut db)
        .await?;
    // Any replica removes them, a new one at once.
    let other = ControlPlane::start(
        stack.shared,
        stack.directory.path(),
        stack.database_name(),
        "",
    )
    .await?;
    for _ in 0..1_000 {
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM events")
            .fetch_one(&mut db)
            .await?;
        if left == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let api = Api::new(other.address(), Some(&stack.shared.backend_token));
    let late = api
        .get(&format!("/v1/events?after={}", seq[0]))
        .await?
        .expect(200)?;
    assert_eq!(late["removed_through"], seq[1]);
    assert_eq!(late["events"][0]["seq"], seq[2]);
    for query in [
        String::new(),
        "after=0".to_owned(),
        format!("after={}", seq[1]),
    ] {
        let in_time = api.get(&format!("/v1/events?{query}")).await?.expect(200)?;
        assert_eq!(in_time.get("removed_through"), None, "{query}");
        assert_eq!(in_time["events"][0]["seq"], seq[2], "{query}");
    }
    Ok(())
}
