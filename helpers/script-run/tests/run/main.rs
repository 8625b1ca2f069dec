//! The launcher as a program: what a script sees, and what comes back.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod spawn;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

fn home_with(source: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("scripts")).unwrap();
    fs::write(home.path().join("scripts/daily.py"), source).unwrap();
    home
}

fn run(home: &Path, request: &Value) -> Value {
    let words = ["--name", "daily", "--home", home.to_str().unwrap()];
    let output = spawn::launch(home, &words, &request.to_string());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn arguments_come_on_stdin_and_then_its_end() {
    let home = home_with("import sys\nprint(sys.stdin.read())\nprint(len(sys.stdin.read()))");
    let reply = run(home.path(), &json!({"arguments": {"b": 1, "a": "é"}}));
    assert_eq!(reply["output"], "{\"b\":1,\"a\":\"é\"}\n0\n");
    assert_eq!(reply["exit_code"], 0);
    assert_eq!(reply.get("error"), None);
}

#[test]
fn arguments_larger_than_a_pipe_arrive_whole() {
    let home = home_with("import sys, json\nprint(len(json.load(sys.stdin)['a']))");
    let reply = run(
        home.path(),
        &json!({"arguments": {"a": "x".repeat(3_000_000)}}),
    );
    assert_eq!(reply["output"], "3000000\n");
}

#[test]
fn a_script_that_reads_nothing_of_large_arguments_ends_all_the_same() {
    let home = home_with("print('done')");
    let reply = run(
        home.path(),
        &json!({"arguments": {"a": "x".repeat(3_000_000)}}),
    );
    assert_eq!(reply["output"], "done\n");
}

#[test]
fn the_world_of_a_script_is_built_from_nothing() {
    let home = home_with(concat!(
        "import os, sys, json\n",
        "print(json.dumps([dict(os.environ), os.getcwd(), sys.argv, __file__, sys.path[0], __name__,",
        " sorted(k for k in globals() if not k.startswith('__')),",
        " [l for d in os.listdir('/proc/self/fd') if os.path.islink(p := '/proc/self/fd/' + d)",
        " and (l := os.readlink(p)).startswith('/memfd')]]))",
    ));
    let at = home.path().to_str().unwrap();
    let reply = run(
        home.path(),
        &json!({"arguments": {}, "env": {"STRIPE_KEY": "k"}}),
    );
    let world: Value = serde_json::from_str(reply["output"].as_str().unwrap()).unwrap();
    assert_eq!(
        world[0],
        json!({
            "HOME": at,
            "LANG": "C.UTF-8",
            "PATH": format!("{at}/.local/bin:/usr/local/bin:/usr/bin:/bin"),
            "PYTHONUNBUFFERED": "1",
            "STRIPE_KEY": "k",
            "USER": "ada",
        })
    );
    let file = format!("{at}/scripts/daily.py");
    assert_eq!(world[1], at);
    assert_eq!(world[2], json!([file]));
    assert_eq!(world[3], json!(file));
    assert_eq!(world[4], json!(format!("{at}/scripts")));
    assert_eq!(world[5], "__main__");
    assert_eq!(world[6], json!(["json", "os", "sys"]));
    // The source's descriptor is closed before the script begins.
    assert_eq!(world[7], json!([]));
}

#[test]
fn a_traceback_names_the_file_and_nothing_of_the_launcher() {
    let home = home_with("def f():\n    raise ValueError('no')\nf()\n");
    let at = home.path().to_str().unwrap();
    let reply = run(home.path(), &json!({"arguments": {}}));
    let expected = [
        "[stderr]\n".to_owned(),
        "Traceback (most recent call last):\n".to_owned(),
        format!("  File \"{at}/scripts/daily.py\", line 3, in <module>\n    f()\n"),
        format!("  File \"{at}/scripts/daily.py\", line 2, in f\n    raise ValueError('no')\n"),
        "ValueError: no\n[exit 1]".to_owned(),
    ];
    assert_eq!(reply["output"], expected.concat());
    assert_eq!(reply["exit_code"], 1);
}

#[test]
fn a_syntax_error_names_the_file() {
    let home = home_with("x = (\n");
    let at = home.path().to_str().unwrap();
    let output = run(home.path(), &json!({"arguments": {}}))["output"].clone();
    let output = output.as_str().unwrap();
    let start = format!("[stderr]\n  File \"{at}/scripts/daily.py\", line 1\n");
    assert!(output.starts_with(&start), "{output}");
    assert!(output.ends_with("[exit 1]"), "{output}");
}

#[test]
fn other_bytes_than_those_asked_for_do_not_run() {
    let home = home_with("open('ran', 'w')");
    let sha256 = "0".repeat(64);
    let reply = run(home.path(), &json!({"arguments": {}, "sha256": sha256}));
    assert_eq!(
        reply["error"],
        "~/scripts/daily.py is not the script this run started with: its bytes were changed"
    );
    assert!(!home.path().join("ran").exists());
}

#[test]
fn bytes_that_come_with_the_request_run_whatever_the_file_holds() {
    let home = home_with("print('file')");
    let source = "print('sent', __file__[-16:])";
    let run_with = |sha256: &str| {
        let request = json!({"arguments": {}, "source": source, "sha256": sha256});
        run(home.path(), &request)
    };
    // By `sha256sum`.
    let sha256 = "73c5fdfce812eb9f2d6a13e727619b363dc16a56d72b9bace9271b8802dff260";
    assert_eq!(run_with(sha256)["output"], "sent scripts/daily.py\n");
    assert_eq!(
        run_with(&"0".repeat(64))["error"],
        "~/scripts/daily.py is not the script this run started with: its bytes were changed"
    );
}

#[test]
fn at_the_limit_a_setsid_child_that_holds_stdout_ends_too() {
    let home = home_with(concat!(
        "import os, time\n",
        "print('before', end='')\n",
        "if os.fork() == 0:\n",
        "    os.setsid()\n",
        "    if os.fork() == 0:\n",
        "        open('pid', 'w').write(str(os.getpid()))\n",
        "        time.sleep(60)\n",
        "    os._exit(0)\n",
        "time.sleep(60)\n",
    ));
    let started = Instant::now();
    let reply = run(home.path(), &json!({"arguments": {}, "limit_ms": 1500}));
    let took = started.elapsed();
    assert_eq!(reply["error"], "script daily reached its limit of 1.5 s");
    assert_eq!(reply["output"], "before");
    assert_eq!(reply.get("exit_code"), None);
    assert!(took >= Duration::from_millis(1500), "{took:?}");
    assert!(took < Duration::from_millis(3400), "{took:?}");
    assert_gone(home.path());
}

#[test]
fn an_answer_does_not_wait_for_what_holds_stdout() {
    let home = home_with(concat!(
        "import os, time\n",
        "print('parent')\n",
        "r, w = os.pipe()\n",
        "if os.fork() == 0:\n",
        "    os.setsid()\n",
        "    open('pid', 'w').write(str(os.getpid()))\n",
        "    os.write(w, b'x')\n",
        "    time.sleep(60)\n",
        "os.read(r, 1)\n",
    ));
    let started = Instant::now();
    let reply = run(home.path(), &json!({"arguments": {}}));
    let took = started.elapsed();
    assert_eq!(reply["output"], "parent\n");
    assert_eq!(reply["exit_code"], 0);
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_gone(home.path());
}

#[test]
fn output_without_end_costs_bounded_memory_and_is_counted() {
    let home = home_with("import sys\nfor _ in range(64): sys.stdout.write('x' * 1048576)");
    let reply = run(
        home.path(),
        &json!({"arguments": {}, "max_output_bytes": 1000}),
    );
    assert_eq!(reply["output"], "x".repeat(1000));
    assert_eq!(reply["original_bytes"], 67_108_864);
}

#[test]
fn killing_its_own_group_does_not_reach_the_launcher() {
    let home = home_with("import os\nos.kill(0, 15)");
    let reply = run(home.path(), &json!({"arguments": {}}));
    assert_eq!(reply["output"], "[killed by SIGTERM]\n[exit 143]");
    assert_eq!(reply["exit_code"], 143);
}

#[test]
fn a_bad_command_line_is_told_whole_on_stderr() {
    let home = home_with("");
    let output = spawn::launch(home.path(), &["--name", "A"], "{}");
    assert_eq!(output.status.code(), Some(64));
    assert_eq!(output.stdout, b"");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("`A` is not a script's name"), "{told}");
    assert!(told.contains("--home is missing"), "{told}");
}

/// Nothing of the process whose id the script wrote is left alive.
fn assert_gone(home: &Path) {
    let pid = fs::read_to_string(home.join("pid")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    assert!(
        stat.is_err() || stat.unwrap().contains(") Z "),
        "{pid} lives"
    );
}
