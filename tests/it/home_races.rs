//! An agent that swaps folders and files for links while its runner writes a script and reads a secret.
//!
//! `GUILDS_RACE_TRIES` says how many tries there are of each, 10,000 when it is not set.

use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use hyper::Method;
use serde_json::json;
use sha2::{Digest, Sha256};
use tests::kept_connection::KeptConnection;
use tests::{Agent, Answer, Stack, spawn};

/// Exchanges two names for ever, as fast as the kernel does (renameat2 with RENAME_EXCHANGE).
const SWAP: &str = "import ctypes, sys
libc = ctypes.CDLL(None)
a, b = (name.encode() for name in sys.argv[1:3])
while True:
    libc.renameat2(-100, a, -100, b, 2)
";

/// Puts a link in place of a file for ever.
const LINK: &str = "import os, sys
target, path = sys.argv[1:3]
while True:
    os.symlink(target, path + '.link')
    os.rename(path + '.link', path)
";

fn tries() -> Result<u32> {
    match std::env::var("GUILDS_RACE_TRIES") {
        Ok(text) => Ok(text.parse()?),
        Err(_) => Ok(10_000),
    }
}

/// The runner of an agent, asked as the front asks it.
struct Runner {
    connection: KeptConnection,
    base: String,
}

impl Runner {
    async fn of(stack: &Stack, agent: &Agent) -> Result<Self> {
        let connection =
            KeptConnection::to_runner(stack.machine()?, &agent.id, agent.slot()).await?;
        let base = format!("/v1/agents/{}", agent.id);
        Ok(Self { connection, base })
    }

    async fn write(&mut self, source: &str) -> Result<Answer> {
        let sha256: String = Sha256::digest(source)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let body = json!({ "name": "job", "sha256": sha256, "source": source });
        let path = format!("{}/scripts/job", self.base);
        self.connection.send(Method::PUT, &path, Some(&body)).await
    }

    async fn read(&mut self, file: &str) -> Result<Answer> {
        let path = format!("{}/files?path={file}", self.base);
        self.connection.send(Method::GET, &path, None).await
    }
}

/// Processes of the agent's own account that swap, ended with the test.
struct Swappers(Vec<spawn::Daemon>);

impl Swappers {
    fn start(stack: &Stack, swaps: &[(&str, [&PathBuf; 2])]) -> Result<Self> {
        let uid = stack.ada.uid()?.to_string();
        let start = |(number, (program, names)): (usize, &(&str, [&PathBuf; 2]))| {
            // Nice, so that it takes what the others leave and doesn't slow them down.
            let mut command = spawn::command("nice");
            command
                .args([
                    "-n",
                    "10",
                    "setpriv",
                    "--reuid",
                    &uid,
                    "--regid",
                    &uid,
                    "--clear-groups",
                ])
                .args(["/usr/bin/python3", "-c", program])
                .args(names);
            let log = stack.directory.path().join(format!("swap-{number}.log"));
            spawn::Daemon::start("a swapper", &mut command, &log)
        };
        let daemons = swaps.iter().enumerate().map(start).collect::<Result<_>>()?;
        Ok(Self(daemons))
    }

    fn end(mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(spawn::Daemon::kill)
    }
}

/// A folder beside the home that the agent may write: a write that followed a link would succeed.
fn outside(stack: &Stack) -> Result<PathBuf> {
    let uid = stack.ada.uid()?;
    let folder = PathBuf::from(format!("/home/outside-{uid}"));
    std::fs::create_dir(&folder)?;
    chown(&folder, Some(uid), Some(uid))?;
    Ok(folder)
}

fn owned(path: &Path, uid: u32, text: &str) -> Result<()> {
    std::fs::write(path, text)?;
    chown(path, Some(uid), Some(uid))?;
    Ok(())
}

/// Everything below the home is the agent's.
fn all_are_the_agents(folder: &Path, uid: u32) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let found = std::fs::symlink_metadata(&path)?;
        ensure!(
            found.uid() == uid,
            "{} is of uid {}",
            path.display(),
            found.uid()
        );
        if found.is_dir() {
            all_are_the_agents(&path, uid)?;
        }
    }
    Ok(())
}

