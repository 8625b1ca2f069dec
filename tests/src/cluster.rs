//! A PostgreSQL cluster for one test binary, and a database of its own for each test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, PgConnection};

use crate::spawn;

const TEMPLATE: &str = "guilds_template";
/// Where Debian keeps the programs of PostgreSQL 15.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// A running cluster: unix socket only, `fsync` on, owned by the account `postgres`.
#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    next: AtomicU32,
}

impl Cluster {
    /// Makes a cluster under `work` and starts it.
    ///
    /// # Errors
    /// When PostgreSQL 15 is not installed or doesn't start.
    pub fn start(work: &Path) -> Result<Self> {
        let directory = work.join("postgres");
        spawn::run(
            spawn::command("/usr/bin/install")
                .args(["-d", "-o", "postgres", "-g", "postgres", "-m", "700"])
                .arg(&directory),
        )?;
        let data = directory.join("data");
        as_postgres(
            "initdb",
            &[
                "-D",
                path(&data)?,
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-locale",
                "--no-sync",
            ],
        )?;
        let this = Self {
            directory,
            next: AtomicU32::new(1),
        };
        this.start_again()?;
        Ok(this)
    }

    /// Starts it again after an end; it has recovered when this returns.
    ///
    /// # Errors
    /// When it doesn't start.
    pub fn start_again(&self) -> Result<()> {
        let data = self.directory.join("data");
        let options = format!(
            "-k {} -c listen_addresses='' -c max_connections=400 -c fsync=on -c shared_buffers=64MB",
            path(&self.directory)?
        );
        as_postgres(
            "pg_ctl",
            &[
                "-D",
                path(&data)?,
                "-w",
                "-t",
                "30",
                "-l",
                path(&self.directory.join("log"))?,
                "-o",
                &options,
                "start",
            ],
        )
    }

    /// Ends the cluster in the middle of whatever it does, as a crash would: it recovers from
    /// its log at the next start.
    ///
    /// # Errors
    /// When it doesn't end.
    pub fn crash(&self) -> Result<()> {
        let data = self.directory.join("data");
        as_postgres(
            "pg_ctl",
            &["-D", path(&data)?, "-m", "immediate", "-w", "stop"],
        )
    }

    /// Ends the cluster, for a process that goes on after it.
    ///
    /// # Errors
    /// When it doesn't end.
    pub fn stop(&self) -> Result<()> {
        let data = self.directory.join("data");
        as_postgres("pg_ctl", &["-D", path(&data)?, "-m", "fast", "-w", "stop"])
    }

    /// Folder of its socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.directory
    }

    /// What the server logged so far.
    ///
    /// # Errors
    /// When there is no log.
    pub fn log(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&std::fs::read(self.directory.join("log"))?).into_owned())
    }

    /// A client program of this PostgreSQL.
    #[must_use]
    pub fn program(name: &str) -> PathBuf {
        Path::new(PROGRAMS).join(name)
    }

    /// URL of a database in it.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@localhost/{database}?host={}",
            self.directory.display()
        )
    }

    /// A connection to a database in it.
    ///
    /// # Errors
    /// When there is no such database.
    pub async fn connect(&self, database: &str) -> Result<PgConnection> {
        PgConnectOptions::new_without_pgpass()
            .socket(&self.directory)
            .username("postgres")
            .database(database)
            .connect()
            .await
            .with_context(|| format!("database {database}"))
    }

    /// Makes the empty database that [`Cluster::database`] copies once it is migrated.
    ///
    /// # Errors
    /// When it can't be made.
    pub async fn make_template(&self) -> Result<&'static str> {
        let mut db = self.connect("postgres").await?;
        db.execute(AssertSqlSafe(format!("CREATE DATABASE {TEMPLATE}")))
            .await?;
        Ok(TEMPLATE)
    }

    /// A copy of the template with a name of its own.
    ///
    /// # Errors
    /// When it can't be made.
    pub async fn database(&self) -> Result<String> {
        let name = format!("test_{}", self.next.fetch_add(1, Ordering::Relaxed));
        let mut db = self.connect("postgres").await?;
        db.execute(AssertSqlSafe(format!(
            "CREATE DATABASE {name} TEMPLATE {TEMPLATE}"
        )))
        .await?;
        Ok(name)
    }

    /// A database of another locale with all that the template has.
    ///
    /// # Errors
    /// When it can't be made.
    pub async fn database_with_locale(&self, locale: &str) -> Result<String> {
        let name = format!("test_{}", self.next.fetch_add(1, Ordering::Relaxed));
        let mut db = self.connect("postgres").await?;
        db.execute(AssertSqlSafe(format!(
            "CREATE DATABASE {name} TEMPLATE template0 LC_COLLATE '{locale}' LC_CTYPE '{locale}'"
        )))
        .await?;
        let dump = spawn::run(
            spawn::command(Self::program("pg_dump"))
                .args(["-U", "postgres", "-h"])
                .arg(&self.directory)
                .arg(TEMPLATE),
        )?;
        let file = std::env::temp_dir().join(format!("{name}.sql"));
        std::fs::write(&file, dump)?;
        let filled = spawn::run(
            spawn::command(Self::program("psql"))
                .args(["-U", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "-h"])
                .arg(&self.directory)
                .arg("-f")
                .arg(&file)
                .arg(&name),
        );
        std::fs::remove_file(&file)?;
        filled?;
        Ok(name)
    }

    /// Removes a test's database.
    ///
    /// # Errors
    /// When it can't be removed.
    pub async fn drop_database(&self, name: &str) -> Result<()> {
        let mut db = self.connect("postgres").await?;
        db.execute(AssertSqlSafe(format!(
            "DROP DATABASE IF EXISTS {name} WITH (FORCE)"
        )))
        .await?;
        Ok(())
    }
}

fn as_postgres(program: &str, arguments: &[&str]) -> Result<()> {
    let program = Path::new(PROGRAMS).join(program);
    if !program.exists() {
        bail!("{} is missing: install postgresql-15", program.display());
    }
    // pg_ctl leaves the server with its stdout, so nothing may wait for the end of a pipe.
    let mut command = spawn::command("/usr/bin/setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--init-groups"])
        .args(["env", "-i", "LANG=C", "PATH=/usr/bin:/bin"])
        .arg(program)
        .args(arguments)
        .current_dir("/")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null());
    let status = command.status().with_context(|| format!("{command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is not UTF-8")
}
