//! `guilds-code shell` as a program: what a command sees, and what comes back.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod spawn;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

fn call(home: &Path, request: &Value) -> Value {
    let words = ["shell", "--home", home.to_str().unwrap()];
    let output = spawn::launch(home, &words, &request.to_string());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// First line without its time, and the rest.
fn parts(reply: &Value) -> (String, String) {
    let text = reply["output"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"));
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let words: Vec<_> = first.split(" · ").collect();
    assert_eq!(words.len(), 3, "{first}");
    (format!("{} · {}", words[0], words[2]), rest.to_owned())
}

fn check(command: &str, first: &str, rest: &str) {
    let home = tempfile::tempdir().unwrap();
    let reply = call(home.path(), &json!({"arguments": {"command": command}}));
    assert_eq!(parts(&reply), (first.to_owned(), rest.to_owned()));
    let text = reply["output"].as_str().unwrap();
    assert_eq!(reply["original_bytes"], text.len());
}

#[test]
fn streams_are_merged_in_order_and_the_end_is_told() {
    check("echo a; echo b >&2; echo c", "[exited 0 · ~]", "a\nb\nc\n");
    check("true", "[exited 0 · ~]", "");
    check(
        "echo no newline | tr -d '\\n'; exit 3",
        "[exited 3 · ~]",
        "no newline",
    );
    check("kill -TERM $$", "[killed SIGTERM · ~]", "");
    check(
        "nosuchthing",
        "[exited 127 · ~]",
        "bash: line 1: nosuchthing: command not found\n",
    );
    check("cat", "[exited 0 · ~]", "");
    check(
        "x=5; cat <<EOT\n$x\nEOT\nf() { echo \"$1\"; }; f z",
        "[exited 0 · ~]",
        "5\nz\n",
    );
    check("set -e; false; echo not here", "[exited 1 · ~]", "");
    check("kill 0; sleep 5", "[killed SIGTERM · ~]", "");
}

/// Where there are no control groups, nobody else would end what it started.
#[test]
fn a_helper_whose_reader_is_gone_ends_all_it_started() {
    let home = tempfile::tempdir().unwrap();
    let command = "sleep 60 & setsid sleep 60 & echo $! > last; wait";
    let request = json!({"arguments": {"command": command}}).to_string();
    let words = ["shell", "--home", home.path().to_str().unwrap()];
    let mut helper = spawn::start(home.path(), &words, &request);
    let last = home.path().join("last");
    let deadline = Instant::now() + Duration::from_secs(10);
    let pid = loop {
        let text = fs::read_to_string(&last).unwrap_or_default();
        if text.ends_with('\n') {
            break text.trim().to_owned();
        }
        assert!(Instant::now() < deadline, "the command never ran");
        std::thread::sleep(Duration::from_millis(10));
    };
    drop(helper.stdout.take());
    let status = loop {
        if let Some(status) = helper.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < deadline, "the helper runs on");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(!status.success(), "nobody got its answer: {status}");
    assert!(!Path::new("/proc").join(pid).exists());
}

#[test]
fn exit_codes_are_only_those_of_commands_that_exited() {
    let home = tempfile::tempdir().unwrap();
    let run = |command: &str| call(home.path(), &json!({"arguments": {"command": command}}));
    assert_eq!(run("exit 4")["exit_code"], 4);
    assert_eq!(run("kill -9 $$").get("exit_code"), None);
}

#[test]
fn a_command_of_200_kib_runs() {
    let long = format!("# {}\necho $(( 1 + 1 ))", "x".repeat(200_000));
    check(&long, "[exited 0 · ~]", "2\n");
}

#[test]
fn stdin_is_the_text_and_then_its_end() {
    let home = tempfile::tempdir().unwrap();
    let text = "y".repeat(300_000);
    let request = json!({"arguments": {"command": "wc -c", "stdin": text}});
    assert_eq!(parts(&call(home.path(), &request)).1, "300000\n");
}

#[test]
fn the_world_of_a_command_is_built_from_nothing() {
    let home = tempfile::tempdir().unwrap();
    let request = json!({
        "arguments": {"command": "env -0 | sort -z | tr '\\0' '\\n'; ls -l /proc/$$/fd | grep -c memfd"},
        "env": {"STRIPE_KEY": "k"},
    });
    let at = home.path().to_str().unwrap();
    let expected = [
        "CI=1",
        "DEBIAN_FRONTEND=noninteractive",
        "GIT_PAGER=cat",
        "GIT_TERMINAL_PROMPT=0",
        &format!("HOME={at}"),
        "LANG=C.UTF-8",
        "NO_COLOR=1",
        "PAGER=cat",
        &format!(
            "PATH={at}/.local/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
        ),
        &format!("PWD={at}"),
        "SHELL=/bin/bash",
        "SHLVL=1",
        "STRIPE_KEY=k",
        "TERM=dumb",
        "USER=ada",
        "_=/usr/bin/env",
        "0",
    ];
    assert_eq!(
        parts(&call(home.path(), &request))
            .1
            .lines()
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn a_command_runs_where_it_is_told() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("app")).unwrap();
    let reply = call(
        home.path(),
        &json!({"arguments": {"command": "basename $PWD", "cwd": "app"}}),
    );
    assert_eq!(
        parts(&reply),
        ("[exited 0 · ~/app]".to_owned(), "app\n".to_owned())
    );
    let reply = call(
        home.path(),
        &json!({"arguments": {"command": "pwd", "cwd": "/usr"}}),
    );
    assert_eq!(
        parts(&reply),
        ("[exited 0 · /usr]".to_owned(), "/usr\n".to_owned())
    );
    let reply = call(
        home.path(),
        &json!({"arguments": {"command": "pwd", "cwd": "nope"}}),
    );
    assert_eq!(
        reply["error"],
        "cwd nope does not exist; the nearest directory is ~"
    );
}

#[test]
fn at_the_limit_what_was_printed_comes_back_and_nothing_lives_on() {
    let home = tempfile::tempdir().unwrap();
    let command = "echo before; setsid sh -c 'echo $$ > pid; exec sleep 60' & sleep 60";
    let started = Instant::now();
    let reply = call(
        home.path(),
        &json!({"arguments": {"command": command, "limit_s": 1}}),
    );
    let took = started.elapsed();
    assert_eq!(
        parts(&reply),
        ("[limit_reached · ~]".to_owned(), "before\n".to_owned())
    );
    assert_eq!(reply.get("error"), None);
    assert_eq!(reply.get("exit_code"), None);
    assert!(
        took >= Duration::from_secs(1) && took < Duration::from_secs(3),
        "{took:?}"
    );
    assert_gone(home.path());
}

#[test]
fn what_is_left_in_the_background_is_named_and_ended() {
    let home = tempfile::tempdir().unwrap();
    let command = "setsid sh -c 'echo $$ > pid; exec sleep 61' & while [ ! -s pid ]; do :; done; sleep 0.1; echo up";
    let started = Instant::now();
    let reply = call(home.path(), &json!({"arguments": {"command": command}}));
    assert!(started.elapsed() < Duration::from_secs(20));
    let pid = fs::read_to_string(home.path().join("pid")).unwrap();
    let named = format!(
        "up\n[left in the background and ended with this call: pid {} `sleep 61`]",
        pid.trim()
    );
    assert_eq!(parts(&reply), ("[exited 0 · ~]".to_owned(), named));
    assert_gone(home.path());
}

#[test]
fn endless_output_ends_at_the_limit_with_head_and_tail() {
    let home = tempfile::tempdir().unwrap();
    let reply = call(
        home.path(),
        &json!({"arguments": {"command": "yes", "limit_s": 1}}),
    );
    let (first, rest) = parts(&reply);
    assert_eq!(first, "[limit_reached · ~]");
    assert!(rest.len() < 33_000, "{}", rest.len());
    assert!(rest.contains(" lines left out here; "), "{rest}");
    let folder = home.path().join(".guilds/shell");
    let kept = fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    assert!(kept.metadata().unwrap().len() <= 67_108_864);
}

#[test]
fn a_bad_command_line_is_told_whole_on_stderr() {
    let home = tempfile::tempdir().unwrap();
    let output = spawn::launch(home.path(), &["compile"], "{}");
    assert_eq!(output.status.code(), Some(64));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("`compile` is not a verb; verbs are: shell"),
        "{told}"
    );
    assert!(told.contains("--home is missing"), "{told}");
}

/// Nothing of the process whose id the command wrote is left alive.
fn assert_gone(home: &Path) {
    let pid = fs::read_to_string(home.join("pid")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(
        stat.is_err() || stat.unwrap().contains(") Z "),
        "{pid} lives"
    );
}
