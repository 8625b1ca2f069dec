//! `guilds dev`: the whole product from one command, and its clean end.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tests::spawn::Daemon;
use tests::{Api, Shared, processes, slots, spawn};

/// Every stack has the demonstration's slots, and so the same DevTools ports.
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
/// First start: cluster, authority, accounts.
const START_LIMIT: Duration = Duration::from_secs(60);

fn start(shared: &Shared, state: &Path, port: u16) -> Result<Daemon> {
    start_with(shared, state, port, &[])
}

fn start_with(shared: &Shared, state: &Path, port: u16, more: &[&str]) -> Result<Daemon> {
    Daemon::start(
        "guilds dev",
        spawn::command(shared.program("guilds"))
            .args(["dev", "--port", &port.to_string(), "--state"])
            .arg(state)
            .args(more),
        &state.with_extension("log"),
    )
}

fn settings(state: &Path) -> Result<BTreeMap<String, String>> {
    Ok(std::fs::read_to_string(state.join("dev.env"))?
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.trim_matches(['\'', '"']).to_owned()))
        .collect())
}

async fn until_ready(daemon: &mut Daemon, state: &Path) -> Result<BTreeMap<String, String>> {
    let deadline = std::time::Instant::now() + START_LIMIT;
    loop {
        if let Ok(settings) = settings(state)
            && let Some(url) = settings.get("GUILDS_URL")
            && Api::new(url.trim_start_matches("http://"), None)
                .get("/healthz/ready")
                .await
                .is_ok_and(|answer| answer.status == 200)
        {
            return Ok(settings);
        }
        anyhow::ensure!(daemon.ended()?.is_none(), "it ended:\n{}", daemon.log());
        anyhow::ensure!(
            std::time::Instant::now() < deadline,
            "it is not ready:\n{}",
            daemon.log()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn call(
    settings: &BTreeMap<String, String>,
    name: &str,
    arguments: Value,
) -> Result<tests::CallResult> {
    let address = settings["GUILDS_URL"].trim_start_matches("http://");
    let api = Api::new(address, Some(&settings["GUILDS_BACKEND_TOKEN"]));
    let run = api
        .start(&json!({ "agent": "ada", "kind": "direct" }))
        .await?;
    run.call(name, arguments).await
}

/// One test, because one machine has one stack.
#[tokio::test]
async fn the_development_stack_starts_serves_restarts_and_stops_whole() -> Result<()> {
    let _alone = ONE_AT_A_TIME.lock().await;
    let shared = Shared::get().await?;
    let directory = tempfile::tempdir_in(&shared.work)?;
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755))?;
    let state = directory.path().join("dev");
    let port = slots::port()?;
    let mut dev = start(shared, &state, port)?;
    let env = until_ready(&mut dev, &state).await?;
    let names: Vec<_> = env.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "DATABASE_URL",
            "GUILDS_BACKEND_TOKEN",
            "GUILDS_DEMO_SITE",
            "GUILDS_OPERATOR_TOKEN",
            "GUILDS_URL"
        ]
    );
    assert_eq!(env["GUILDS_URL"], format!("http://127.0.0.1:{port}"));
    let mode =
        |path: &Path| -> Result<u32> { Ok(std::fs::metadata(path)?.permissions().mode() & 0o7777) };
    assert_eq!(mode(&state.join("dev.env"))?, 0o600);
    assert_eq!(mode(&state)?, 0o711);

    changes_its_organisation(&env, &state).await?;
    let site = &env["GUILDS_DEMO_SITE"];
    let opened = call(&env, "browser_navigate", json!({ "url": site })).await?;
    assert_eq!(opened.metadata["error"], Value::Null, "{opened:?}");
    let shell = call(
        &env,
        "shell",
        json!({ "command": "id -un; echo kept > kept" }),
    )
    .await?;
    assert!(shell.text().contains("\nada"), "{shell:?}");
    call(
        &env,
        "note_write",
        json!({ "level": "agent", "key": "kept.md", "content": "kept" }),
    )
    .await?;

    let second = spawn::output(
        spawn::command(shared.program("guilds"))
            .args(["dev", "--port", "23456", "--state"])
            .arg(directory.path().join("other")),
    )?;
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success(), "a second stack on one machine");
    assert!(told.contains(&dev.pid().to_string()), "{told}");
    assert!(told.contains(&state.display().to_string()), "{told}");

    restarts_a_daemon_that_dies(&mut dev, &state).await?;

    let uid = nix::unistd::User::from_name("ada")?
        .context("ada")?
        .uid
        .as_raw();
    assert!(!processes::of_uid(uid)?.is_empty());
    dev.stop()?;
    assert_eq!(
        processes::of_uid(uid)?,
        [],
        "runners and Chromes end with it"
    );
    let left: Vec<_> = processes::with_command(&state.display().to_string())?;
    assert_eq!(left, []);

    std::fs::remove_file(state.join("dev.env"))?;
    let port = slots::port()?;
    let mut again = start_with(shared, &state, port, &["--demo"])?;
    let env = until_ready(&mut again, &state).await?;
    shows_the_demonstration(&mut again).await?;
    keeps_its_organisation(&env, &state, port + 3).await?;
    let note = call(&env, "note_get", json!({ "path": "agent/ada/kept.md" })).await?;
    assert_eq!(note.json()["content"], "kept");
    let file = call(&env, "shell", json!({ "command": "cat kept" })).await?;
    assert!(file.text().trim_end().ends_with("kept"), "{file:?}");
    again.stop()?;
    Ok(())
}

