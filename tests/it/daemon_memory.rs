//! The memory of the daemons: no core file, and no look into it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use tests::{Stack, slots, spawn};

fn core_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("core") && !path.is_dir() {
            found.push(path);
        }
    }
    Ok(found)
}

fn may_write_no_core(pid: u32) -> Result<()> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits"))?;
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .context("a limit")?;
    let words: Vec<&str> = core.split_whitespace().collect();
    ensure!(words[4..6] == ["0", "0"], "{core}");
    Ok(())
}

/// The settings of a daemon with a port of its own, in another folder, and the port.
fn elsewhere(config: &Path, folder: &Path) -> Result<(PathBuf, u16)> {
    let text = fs::read_to_string(config)?;
    let listen = text
        .lines()
        .find(|line| line.starts_with("listen"))
        .context("listen")?;
    let own = folder.join(config.file_name().context("a name")?);
    let port = slots::port()?;
    let listens = format!("listen = \"127.0.0.1:{port}\"");
    fs::write(&own, text.replace(listen, &listens))?;
    Ok((own, port))
}

/// Runs words of bash in a folder, where core files may be of any size.
fn bash(folder: &Path, words: &str) -> Result<String> {
    let place = format!("ulimit -c unlimited; cd {}; {words}", folder.display());
    let output = spawn::output(spawn::command("bash").args(["-c", &place]))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Words that start a daemon as `$child` and wait until it listens.
fn start(program: &Path, (config, port): &(PathBuf, u16)) -> String {
    format!(
        "{} serve --config {} >log 2>&1 & child=$!; \
         for n in $(seq 400); do (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && break; sleep 0.05; done",
        program.display(),
        config.display()
    )
}

#[tokio::test]
async fn a_killed_daemon_leaves_no_core_file() -> Result<()> {
    let stack = Stack::whole().await?;
    may_write_no_core(stack.control_plane.pid())?;
    may_write_no_core(stack.machine()?.pid())?;
    let folder = stack.directory.path().join("cores");
    fs::create_dir(&folder)?;
    // What the kernel does with any other process here.
    bash(
        &folder,
        "sleep 20 & child=$!; kill -ABRT $child; wait $child",
    )?;
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern")?;
    let others = core_files(&folder)?;
    let here = !pattern.starts_with('|') && !pattern.contains('/');
    ensure!(!here || others.len() == 1, "{others:?} with {pattern}");
    for path in others {
        fs::remove_file(path)?;
    }
    for (program, config) in [
        ("guilds-control-plane", stack.control_plane.config()),
        ("guilds-machine-agent", stack.machine()?.config()),
    ] {
        let own = elsewhere(config, &folder)?;
        let started = start(&stack.shared.program(program), &own);
        for signal in [Signal::SIGABRT, Signal::SIGSEGV] {
            let name = signal.as_str().trim_start_matches("SIG");
            // A handler that looks for an overflown stack takes the first SIGSEGV: without a
            // fault of its own the process goes on until the next one.
            let words = format!(
                "{started}; for n in $(seq 100); do kill -{name} $child 2>/dev/null || break; sleep 0.05; done; \
                 wait $child; echo ended $?"
            );
            let told = bash(&folder, &words)?;
            // 128 and the signal's number: it is the signal that ended it.
            let ended = format!("ended {}", 128 + signal as i32);
            let log = fs::read_to_string(folder.join("log"))?;
            ensure!(told.contains(&ended), "{program}: {told} {log}");
            let cores = core_files(&folder)?;
            ensure!(cores.is_empty(), "{cores:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn no_other_process_looks_into_the_control_plane() -> Result<()> {
    let stack = Stack::storage().await?;
    let folder = stack.directory.path().join("look");
    fs::create_dir(&folder)?;
    let own = elsewhere(stack.control_plane.config(), &folder)?;
    let started = start(&stack.shared.program("guilds-control-plane"), &own);
    // Of one user and without a privilege, as two services of one account are: the kernel
    // lets one look into the other, unless it is not dumpable.
    let looks =
        "{ cat /proc/$child/environ >/dev/null && echo open || echo closed; } 2>&1 | tail -n 1";
    let words = format!(
        "sleep 60 & child=$!; {looks}; kill $child; {started}; {looks}; kill $child; wait $child"
    );
    let unprivileged =
        format!("exec setpriv --bounding-set=-all --inh-caps=-all bash -c '{words}'");
    let told = bash(&folder, &unprivileged)?;
    ensure!(told == "open\nclosed\n", "{told}");
    Ok(())
}
