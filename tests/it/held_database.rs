//! A database that is slow, held by others, or gone: sentences and 503 instead of a hang, and nothing half done.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _};
use tests::cluster::Cluster;
use tests::control_plane::ControlPlane;
use tests::shared::ORGANISATION;
use tests::{Api, Shared, StackBuilder, api, spawn};

fn write(key: &str) -> Value {
    json!({ "level": "agent", "key": key, "content": "x" })
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_ended_and_the_model_told() -> Result<()> {
    let stack = StackBuilder::default()
        .control_plane("statement_timeout_s = 3\n")
        .start()
        .await?;
    let run = stack.run_with_budget(20).await?;
    let mut db = stack.database().await?;
    db.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN IF NEW.key = 'slow.md' THEN PERFORM pg_sleep(30); END IF; RETURN NEW; END $$;
         CREATE TRIGGER slow BEFORE INSERT ON artifacts FOR EACH ROW EXECUTE FUNCTION slow()",
    )
    .await?;
    let slow = run.call("note_write", write("slow.md")).await?;
    assert_eq!(
        slow.content,
        "ERROR: the database gave up on this call because it took too long, and nothing was \
         changed; ask for less, such as fewer or more exact words\nremaining_tool_calls: 19"
    );
    // The call's connection and the run go on.
    let next = run.call("note_write", write("quick.md")).await?;
    assert_eq!(next.json()["created"], true, "{next:?}");
    let notes: i64 =
        sqlx::query_scalar("SELECT count(*) FROM artifacts WHERE key IN ('slow.md', 'quick.md')")
            .fetch_one(&mut db)
            .await?;
    assert_eq!(notes, 1);
    Ok(())
}

#[tokio::test]
async fn more_calls_than_connections_on_a_held_table_are_all_answered() -> Result<()> {
    let stack = StackBuilder::default()
        .control_plane("statement_timeout_s = 3\n")
        .start()
        .await?;
    let run = stack.run_with_budget(100).await?;
    let mut holder = stack.database().await?;
    let mut held = holder.begin().await?;
    held.execute("LOCK TABLE artifacts IN ACCESS EXCLUSIVE MODE")
        .await?;
    let began = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..60 {
        let run = run.clone();
        let body = json!({ "calls": [{ "id": format!("call_{number}"), "name": "note_write",
            "arguments": write(&format!("{number}.md")) }] });
        calls.spawn(async move { run.api().post(&run.path("/calls"), &body).await });
    }
    let mut told = 0;
    while let Some(answer) = calls.join_next().await {
        let answer = answer??;
        if answer.status == 503 {
            assert_eq!(answer.refusal(), (503, "unavailable".to_owned()));
            continue;
        }
        let result = api::results(&answer.expect(200)?)?
            .pop()
            .context("a result")?;
        assert_eq!(
            result.metadata["error"],
            "others were changing the same thing for too long, and nothing was changed; call again"
        );
        told += 1;
    }
    // Three waves of those that have a connection, two seconds each; a hang has no end.
    ensure!(began.elapsed() < Duration::from_secs(40) && told >= 24);
    held.rollback().await?;
    let next = run.call("note_write", write("after.md")).await?;
    assert_eq!(next.json()["created"], true, "{next:?}");
    Ok(())
}

/// A product over a cluster of its own, which the test may crash.
struct World {
    cluster: Cluster,
    control_plane: ControlPlane,
    backend: Api,
    agent: &'static str,
    _directory: tempfile::TempDir,
}

