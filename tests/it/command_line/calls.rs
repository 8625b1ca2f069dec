//! `guilds call` when it is interrupted or the control plane goes away, and servers that are none.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tests::{Stack, processes, spawn};

use super::{Guilds, Said};

/// What a request is answered with.
enum Reply {
    Text(u16, String),
    /// The connection ends without an answer.
    Nothing,
    /// None comes, until the test is over.
    Silence,
}

fn ok(body: &Value) -> Reply {
    Reply::Text(200, body.to_string())
}

/// A server of the test's own, and every request that reached it.
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    /// Answers each request by its path and how many came before it to that path.
    fn start(answer: impl Fn(&str, usize) -> Reply + Send + 'static) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let seen: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let kept = Arc::clone(&seen);
        // It ends with the test binary's process; what is silent is held till then.
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming().take(50).flatten() {
                let Ok((path, body)) = request(&stream) else {
                    continue;
                };
                let before = {
                    let mut seen = kept.lock().expect("no panics");
                    let before = seen.iter().filter(|(other, _)| *other == path).count();
                    seen.push((path.clone(), body));
                    before
                };
                match answer(&path, before) {
                    Reply::Text(status, body) => {
                        let length = body.len();
                        let head = format!(
                            "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                        );
                        let _ = (&stream).write_all(format!("{head}{body}").as_bytes());
                    }
                    Reply::Nothing => {}
                    Reply::Silence => silent.push(stream),
                }
            }
        });
        Ok(Self { url, seen })
    }

    fn seen(&self) -> Vec<(String, Value)> {
        self.seen.lock().expect("no panics").clone()
    }

    fn paths(&self) -> Vec<String> {
        self.seen().into_iter().map(|(path, _)| path).collect()
    }
}

/// The path and the body of a request.
fn request(stream: &TcpStream) -> Result<(String, Value)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).context("a path")?.to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let lower = line.trim().to_ascii_lowercase();
        if lower.is_empty() {
            break;
        }
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((path, serde_json::from_slice(&body).unwrap_or_default()))
}

/// The id of the run that the first request asked for.
fn id_of(server: &Server) -> Result<String> {
    let seen = server.seen();
    let (path, start) = seen.first().context("a start")?;
    assert_eq!(path, "/v1/runs");
    Ok(start["id"].as_str().context("an id")?.to_owned())
}

const CALL: [&str; 4] = ["call", "--agent", "ada", "note_find"];

fn run() -> Reply {
    ok(&json!({"run": "the-run", "tools": []}))
}

fn result() -> Reply {
    ok(&json!({"results": [{"id": "call_1", "content": "found\nremaining_tool_calls: 59"}]}))
}

/// Starts a call, sends it a signal once the server has `count` requests, and says how it ended.
async fn signalled(guilds: &Guilds, server: &Server, count: usize, signal: Signal) -> Result<Said> {
    let child = guilds
        .command(&CALL)
        .env("GUILDS_URL", &server.url)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    processes::until(Duration::from_secs(20), || Ok(server.seen().len() >= count)).await?;
    kill(Pid::from_raw(i32::try_from(child.id())?), signal)?;
    Said::of(child.wait_with_output()?)
}

#[tokio::test]
async fn whatever_signal_ends_a_call_ends_its_run() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let server = Server::start(|path, _| match path {
            "/v1/runs" => run(),
            path if path.ends_with("/calls") => Reply::Silence,
            _ => ok(&json!({"state": "ended"})),
        })?;
        let said = signalled(&guilds, &server, 2, signal).await?;
        assert_eq!(said.code, Some(1), "{signal}: {said:?}");
        assert_eq!(said.stderr, "guilds: interrupted; the run is ended\n");
        let id = id_of(&server)?;
        let end = format!("/v1/runs/{id}/end");
        assert_eq!(server.paths(), ["/v1/runs", "/v1/runs/the-run/calls", &end]);
    }
    Ok(())
}

#[tokio::test]
async fn a_run_that_could_not_be_ended_is_named() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let server = Server::start(|path, _| match path {
        "/v1/runs" => run(),
        path if path.ends_with("/calls") => result(),
        _ => Reply::Text(500, json!({"error": {"message": "no disk"}}).to_string()),
    })?;
    let mut command = guilds.command(&CALL);
    command.env("GUILDS_URL", &server.url);
    let said = Said::of(spawn::output(&mut command)?)?;
    let id = id_of(&server)?;
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.stdout, "found\nremaining_tool_calls: 59\n");
    assert_eq!(
        said.stderr,
        format!("guilds: the run {id} may be open (no disk); `guilds run end {id}` ends it\n")
    );
    Ok(())
}