fn operator(env: &BTreeMap<String, String>) -> Api {
    let address = env["GUILDS_URL"].trim_start_matches("http://");
    Api::new(address, Some(&env["GUILDS_OPERATOR_TOKEN"]))
}

/// What an operator may do with the demonstration: the agents elsewhere, another in
/// a slot that was taken, the file edited.
async fn changes_its_organisation(env: &BTreeMap<String, String>, state: &Path) -> Result<()> {
    let document = json!({"agents": [
        {"id": "ada", "slot": 4},
        {"id": "bob", "slot": 3, "config": {"coding": true}},
        {"id": "zed", "guild": "workshop", "machine": "local", "slot": 2},
    ]});
    operator(env)
        .post("/v1/operator/apply", &document)
        .await?
        .expect(200)?;
    std::fs::write(state.join("demo.toml"), "# mine\n")?;
    Ok(())
}

/// A second start leaves all of that as it is; the machine's address follows the port.
async fn keeps_its_organisation(
    env: &BTreeMap<String, String>,
    state: &Path,
    machine_port: u16,
) -> Result<()> {
    let stored = operator(env)
        .get("/v1/operator/export")
        .await?
        .expect(200)?;
    let agents: Vec<_> = stored["agents"]
        .as_array()
        .context("agents")?
        .iter()
        .map(|agent| (agent["id"].clone(), agent["slot"].clone()))
        .collect();
    assert_eq!(
        agents,
        [
            (json!("ada"), json!(4)),
            (json!("bob"), json!(3)),
            (json!("zed"), json!(2))
        ]
    );
    assert_eq!(stored["agents"][1]["config"]["coding"], true);
    assert_eq!(
        stored["machines"][0]["address"],
        format!("https://127.0.0.1:{machine_port}")
    );
    assert_eq!(
        std::fs::read_to_string(state.join("demo.toml"))?,
        "# mine\n"
    );
    Ok(())
}

async fn restarts_a_daemon_that_dies(dev: &mut Daemon, state: &Path) -> Result<()> {
    let control_plane = || -> Result<Option<u32>> {
        let parent = dev.pid().to_string();
        for process in processes::all()? {
            if process.command.contains("serve")
                && process.command.contains("control-plane")
                && processes::status(process.pid)
                    .is_ok_and(|status| status.get("PPid") == Some(&parent))
            {
                return Ok(Some(process.pid));
            }
        }
        Ok(None)
    };
    let before = control_plane()?.context("a control plane that dev started")?;
    kill(Pid::from_raw(i32::try_from(before)?), Signal::SIGKILL)?;
    processes::until(Duration::from_secs(20), || {
        Ok(control_plane()?.is_some_and(|pid| pid != before))
    })
    .await?;
    let env = until_ready(dev, state).await?;
    let found = call(&env, "note_find", json!({})).await?;
    assert_eq!(found.metadata["error"], Value::Null, "{found:?}");
    Ok(())
}