/// A link of the agent's own making.
fn link(target: &Path, path: &Path, uid: u32) -> Result<()> {
    symlink(target, path)?;
    lchown(path, Some(uid), Some(uid))?;
    Ok(())
}

#[tokio::test]
async fn a_script_is_never_written_outside_the_home() -> Result<()> {
    let stack = Stack::whole().await?;
    stack.run(&stack.ada).await?;
    let (uid, home) = (stack.ada.uid()?, PathBuf::from(stack.ada.home()));
    let mut runner = Runner::of(&stack, &stack.ada).await?;
    assert_eq!(runner.write("print(0)").await?.status, 200);
    let outside = outside(&stack)?;
    let victim = outside.join("job.py");
    owned(&victim, uid, "untouched")?;
    let (folder, decoy) = (home.join("scripts"), home.join("decoy"));
    link(&outside, &decoy, uid)?;
    // First the folder is exchanged with a link to the other one, then the file is made a
    // link to the other file again and again.
    let swaps = [
        (SWAP, [&folder, &decoy]),
        (LINK, [&victim, &folder.join("job.py")]),
    ];
    for (program, names) in swaps {
        let swapper = Swappers::start(&stack, &[(program, names)])?;
        let (mut written, mut refused) = (0, 0);
        for number in 0..tries()? / 2 {
            let answer = runner.write(&format!("print({number})")).await?;
            match answer.status {
                200 => written += 1,
                // The agent's own doing, told to it.
                409 if answer.text.contains("~/scripts") => refused += 1,
                _ => bail!("{answer:?}"),
            }
        }
        swapper.end()?;
        // A link to a folder is refused, one in place of the file is replaced.
        assert!(written > 0, "nothing was written");
        assert_eq!(refused > 0, program == SWAP, "{refused} refused");
        if std::fs::symlink_metadata(&folder)?.is_symlink() {
            std::fs::rename(&decoy, home.join("folder"))?;
            std::fs::rename(&folder, &decoy)?;
            std::fs::rename(home.join("folder"), &folder)?;
        }
        assert_eq!(std::fs::read_to_string(&victim)?, "untouched");
        assert_eq!(std::fs::read_dir(&outside)?.count(), 1);
        assert_eq!(std::fs::symlink_metadata(&victim)?.uid(), uid);
        all_are_the_agents(&home, uid)?;
    }
    assert_eq!(runner.write("print('last')").await?.status, 200);
    let last = folder.join("job.py");
    assert!(std::fs::symlink_metadata(&last)?.is_file());
    assert_eq!(std::fs::read_to_string(last)?, "print('last')");
    std::fs::remove_dir_all(&outside)?;
    Ok(())
}

#[tokio::test]
async fn a_secret_is_never_read_from_outside_the_home() -> Result<()> {
    let stack = Stack::whole().await?;
    stack.run(&stack.ada).await?;
    let (uid, home) = (stack.ada.uid()?, PathBuf::from(stack.ada.home()));
    let mut runner = Runner::of(&stack, &stack.ada).await?;
    let outside = outside(&stack)?;
    owned(&outside.join("value"), uid, "outside")?;
    std::fs::create_dir(home.join("keys"))?;
    chown(home.join("keys"), Some(uid), Some(uid))?;
    owned(&home.join("keys/value"), uid, "inside")?;
    owned(&home.join("other"), uid, "inside")?;
    let (keys, decoy) = (home.join("keys"), home.join("decoy"));
    let (other, file_decoy) = (home.join("other"), home.join("file-decoy"));
    link(&outside, &decoy, uid)?;
    link(&outside.join("value"), &file_decoy, uid)?;
    let swaps = [(SWAP, [&keys, &decoy]), (SWAP, [&other, &file_decoy])];
    let swappers = Swappers::start(&stack, &swaps)?;
    let (mut read, mut refused) = (0, 0);
    for number in 0..tries()? {
        let path = if number.is_multiple_of(2) {
            "keys/value"
        } else {
            "other"
        };
        let answer = runner.read(path).await?;
        match answer.status {
            200 if answer.text == "inside" => read += 1,
            409 | 422 => refused += 1,
            _ => bail!("{path}: {answer:?}"),
        }
    }
    swappers.end()?;
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
    std::fs::remove_dir_all(&outside)?;
    Ok(())
}
