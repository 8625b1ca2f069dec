//! `shell`: one command in a fresh bash, its output merged in order, told with how it ended.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use helper_protocol::child::{self, End, Input, Process};
use helper_protocol::{Reply, Request};

use crate::arguments::{self, Arguments};
use crate::cgroup::Cgroup;
use crate::output::Output;
use crate::spawn::{self, Start};

/// Background processes named one by one; more are counted.
const NAMED: usize = 10;

/// Runs the command of `request` and tells what became of it.
pub(crate) fn answer(home: &Path, request: &Request, started: Instant) -> Reply {
    let arguments = match arguments::read(request.arguments.get()) {
        Ok(arguments) => arguments,
        Err(problems) => return Reply::refused(problems),
    };
    let cwd = match directory(home, arguments.cwd.as_deref()) {
        Ok(cwd) => cwd,
        Err(refusal) => return Reply::refused(refusal),
    };
    let shown = shown(home, &cwd);
    match run(home, &cwd, &arguments, request, started) {
        Ok(ran) => reply(&ran, &shown),
        Err(error) => {
            let text = format!(
                "{}\n{error}",
                first_line("failed_to_start", started.elapsed(), &shown)
            );
            Reply::output(text)
        }
    }
}

/// A command that has ended.
struct Ran {
    state: String,
    exit_code: Option<i32>,
    took: Duration,
    text: String,
    bytes: u64,
    left_behind: Vec<Process>,
}

fn run(
    home: &Path,
    cwd: &Path,
    arguments: &Arguments,
    request: &Request,
    started: Instant,
) -> io::Result<Ran> {
    child::adopt_orphans()?;
    let cgroup = Cgroup::of_this_process();
    let kills_before = cgroup.memory_kills();
    let bash = spawn::bash(&Start {
        home,
        cwd,
        command: &arguments.command,
        env: &request.env,
        has_stdin: arguments.stdin.is_some(),
    })?;
    let mut output = Output::new(home, request.max_output_bytes);
    let input = match (bash.stdin, &arguments.stdin) {
        (Some(pipe), Some(text)) => Some(Input::new(pipe, text.clone().into_bytes())?),
        _ => None,
    };
    let limit = Duration::from_secs(arguments.limit_s).min(Duration::from_millis(request.limit_ms));
    let mut outputs = [child::Output::new(bash.output, &mut output)?];
    let end = child::watch(bash.pid, input, &mut outputs, started + limit)?;
    let took = started.elapsed();
    let left_behind = left_behind(&cgroup);
    child::end_descendants();
    let for_memory = cgroup.memory_kills() > kills_before;
    Ok(Ran {
        state: state(end, for_memory),
        exit_code: match end {
            End::Exited(code) => Some(code),
            End::Signalled(_) | End::Limit => None,
        },
        took,
        bytes: output.total(),
        text: output.text(),
        left_behind,
    })
}

/// `exited 0`, `limit_reached`, `killed SIGTERM`, `oom_killed`. Bash reports a
/// command that was killed as exit code 137, so memory's kill shows there too.
fn state(end: End, for_memory: bool) -> String {
    match end {
        End::Exited(137) | End::Signalled(9) if for_memory => "oom_killed".to_owned(),
        End::Exited(code) => format!("exited {code}"),
        End::Signalled(signal) => format!("killed {}", child::signal_name(signal)),
        End::Limit => "limit_reached".to_owned(),
    }
}

/// What the command leaves alive: descendants, and whatever else is in the
/// call's own control group.
fn left_behind(cgroup: &Cgroup) -> Vec<Process> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut found = child::descendants();
    for pid in cgroup.members() {
        if pid != own && found.iter().all(|process| process.pid != pid) {
            found.extend(Process::find(pid));
        }
    }
    found.sort_by_key(|process| process.pid);
    found
}

fn reply(ran: &Ran, cwd: &str) -> Reply {
    let first = first_line(&ran.state, ran.took, cwd);
    let mut text = first.clone();
    if !ran.text.is_empty() {
        text.push('\n');
        text.push_str(&ran.text);
    }
    let mut last = String::new();
    if !ran.left_behind.is_empty() {
        if !text.ends_with('\n') {
            last.push('\n');
        }
        last.push_str(&names(&ran.left_behind));
    }
    text.push_str(&last);
    let breaks = u64::from(ran.bytes > 0);
    Reply {
        original_bytes: Some((first.len() + last.len()) as u64 + ran.bytes + breaks),
        output: Some(text),
        error: None,
        exit_code: ran.exit_code,
    }
}

