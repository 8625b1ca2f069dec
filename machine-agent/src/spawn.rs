//! The only place where processes start: runners, helpers, Chrome, and the few programs of the system that root needs.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::process::{Child, Children};
use crate::sys::{ChildSpec, Identity, Program};

/// Where programs are looked for by an agent's processes.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The front's own program, opened once: a replaced file on disk never mixes versions.
///
/// # Errors
/// When the program can't be opened or copied.
pub fn own_program() -> io::Result<OwnedFd> {
    let mut file = File::open("/proc/self/exe")?;
    // execveat(2) checks the file's own mode as the new user, not the folders
    // it lies in. A file that others may not execute goes through a copy in
    // memory, sealed so that nobody changes it.
    if file.metadata()?.mode() & 0o001 != 0 {
        return Ok(file.into());
    }
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let mut copy = File::from(memfd_create(c"guilds-machine-agent", flags)?);
    io::copy(&mut file, &mut copy)?;
    copy.rewind()?;
    let seals = SealFlag::F_SEAL_WRITE
        | SealFlag::F_SEAL_SHRINK
        | SealFlag::F_SEAL_GROW
        | SealFlag::F_SEAL_SEAL;
    fcntl(&copy, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(copy.into())
}

/// The environment of everything that runs for an agent, built from nothing.
#[must_use]
pub fn environment(user: &str, home: &Path) -> Vec<(&'static str, String)> {
    vec![
        ("PATH", PATH.to_owned()),
        ("HOME", home.display().to_string()),
        ("USER", user.to_owned()),
        ("LOGNAME", user.to_owned()),
        ("SHELL", "/bin/bash".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
    ]
}

/// What a runner is started with.
#[derive(Debug)]
pub struct RunnerStart<'a> {
    /// The front's own program.
    pub program: &'a OwnedFd,
    /// Listening socket; it becomes descriptor 3.
    pub listener: &'a OwnedFd,
    /// Arguments after the program's name.
    pub arguments: Vec<String>,
    /// Environment.
    pub environment: Vec<(&'static str, String)>,
    /// User to become; none when the front isn't root.
    pub identity: Option<Identity>,
    /// Group to be born in.
    pub cgroup: Option<&'a Path>,
    /// Version 1 groups to join.
    pub join: Vec<OwnedFd>,
}

/// Starts an agent's runner.
///
/// Its stderr is the front's own, on purpose: its few lines then outlive a
/// restart of the front, and as the runner is not dumpable nothing else of the
/// agent reaches that descriptor. Its stdin and stdout are `/dev/null`.
///
/// # Errors
/// The step that failed.
pub fn runner(children: &Children, start: &RunnerStart<'_>) -> io::Result<Child> {
    let null = null()?;
    let stderr = io::stderr();
    launch(
        children,
        &Launch {
            program: Program::Open(start.program),
            name: "guilds-machine-agent",
            arguments: &start.arguments,
            environment: &start.environment,
            descriptors: &[
                null.as_raw_fd(),
                null.as_raw_fd(),
                stderr.as_raw_fd(),
                start.listener.as_raw_fd(),
            ],
            cgroup: start.cgroup,
            join: &start.join,
            identity: start.identity,
            directory: Path::new("/"),
            ends_with_parent: false,
        },
    )
}

/// What a helper or Chrome is started with, by the agent's runner.
#[derive(Debug)]
pub struct AgentStart<'a> {
    /// Path of the program.
    pub program: &'a Path,
    /// Arguments after the program's name.
    pub arguments: Vec<String>,
    /// Environment.
    pub environment: Vec<(&'static str, String)>,
    /// Descriptors 0, 1 and 2; none of them means `/dev/null`.
    pub stdio: [Option<&'a OwnedFd>; 3],
    /// Group to be born in.
    pub cgroup: Option<&'a Path>,
    /// Working directory.
    pub directory: &'a Path,
    /// Killed by the runner's own death, also where there are no cgroups. A
    /// helper isn't: it sees that death itself and ends what it started first.
    pub ends_with_runner: bool,
}

/// Starts a helper or Chrome as the agent that this process already is.
///
/// # Errors
/// The step that failed, or why the program can't be opened.
pub fn for_agent(children: &Children, start: &AgentStart<'_>) -> io::Result<Child> {
    let null = null()?;
    let program = CString::new(start.program.as_os_str().as_encoded_bytes())?;
    let descriptors: Vec<RawFd> = start
        .stdio
        .iter()
        .map(|given| given.map_or(null.as_raw_fd(), AsRawFd::as_raw_fd))
        .collect();
    launch(
        children,
        &Launch {
            program: Program::Path(&program),
            name: &start.program.display().to_string(),
            arguments: &start.arguments,
            environment: &start.environment,
            descriptors: &descriptors,
            cgroup: start.cgroup,
            join: &[],
            identity: None,
            directory: start.directory,
            ends_with_parent: start.ends_with_runner,
        },
    )
}

struct Launch<'a> {
    program: Program<'a>,
    name: &'a str,
    arguments: &'a [String],
    environment: &'a [(&'static str, String)],
    descriptors: &'a [RawFd],
    cgroup: Option<&'a Path>,
    join: &'a [OwnedFd],
    identity: Option<Identity>,
    directory: &'a Path,
    ends_with_parent: bool,
}