impl World {
    async fn start() -> Result<Self> {
        let shared = Shared::get().await?;
        let directory = tempfile::Builder::new()
            .prefix("world-")
            .tempdir_in(&shared.work)?;
        // The server's account passes through to its own folder.
        std::fs::set_permissions(
            directory.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o711),
        )?;
        let cluster = Cluster::start(directory.path())?;
        let url = cluster.url(cluster.make_template().await?);
        let config = directory.path().join("verbs.toml");
        std::fs::write(&config, shared.control_plane_config("127.0.0.1:8440", &url))?;
        let program = shared.program("guilds-control-plane");
        let verb = |words: &str| {
            let mut command = spawn::command(&program);
            command.args(words.split(' ')).arg("--config").arg(&config);
            spawn::run(&mut command).map(|told| told.trim().to_owned())
        };
        verb("migrate")?;
        let backend = verb("token create --role backend")?;
        let operator = verb(&format!(
            "token create --role operator --organisation {ORGANISATION}"
        ))?;
        let control_plane = ControlPlane::start_over(shared, directory.path(), &url, "").await?;
        let document = json!({
            "organisation": ORGANISATION,
            "guilds": [{ "id": "core" }],
            "machines": [{ "id": "local", "address": "https://127.0.0.1:9" }],
            "agents": [{ "id": "eve", "guild": "core", "machine": "local", "slot": 50 }],
        });
        Api::new(control_plane.address(), Some(&operator))
            .post("/v1/operator/apply", &document)
            .await?
            .expect(200)?;
        Ok(Self {
            backend: Api::new(control_plane.address(), Some(&backend)),
            cluster,
            control_plane,
            agent: "eve",
            _directory: directory,
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Err(error) = self.control_plane.stop().and_then(|()| self.cluster.stop()) {
            eprintln!("{error:#}");
        }
    }
}

/// Writes new notes, one call after another, each asked for until it is answered. Answers
/// how many were written and how many answers were 503.
async fn write_on(
    backend: Api,
    run: String,
    writer: usize,
    stop: tokio::sync::watch::Receiver<bool>,
) -> Result<(usize, usize)> {
    let path = format!("/v1/runs/{run}/calls");
    let (mut written, mut unavailable) = (0, 0);
    while !*stop.borrow() {
        let body = json!({ "calls": [{ "id": format!("w{writer}-{written}"), "name": "note_write",
            "arguments": write(&format!("w{writer}-{written}.md")) }] });
        loop {
            let answer = backend.post(&path, &body).await?;
            if answer.status == 503 {
                assert_eq!(answer.refusal(), (503, "unavailable".to_owned()));
                unavailable += 1;
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            let result = api::results(&answer.expect(200)?)?
                .pop()
                .context("a result")?;
            ensure!(
                result.json()["created"] == true,
                "written twice: {result:?}"
            );
            break;
        }
        written += 1;
    }
    Ok((written, unavailable))
}

#[tokio::test]
async fn a_database_that_crashes_under_calls_loses_none_and_the_daemon_comes_back() -> Result<()> {
    let world = World::start().await?;
    let start = json!({ "agent": world.agent, "kind": "direct", "max_tool_calls": 1000 });
    let run = world.backend.start(&start).await?;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let backend = world.backend.clone();
        writers.spawn(write_on(backend, run.id.clone(), writer, stopped.clone()));
    }
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        world.cluster.crash()?;
        let away = world.backend.get(&run.path("")).await?;
        assert_eq!(away.refusal(), (503, "unavailable".to_owned()));
        assert_eq!(world.backend.get("/healthz/live").await?.status, 200);
        assert_eq!(world.backend.get("/healthz/ready").await?.status, 503);
        world.cluster.start_again()?;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    stop.send_replace(true);
    let (mut written, mut unavailable) = (0, 0);
    while let Some(done) = writers.join_next().await {
        let (notes, refused) = done??;
        written += notes;
        unavailable += refused;
    }
    ensure!(
        written >= 12 && unavailable >= 3,
        "{written}, {unavailable}"
    );
    let mut db = world.cluster.connect("guilds_template").await?;
    let (notes, calls, stored, remaining): (i64, i64, i64, i32) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM artifacts WHERE kind = 'note' AND key LIKE 'w%'),
                (SELECT count(*) FROM calls), (SELECT count(*) FROM calls WHERE state = 'stored'),
                (SELECT remaining FROM runs)",
    )
    .fetch_one(&mut db)
    .await?;
    let count = i64::try_from(written)?;
    assert_eq!((notes, calls, stored), (count, count, count));
    assert_eq!(i64::from(remaining), 1000 - count);
    Ok(())
}