/// Every tool that is built is called once at least, with its stamped result, on the demonstration's site.
async fn shows_the_demonstration(dev: &mut Daemon) -> Result<()> {
    let tools = [
        "note_write",
        "note_find",
        "note_get",
        "note_delete",
        "script_create",
        "script_list",
        "script_read",
        "script_run",
        "script_delete",
        "browser_navigate",
        "browser_snapshot",
        "browser_click",
        "browser_screenshot",
        "shell",
        "report_issue",
    ];
    processes::until(Duration::from_secs(60), || {
        let log = dev.log();
        let called = tools
            .iter()
            .all(|tool| log.contains(&format!("> {tool} {{")));
        Ok(called && log.contains("\"state\":\"ended\""))
    })
    .await
    .with_context(|| dev.log())?;
    let log = dev.log();
    assert!(!log.contains("ERROR: "), "{log}");
    assert!(log.contains("- heading \""), "a tree of a real page: {log}");
    assert!(
        log.matches("remaining_tool_calls: ").count() >= tools.len(),
        "{log}"
    );
    assert!(
        log.contains("curl") && log.contains("guilds call"),
        "how to go on: {log}"
    );
    Ok(())
}

#[tokio::test]
async fn a_taken_port_is_named_before_anything_starts() -> Result<()> {
    let _alone = ONE_AT_A_TIME.lock().await;
    let shared = Shared::get().await?;
    let directory = tempfile::tempdir_in(&shared.work)?;
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755))?;
    let state = directory.path().join("dev");
    // The machine agent's port is the API's plus 3.
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    let machine = taken.local_addr()?.port();
    let mut dev = start(shared, &state, machine - 3)?;
    let deadline = std::time::Instant::now() + START_LIMIT;
    while dev.ended()?.is_none() {
        anyhow::ensure!(std::time::Instant::now() < deadline, "{}", dev.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let log = dev.log();
    assert!(
        log.contains(&format!(
            "port {machine} of the machine agent can't be had: Address already in use"
        )),
        "{log}"
    );
    assert!(!state.join("postgres").exists(), "{log}");
    Ok(())
}

/// Someone without root gets the product too, and is told what it doesn't promise.
#[tokio::test]
async fn without_root_every_agent_runs_as_the_caller() -> Result<()> {
    let _alone = ONE_AT_A_TIME.lock().await;
    let shared = Shared::get().await?;
    spawn::run(spawn::command("/usr/sbin/useradd").args([
        "--create-home",
        "--home-dir",
        "/home/someone",
        "someone",
    ]))?;
    let state = Path::new("/home/someone/dev");
    let port = slots::port()?;
    let log = shared.work.join("someone.log");
    let mut dev = Daemon::start(
        "guilds dev as someone",
        spawn::command("/usr/bin/setpriv")
            .args([
                "--reuid=someone",
                "--regid=someone",
                "--init-groups",
                "/usr/bin/env",
                "-i",
            ])
            .args([
                "HOME=/home/someone",
                "USER=someone",
                "LOGNAME=someone",
                "PATH=/usr/bin:/bin",
            ])
            .arg(shared.program("guilds"))
            .args(["dev", "--port", &port.to_string(), "--state"])
            .arg(state)
            .current_dir("/"),
        &log,
    )?;
    let env = until_ready(&mut dev, state).await?;
    assert!(dev.log().contains("not root"), "{}", dev.log());
    let shell = call(&env, "shell", json!({ "command": "id -un; pwd" })).await?;
    assert!(
        shell
            .text()
            .contains("\nsomeone\n/home/someone/dev/home/ada"),
        "{shell:?}"
    );
    let opened = call(
        &env,
        "browser_navigate",
        json!({ "url": env["GUILDS_DEMO_SITE"] }),
    )
    .await?;
    assert_eq!(opened.metadata["error"], Value::Null, "{opened:?}");
    let uid = nix::unistd::User::from_name("someone")?
        .context("someone")?
        .uid
        .as_raw();
    dev.stop()?;
    assert_eq!(processes::of_uid(uid)?, []);
    Ok(())
}
