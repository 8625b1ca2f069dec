//! A control plane process over a test's own database.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::api::Api;
use crate::shared::Shared;
use crate::slots;
use crate::spawn::{Daemon, command};

/// How long a daemon may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A running `guilds-control-plane serve`.
#[derive(Debug)]
pub struct ControlPlane {
    daemon: Daemon,
    program: PathBuf,
    config: PathBuf,
    log: PathBuf,
    address: String,
}

impl ControlPlane {
    /// Starts one and waits until it is ready.
    ///
    /// # Errors
    /// When it doesn't become ready.
    pub async fn start(
        shared: &Shared,
        directory: &Path,
        database: &str,
        more_settings: &str,
    ) -> Result<Self> {
        Self::start_over(
            shared,
            directory,
            &shared.cluster.url(database),
            more_settings,
        )
        .await
    }

    /// Starts one over a database of another cluster, and waits until it is ready.
    ///
    /// # Errors
    /// When it doesn't become ready.
    pub async fn start_over(
        shared: &Shared,
        directory: &Path,
        url: &str,
        more_settings: &str,
    ) -> Result<Self> {
        let mut this = Self::launch(shared, directory, url, more_settings)?;
        this.wait_for("/healthz/ready").await?;
        Ok(this)
    }

    /// Starts one and waits only until it is live.
    ///
    /// # Errors
    /// When it doesn't become live.
    pub async fn start_unready(shared: &Shared, directory: &Path, database: &str) -> Result<Self> {
        let mut this = Self::launch(shared, directory, &shared.cluster.url(database), "")?;
        this.wait_for("/healthz/live").await?;
        Ok(this)
    }

    fn launch(shared: &Shared, directory: &Path, url: &str, more_settings: &str) -> Result<Self> {
        let port = slots::port()?;
        let address = format!("127.0.0.1:{port}");
        let config = directory.join(format!("control-plane-{port}.toml"));
        let log = directory.join(format!("control-plane-{port}.log"));
        std::fs::write(
            &config,
            shared.control_plane_config(&address, url) + more_settings,
        )?;
        let program = shared.program("guilds-control-plane");
        Ok(Self {
            daemon: serve(&program, &config, &log)?,
            program,
            config,
            log,
            address,
        })
    }

    /// `host:port` of its API.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
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

    /// Its pid.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// `SIGKILL`.
    ///
    /// # Errors
    /// When it is gone already.
    pub fn kill(&mut self) -> Result<()> {
        self.daemon.kill()
    }

    /// `SIGTERM`, and waits for its end.
    ///
    /// # Errors
    /// When it doesn't end.
    pub fn stop(&mut self) -> Result<()> {
        self.daemon.stop()
    }

    /// Starts it again with the same settings.
    ///
    /// # Errors
    /// When it doesn't become ready.
    pub async fn start_again(&mut self) -> Result<()> {
        self.daemon = serve(&self.program, &self.config, &self.log)?;
        self.wait_for("/healthz/ready").await
    }

    async fn wait_for(&mut self, path: &str) -> Result<()> {
        let api = Api::new(&self.address, None);
        let deadline = Instant::now() + START_LIMIT;
        while Instant::now() < deadline {
            if let Ok(answer) = api.get(path).await
                && answer.status == 200
            {
                return Ok(());
            }
            if let Some(status) = self.daemon.ended()? {
                bail!("the control plane ended with {status}:\n{}", self.log());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        bail!("{path} is not answered with 200:\n{}", self.log())
    }
}

fn serve(program: &Path, config: &Path, log: &Path) -> Result<Daemon> {
    let mut command = command(program);
    command
        .args(["serve", "--config"])
        .arg(config)
        .env_remove("TOOL_RESULT_MAX_BYTES");
    Daemon::start("control plane", &mut command, log)
}
