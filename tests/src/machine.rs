//! A machine agent's front with accounts, cgroups, firewall table and folders of its own.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::machine_client::MachineClient;
use crate::shared::Shared;
use crate::slots;
use crate::spawn::{self, Daemon};

const START_LIMIT: Duration = Duration::from_secs(20);

/// A running `guilds-machine-agent serve`.
#[derive(Debug)]
pub struct Machine {
    daemon: Daemon,
    program: PathBuf,
    config: PathBuf,
    log: PathBuf,
    address: String,
    table: String,
    cgroup_root: String,
    run_dir: PathBuf,
}

/// What a test changes in a machine agent's settings.
#[derive(Debug, Clone, Default)]
pub struct MachineSettings {
    /// Id in settings and certificate instead of `local`.
    pub id: Option<&'static str>,
    /// Folder of the helpers instead of `/usr/local/bin`.
    pub helpers_dir: Option<PathBuf>,
    /// `end_runners_on_stop`, true when absent.
    pub leave_runners: bool,
}

impl Machine {
    /// Starts one and waits until it answers.
    ///
    /// # Errors
    /// When it doesn't answer.
    pub async fn start(
        shared: &Shared,
        directory: &Path,
        settings: &MachineSettings,
    ) -> Result<Self> {
        let number = slots::next_number();
        let address = format!("127.0.0.1:{}", slots::port()?);
        let table = format!("guilds_test_{number}");
        let cgroup_root = format!("guilds-{number}");
        let run_dir = PathBuf::from(format!("/run/guilds-runners-{number}"));
        let config = directory.join("machine-agent.toml");
        let log = directory.join("machine-agent.log");
        let uids = slots::uids();
        let (id, identity) = match settings.id {
            Some(id) => (id, shared.authority.machine(id)?),
            None => ("local", shared.machine.clone()),
        };
        let mut text = String::new();
        for (name, value) in [
            ("machine", id.to_owned()),
            ("listen", address.clone()),
            ("tls_cert", identity.certificate.display().to_string()),
            ("tls_key", identity.key.display().to_string()),
            (
                "tls_ca",
                shared.authority.certificate().display().to_string(),
            ),
            ("runners", "direct".to_owned()),
            ("run_dir", run_dir.display().to_string()),
            ("state_dir", directory.join("machine").display().to_string()),
            ("home_root", "/home".to_owned()),
            ("cgroup_root", cgroup_root.clone()),
            ("firewall_table", table.clone()),
        ] {
            writeln!(text, "{name} = \"{value}\"")?;
        }
        if let Some(helpers) = &settings.helpers_dir {
            writeln!(text, "helpers_dir = \"{}\"", helpers.display())?;
        }
        writeln!(text, "uid_min = {}\nuid_max = {}", uids.start(), uids.end())?;
        writeln!(text, "end_runners_on_stop = {}", !settings.leave_runners)?;
        std::fs::write(&config, text)?;
        let program = shared.program("guilds-machine-agent");
        let mut this = Self {
            daemon: serve(&program, &config, &log)?,
            program,
            config,
            log,
            address,
            table,
            cgroup_root,
            run_dir,
        };
        this.wait_ready(shared).await?;
        Ok(this)
    }

    /// `host:port` of its front.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Name of its nftables table.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Name of its folder in the cgroup mounts.
    #[must_use]
    pub fn cgroup_root(&self) -> &str {
        &self.cgroup_root
    }

    /// Folder of its runners' sockets.
    #[must_use]
    pub fn run_dir(&self) -> &Path {
        &self.run_dir
    }

    /// The front's pid.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// Path of its settings.
    #[must_use]
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// What it logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.daemon.log()
    }

    /// `SIGKILL` to the front.
    ///
    /// # Errors
    /// When it is gone already.
    pub fn kill(&mut self) -> Result<()> {
        self.daemon.kill()
    }

    /// `SIGTERM` to the front, and waits for its end.
    ///
    /// # Errors
    /// When it doesn't end.
    pub fn stop(&mut self) -> Result<()> {
        self.daemon.stop()
    }

    /// Starts the front again with the same settings.
    ///
    /// # Errors
    /// When it doesn't answer.
    pub async fn start_again(&mut self, shared: &Shared) -> Result<()> {
        self.daemon = serve(&self.program, &self.config, &self.log)?;
        self.wait_ready(shared).await
    }

    async fn wait_ready(&mut self, shared: &Shared) -> Result<()> {
        let client = MachineClient::new(&self.address, Some(&shared.control_plane))?;
        let deadline = Instant::now() + START_LIMIT;
        while Instant::now() < deadline {
            if let Ok(answer) = client.get("/v1/health").await
                && answer.status == 200
            {
                return Ok(());
            }
            if let Some(status) = self.daemon.ended()? {
                bail!("the machine agent ended with {status}:\n{}", self.log());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        bail!("the machine agent does not answer:\n{}", self.log())
    }
}

fn serve(program: &Path, config: &Path, log: &Path) -> Result<Daemon> {
    let mut command = spawn::command(program);
    command.args(["serve", "--config"]).arg(config);
    Daemon::start("machine agent", &mut command, log)
}
