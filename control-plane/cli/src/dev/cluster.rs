//! The stack's own PostgreSQL cluster: its data and socket in a folder of its own, and no TCP.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::account::Account;
use super::daemon::{self, Daemon, Plan};
use super::say;
use super::state::{State, told};
use crate::error::Failure;
use crate::spawn::Program;

/// Where Debian puts the programs of PostgreSQL 15.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// The socket's number; nothing listens on the port of it.
const PORT: &str = "5432";
const DATABASE: &str = "guilds";

/// The cluster's places.
#[derive(Debug)]
pub(crate) struct Cluster {
    data: PathBuf,
    socket: PathBuf,
    account: Account,
}

impl Cluster {
    /// Makes the cluster, unless it is there.
    ///
    /// # Errors
    /// When PostgreSQL is missing or the cluster can't be made.
    pub(crate) async fn prepare(state: &State, account: &Account) -> Result<Self, Failure> {
        if !Path::new(PROGRAMS).join("postgres").exists() {
            return Err(Failure::local(format!(
                "PostgreSQL 15 is missing ({PROGRAMS}); the package postgresql-15 holds it"
            )));
        }
        let folder = state.make_unprivileged("postgres")?;
        let cluster = Self {
            data: folder.join("data"),
            socket: state.sockets("postgres", true)?,
            account: account.clone(),
        };
        if !cluster.data.join("PG_VERSION").exists() {
            say("making the database cluster");
            cluster.make(&folder).await?;
        }
        Ok(cluster)
    }

    /// Made beside and then renamed, so that an interrupted start leaves no half cluster.
    async fn make(&self, folder: &Path) -> Result<(), Failure> {
        let new = folder.join("new");
        let _ = fs::remove_dir_all(&new);
        self.run(
            "initdb",
            &[
                "-D",
                &new.to_string_lossy(),
                "--username=postgres",
                // Only root and the cluster's own account can enter the socket's folder.
                "--auth=trust",
                "--encoding=UTF8",
                "--no-locale",
                // Nothing is in it yet that a power cut could take.
                "--no-sync",
            ],
        )
        .await?;
        let _ = fs::remove_dir_all(&self.data);
        fs::rename(&new, &self.data).map_err(told(&self.data))
    }

    /// The server.
    pub(crate) fn plan(&self) -> Plan {
        let words = [
            "-D",
            &self.data.to_string_lossy(),
            "-k",
            &self.socket.to_string_lossy(),
            "-p",
            PORT,
            "-c",
            "listen_addresses=",
            "-c",
            "unix_socket_permissions=0700",
            // After a hard end the data folder is synchronized whole: one call instead
            // of one for each of its thousand files.
            "-c",
            "recovery_init_sync_method=syncfs",
            // This log goes to a file of the stack, with the rest of what it says.
            "-c",
            "logging_collector=off",
        ];
        Plan {
            name: "database",
            program: Path::new(PROGRAMS).join("postgres"),
            words: words.map(ToOwned::to_owned).to_vec(),
            account: self.account.unprivileged(),
            stop: (Signal::SIGINT, Duration::from_secs(20)),
        }
    }

    /// Waits until it answers, and makes the database.
    ///
    /// # Errors
    /// When it doesn't answer in time.
    pub(crate) async fn wait_ready(
        &self,
        server: Option<&Daemon>,
        at_most: Duration,
    ) -> Result<(), Failure> {
        let socket = self.socket.to_string_lossy();
        let place = ["-h", &socket, "-p", PORT, "-U", "postgres"];
        daemon::wait_until(server, at_most, || async {
            let words = [&place[..], &["-q", "-d", "postgres"]].concat();
            let ready = self.run("pg_isready", &words).await;
            ready
                .map(|_| ())
                .map_err(|failure| failure.message().to_owned())
        })
        .await?;
        let question = format!("SELECT count(*) FROM pg_database WHERE datname = '{DATABASE}'");
        let words = [&place[..], &["-d", "postgres", "-XAtc", &question]].concat();
        if self.run("psql", &words).await?.trim() == "0" {
            self.run("createdb", &[&place[..], &[DATABASE]].concat())
                .await?;
        }
        Ok(())
    }

    /// Where the database is.
    pub(crate) fn url(&self) -> String {
        let socket: String = self
            .socket
            .to_string_lossy()
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
                    char::from(byte).to_string()
                }
                _ => format!("%{byte:02X}"),
            })
            .collect();
        format!("postgres://postgres@localhost:{PORT}/{DATABASE}?host={socket}")
    }

    async fn run(&self, name: &str, words: &[&str]) -> Result<String, Failure> {
        let file = Path::new(PROGRAMS).join(name);
        let program = Program {
            file: &file,
            words: words.iter().map(ToString::to_string).collect(),
            account: self.account.unprivileged(),
        };
        program.run().await.map_err(Failure::local)
    }
}