fn launch(children: &Children, launch: &Launch<'_>) -> io::Result<Child> {
    let mut arguments = vec![CString::new(launch.name)?];
    for argument in launch.arguments {
        arguments.push(CString::new(argument.as_str())?);
    }
    let mut environment = Vec::new();
    for (name, value) in launch.environment {
        environment.push(CString::new(format!("{name}={value}"))?);
    }
    let cgroup = launch.cgroup.map(open_directory).transpose()?;
    let started = children.start(&ChildSpec {
        program: launch.program,
        arguments: &arguments,
        environment: &environment,
        descriptors: launch.descriptors,
        cgroup: cgroup.as_ref(),
        join: launch.join,
        identity: launch.identity,
        ends_with_parent: launch.ends_with_parent,
        directory: &CString::new(launch.directory.as_os_str().as_encoded_bytes())?,
    });
    started.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", launch.name)))
}

fn null() -> io::Result<OwnedFd> {
    let file = File::options().read(true).write(true).open("/dev/null")?;
    Ok(file.into())
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let mut options = File::options();
    options.read(true).custom_flags(OFlag::O_DIRECTORY.bits());
    Ok(options.open(path)?.into())
}

/// How a program of the system ended.
#[derive(Debug)]
pub struct Outcome {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Standard output, cut at [`MOST_OUTPUT`].
    pub stdout: String,
    /// Standard error, cut likewise.
    pub stderr: String,
}

/// Most output kept of a program of the system, in bytes.
pub const MOST_OUTPUT: u64 = 1 << 20;