fn first_line(state: &str, took: Duration, cwd: &str) -> String {
    format!("[{state} · {:.1} s · {cwd}]", took.as_secs_f64())
}

fn names(left_behind: &[Process]) -> String {
    let mut named: Vec<_> = left_behind
        .iter()
        .take(NAMED)
        .map(|process| format!("pid {} `{}`", process.pid, process.command))
        .collect();
    if left_behind.len() > NAMED {
        named.push(format!("{} more", left_behind.len() - NAMED));
    }
    format!(
        "[left in the background and ended with this call: {}]",
        named.join(", ")
    )
}

/// The directory a command starts in: relative to the home, `~` is the home.
fn directory(home: &Path, cwd: Option<&str>) -> Result<PathBuf, String> {
    let asked = cwd.unwrap_or("~");
    let below = asked.strip_prefix("~/").unwrap_or(asked);
    let path = if asked == "~" {
        home.to_owned()
    } else {
        home.join(below)
    };
    let problem = match path.metadata() {
        Ok(found) if found.is_dir() => {
            // The path as the file system has it, so that `..` and links don't confuse PWD.
            return path
                .canonicalize()
                .map_err(|error| format!("cwd {asked} can't be entered: {error}"));
        }
        Ok(_) => "is not a directory".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist".to_owned(),
        Err(error) => format!("can't be entered: {error}"),
    };
    let nearest = path.ancestors().skip(1).find(|above| above.is_dir());
    let nearest = nearest.map_or_else(String::new, |above| {
        format!("; the nearest directory is {}", shown(home, above))
    });
    Err(format!("cwd {asked} {problem}{nearest}"))
}

/// A path as the agent writes it.
fn shown(home: &Path, path: &Path) -> String {
    let real_home = home.canonicalize();
    let below = [Some(home), real_home.as_deref().ok()]
        .into_iter()
        .flatten()
        .find_map(|home| path.strip_prefix(home).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_has_its_word() {
        assert_eq!(state(End::Exited(0), false), "exited 0");
        assert_eq!(state(End::Exited(137), false), "exited 137");
        assert_eq!(state(End::Exited(137), true), "oom_killed");
        assert_eq!(state(End::Exited(1), true), "exited 1");
        assert_eq!(state(End::Signalled(9), true), "oom_killed");
        assert_eq!(state(End::Signalled(15), false), "killed SIGTERM");
        assert_eq!(state(End::Limit, false), "limit_reached");
    }

    #[test]
    fn the_first_line_tells_state_time_and_place() {
        let took = Duration::from_millis(3_240);
        assert_eq!(
            first_line("exited 0", took, "~/app"),
            "[exited 0 · 3.2 s · ~/app]"
        );
    }

    #[test]
    fn many_left_behind_are_counted() {
        let process = |pid| Process {
            pid,
            command: "sleep 9".to_owned(),
        };
        assert_eq!(
            names(&[process(7), process(8)]),
            "[left in the background and ended with this call: pid 7 `sleep 9`, pid 8 `sleep 9`]"
        );
        let many: Vec<_> = (1..=12).map(process).collect();
        assert!(names(&many).ends_with("pid 10 `sleep 9`, 2 more]"));
    }

    #[test]
    fn a_directory_that_is_not_there_is_named_with_the_nearest() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("app")).unwrap();
        std::fs::write(home.path().join("file"), "").unwrap();
        let check = |cwd: &str| directory(home.path(), Some(cwd));
        let real = home.path().canonicalize().unwrap();
        assert_eq!(check("app"), Ok(real.join("app")));
        assert_eq!(check("~/app"), Ok(real.join("app")));
        assert_eq!(directory(home.path(), None), Ok(real));
        assert_eq!(
            check("app/src/x").unwrap_err(),
            "cwd app/src/x does not exist; the nearest directory is ~/app"
        );
        assert_eq!(
            check("file").unwrap_err(),
            "cwd file is not a directory; the nearest directory is ~"
        );
    }
}