#[tokio::test]
async fn what_was_cut_off_is_asked_again_by_the_same_ids() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let server = Server::start(|path, before| match path {
        _ if !path.ends_with("/end") && before == 0 => Reply::Nothing,
        "/v1/runs" => run(),
        path if path.ends_with("/calls") => result(),
        _ => ok(&json!({"state": "ended"})),
    })?;
    let mut command = guilds.command(&CALL);
    command.env("GUILDS_URL", &server.url);
    let said = Said::of(spawn::output(&mut command)?)?;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.stdout, "found\nremaining_tool_calls: 59\n");
    assert_eq!(
        said.stderr.matches("asking again for 30 s\n").count(),
        2,
        "{said:?}"
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[2], seen[3]);
    assert_eq!(seen[2].1["calls"][0]["id"], "call_1");
    Ok(())
}

#[tokio::test]
async fn what_is_no_control_plane_is_named_so() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let ask = |words: &[&str], status: u16, body: &str| -> Result<Said> {
        let body = body.to_owned();
        let server = Server::start(move |_, _| Reply::Text(status, body.clone()))?;
        let mut command = guilds.command(words);
        command.env("GUILDS_URL", &server.url);
        Said::of(spawn::output(&mut command)?)
    };
    let other = "guilds: GUILDS_URL names something else than a control plane: ";
    for (words, status, body, code, told) in [
        (
            &["export"][..],
            200,
            "{\"foo\":1}",
            1,
            format!("{other}its answer is no organisation's document\n"),
        ),
        (
            &["agent", "list"],
            200,
            "{\"foo\":1}",
            1,
            format!("{other}its answer has no list `agents`\n"),
        ),
        (
            &["guild", "show", "core"],
            404,
            "<html>",
            1,
            format!("{other}it answered status 404 without an error object\n"),
        ),
        (
            &["guild", "show", "core"],
            502,
            "<html>",
            5,
            "guilds: the control plane can't be reached: a proxy before it answered status 502\n"
                .to_owned(),
        ),
    ] {
        let said = ask(words, status, body)?;
        assert_eq!(
            (said.code, said.stdout.as_str(), said.stderr.as_str()),
            (Some(code), "", told.as_str())
        );
    }
    for (status, body, told) in [
        (
            200,
            "{\"status\":\"up\"}",
            "GUILDS_URL names something else than a control plane: it answers /healthz/ready with something else than its state; mend: export GUILDS_URL=https://HOST:8440, the control plane's own address",
        ),
        (
            502,
            "<html>",
            "the control plane can't be reached: a proxy before it answered status 502; mend: systemctl start guilds-control-plane, behind the proxy",
        ),
        (
            503,
            "{\"error\":{\"code\":\"unavailable\",\"message\":\"the database is away\"}}",
            "the database is away; mend: guilds-control-plane check-config",
        ),
    ] {
        let said = ask(&["doctor"], status, body)?;
        let last = said.stdout.lines().last().context("a check")?;
        assert_eq!(last, format!("failed  control plane          {told}"));
    }
    Ok(())
}

#[tokio::test]
async fn a_write_without_an_answer_says_that_it_may_have_been_done() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let server = Server::start(|_, _| Reply::Nothing)?;
    let apply = |more: &[&str]| -> Result<Said> {
        let mut command = guilds.command(&[&["apply", "-f", "-"], more].concat());
        command.env("GUILDS_URL", &server.url);
        Said::of(spawn::output_with_input(
            &mut command,
            b"organisation = \"acme\"\n",
        )?)
    };
    let said = apply(&[])?;
    assert_eq!(said.code, Some(5), "{said:?}");
    assert!(
        said.stderr
            .ends_with("; it may have been done; `guilds diff` tells\n"),
        "{said:?}"
    );
    let said = apply(&["--dry-run"])?;
    assert_eq!(said.code, Some(5), "{said:?}");
    assert!(!said.stderr.contains("may have been done"), "{said:?}");
    Ok(())
}