/// Runs a program of the system (accounts, firewall) with `input` on its stdin.
///
/// # Errors
/// When it can't start, or has not ended after 20 s; it is ended then.
#[expect(clippy::disallowed_methods, reason = "this is the crate's spawn.rs")]
pub async fn system(program: &str, arguments: &[&str], input: &str) -> io::Result<Outcome> {
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let work = async {
        let write = async {
            if let Some(mut stdin) = stdin {
                // It may end without reading; its exit code says more.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let ((), stdout, stderr) = tokio::join!(write, read_most(stdout), read_most(stderr));
        io::Result::Ok(Outcome {
            code: child.wait().await?.code(),
            stdout: stdout?,
            stderr: stderr?,
        })
    };
    tokio::time::timeout(Duration::from_secs(20), work)
        .await
        .unwrap_or_else(|_| Err(io::Error::other(format!("{program} did not end in 20 s"))))
}

async fn read_most(stream: Option<impl tokio::io::AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(MOST_OUTPUT).read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Exit;
    use nix::fcntl::OFlag;
    use nix::unistd::pipe2;

    /// What `/bin/sh` prints when it is started for an agent, or as `identity`.
    async fn shell(script: &str, identity: Option<Identity>) -> (String, Exit) {
        let (read, write) = pipe2(OFlag::O_CLOEXEC).unwrap();
        let null = null().unwrap();
        let children = Children::default();
        let child = launch(
            &children,
            &Launch {
                program: Program::Path(&CString::new("/bin/sh").unwrap()),
                name: "/bin/sh",
                arguments: &["-c".to_owned(), script.to_owned()],
                environment: &environment("ada", Path::new("/home/ada")),
                descriptors: &[null.as_raw_fd(), write.as_raw_fd(), write.as_raw_fd()],
                cgroup: None,
                join: &[],
                identity,
                directory: Path::new("/"),
                ends_with_parent: false,
            },
        )
        .unwrap();
        drop(write);
        let exit = child.exited().await.unwrap();
        let mut text = String::new();
        io::Read::read_to_string(&mut File::from(read), &mut text).unwrap();
        (text, exit)
    }

    #[tokio::test]
    async fn the_environment_is_built_from_nothing() {
        let (text, exit) = shell("tr '\\0' '\\n' </proc/$$/environ | sort; pwd; umask", None).await;
        assert_eq!(exit, Exit::Code(0));
        assert_eq!(
            text,
            "HOME=/home/ada\nLANG=C.UTF-8\nLOGNAME=ada\nPATH=/usr/local/bin:/usr/bin:/bin\nSHELL=/bin/bash\nUSER=ada\n/\n0077\n"
        );
    }

    #[tokio::test]
    async fn no_other_descriptor_stays_open() {
        // Without close-on-exec, so that only the child's own work closes it.
        let open = nix::unistd::dup(io::stderr()).unwrap();
        nix::fcntl::fcntl(&open, FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
        let (text, _) = shell("ls /proc/$$/fd; true", None).await;
        assert_eq!(text, "0\n1\n2\n");
    }

    #[tokio::test]
    async fn signals_privileges_and_session_are_fresh() {
        // Read by the shell itself: while it starts a child it blocks all signals for a moment.
        let script = "while IFS= read -r line; do case $line in \
                      SigBlk:*|SigIgn:*|NoNewPrivs:*|CapEff:*|CapInh:*|CapAmb:*|CapPrm:*) echo \"$line\";; \
                      esac; done < /proc/$$/status; \
                      ulimit -c; test $$ = $(cut -d' ' -f6 /proc/$$/stat) && echo leader";
        let (text, _) = shell(script, None).await;
        let zero = "0000000000000000";
        assert_eq!(
            text,
            format!(
                "SigBlk:\t{zero}\nSigIgn:\t{zero}\nCapInh:\t{zero}\nCapPrm:\t{zero}\nCapEff:\t{zero}\nCapAmb:\t{zero}\nNoNewPrivs:\t1\n0\nleader\n"
            )
        );
    }

    /// Changing the user needs root; anybody else is refused at that very step.
    #[tokio::test]
    async fn root_is_dropped_whole_or_nothing_starts() {
        let identity = Identity {
            uid: 65_534,
            gid: 65_534,
        };
        if nix::unistd::geteuid().is_root() {
            let (text, _) = shell(
                "grep -E '^(Uid|Gid|Groups|CapBnd):' /proc/$$/status",
                Some(identity),
            )
            .await;
            let four = "65534\t65534\t65534\t65534";
            assert_eq!(
                text,
                format!("Uid:\t{four}\nGid:\t{four}\nGroups:\t \nCapBnd:\t0000000000000000\n")
            );
        } else {
            let null = null().unwrap();
            let error = launch(
                &Children::default(),
                &Launch {
                    program: Program::Path(&CString::new("/bin/true").unwrap()),
                    name: "/bin/true",
                    arguments: &[],
                    environment: &[],
                    descriptors: &[null.as_raw_fd()],
                    cgroup: None,
                    join: &[],
                    identity: Some(identity),
                    directory: Path::new("/"),
                    ends_with_parent: false,
                },
            )
            .unwrap_err()
            .to_string();
            assert!(
                error.starts_with("/bin/true: emptying its capability sets"),
                "{error}"
            );
        }
    }

    #[tokio::test]
    async fn an_exit_is_told_as_it_was() {
        assert_eq!(shell("exit 3", None).await.1, Exit::Code(3));
        let killed = Exit::Signal(nix::sys::signal::Signal::SIGKILL);
        assert_eq!(shell("kill -9 $$", None).await.1, killed);
    }

    #[tokio::test]
    async fn a_start_that_fails_names_its_step() {
        let start = AgentStart {
            program: Path::new("/nowhere/helper"),
            arguments: Vec::new(),
            environment: Vec::new(),
            stdio: [None; 3],
            cgroup: None,
            directory: Path::new("/"),
            ends_with_runner: false,
        };
        let error = for_agent(&Children::default(), &start).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/nowhere/helper: executing the program: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn what_ends_with_its_runner_is_killed_by_the_runners_death() {
        // A thread stands for the runner: the kernel looks at the thread that started the child.
        let started = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let _inside = runtime.enter();
            let start = AgentStart {
                program: Path::new("/bin/sleep"),
                arguments: vec!["60".to_owned()],
                environment: Vec::new(),
                stdio: [None; 3],
                cgroup: None,
                directory: Path::new("/"),
                ends_with_runner: true,
            };
            for_agent(&Children::default(), &start).unwrap().pid
        });
        let pid = nix::unistd::Pid::from_raw(started.join().unwrap());
        let status = nix::sys::wait::waitpid(pid, None).unwrap();
        let killed = nix::sys::signal::Signal::SIGKILL;
        assert_eq!(
            status,
            nix::sys::wait::WaitStatus::Signaled(pid, killed, false)
        );
    }

    #[tokio::test]
    async fn a_program_of_the_system_gets_its_input() {
        let outcome = system("sh", &["-c", "cat; echo no >&2; exit 4"], "hello")
            .await
            .unwrap();
        assert_eq!(
            (outcome.code, outcome.stdout, outcome.stderr),
            (Some(4), "hello".to_owned(), "no\n".to_owned())
        );
    }
}
