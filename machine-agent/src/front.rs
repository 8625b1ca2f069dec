//! The front: root, mutual TLS, accounts, firewall, runners; it parses no body and touches no file in a home.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::cgroup::Hierarchy;
use crate::config::{self, Config};
use crate::process::Children;
use crate::{spawn, telemetry};

mod accounts;
mod agents;
mod firewall;
mod homes;
mod identity;
mod keeper;
mod link;
mod pass;
mod places;
mod router;
mod server;

use agents::Agents;
use firewall::Table;
use identity::Identity;
use places::Places;

/// How long SIGTERM lets requests in flight finish. A runner keeps what is
/// cut off, and the control plane asks the next front for it.
const FINISH: Duration = Duration::from_secs(5);
/// The same when the runners end too: their calls end with them.
const FINISH_ALL: Duration = Duration::from_secs(1);

/// Settings and certificates that were read and found right.
#[derive(Debug)]
pub struct Checked {
    config: Config,
    identity: Identity,
}

/// Reads the settings and all they name.
///
/// # Errors
/// Every problem, a line each, with its file and line.
pub fn check(path: &Path) -> Result<Checked, String> {
    let mut loaded = None;
    let config = config::load(path, |config| match Identity::load(config) {
        Ok(identity) => {
            loaded = Some(identity);
            config::More::new()
        }
        Err(problems) => problems,
    })
    .map_err(|error| error.to_string())?;
    // Without a problem there is an identity.
    let identity = loaded.ok_or_else(|| format!("{}: no identity", path.display()))?;
    Ok(Checked { config, identity })
}

/// Everything the front's tasks share.
#[derive(Debug)]
struct Front {
    config: Config,
    /// The front's own program, which runners execute.
    program: OwnedFd,
    /// Whether this is root; without it every agent runs as the caller.
    root: bool,
    /// Where groups are; none without root.
    hierarchy: Option<Hierarchy>,
    /// None without root, or when the settings say off.
    firewall: Option<Table>,
    accounts: accounts::Queue,
    places: Places,
    children: Children,
    /// End of this machine's certificate, RFC 3339 UTC.
    certificate_not_after: String,
}

/// Why a front can't serve, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    /// Something that was needed at the start, and the system's reason.
    #[error("{0}")]
    Start(String, #[source] std::io::Error),
    /// A sentence.
    #[error("{0}")]
    Refused(String),
}

fn at<T: std::fmt::Display>(what: T) -> impl FnOnce(std::io::Error) -> FrontError {
    move |error| FrontError::Start(what.to_string(), error)
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// What was missing at the start.
pub fn run(checked: Checked) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(serve(checked))?;
    // Blocking look-ups that still wait for a name service aren't waited for.
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(())
}

async fn serve(checked: Checked) -> Result<(), FrontError> {
    let Checked { config, identity } = checked;
    let root = nix::unistd::geteuid().is_root();
    prepare_folders(&config, root)?;
    let hierarchy = if root {
        Some(Hierarchy::detect().map_err(FrontError::Refused)?)
    } else {
        nix::sys::prctl::set_child_subreaper(true)
            .map_err(|errno| FrontError::Start("child subreaper".to_owned(), errno.into()))?;
        tracing::warn!(
            "not root: no accounts, no cgroups, no firewall; every agent runs as this user below {}, and nothing keeps them apart",
            config.home_root.display()
        );
        None
    };
    let places = Places::load(&config.state_dir).map_err(at("the agents' places"))?;
    let firewall = start_firewall(&config, root).await;
    let listener = TcpListener::bind(config.listen)
        .await
        .map_err(at(config.listen))?;
    let address = listener.local_addr().map_err(at(config.listen))?;
    let front = Arc::new(Front {
        program: spawn::own_program().map_err(at("this program"))?,
        root,
        hierarchy,
        firewall,
        accounts: accounts::Queue::default(),
        places,
        children: Children::default(),
        certificate_not_after: identity.not_after.clone(),
        config,
    });
    let agents = Arc::new(Agents::new(Arc::clone(&front)));
    agents.find_again();
    let mut terminate = signal(SignalKind::terminate()).map_err(at("SIGTERM"))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(at("SIGINT"))?;
    let mut server = server::Server::new(listener, identity, Arc::clone(&agents));
    telemetry::status(
        true,
        &format!("serves {} on {address}", front.config.machine),
    );
    tokio::select! {
        () = server.accept() => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    telemetry::status(false, "stops");
    let all = front.config.end_runners_on_stop;
    server.finish(if all { FINISH_ALL } else { FINISH }).await;
    if all {
        agents.stop_all().await;
        if let Some(firewall) = &front.firewall {
            firewall.remove().await;
        }
    }
    Ok(())
}

async fn start_firewall(config: &Config, root: bool) -> Option<Table> {
    if !root {
        return None;
    }
    if config.firewall == config::Firewall::Off {
        tracing::warn!(
            "firewall = \"off\": the DevTools port of every agent's Chrome is open to every local user"
        );
        return None;
    }
    let table = Table::new(config);
    if let Err(error) = table.load().await {
        tracing::error!(%error, "the firewall table is not loaded; browser calls are refused until it is");
    }
    Some(table)
}

fn prepare_folders(config: &Config, root: bool) -> Result<(), FrontError> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    for folder in [&config.run_dir, &config.state_dir] {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(at(folder.display()))?;
        let found = std::fs::symlink_metadata(folder).map_err(at(folder.display()))?;
        let own = nix::unistd::geteuid().as_raw();
        if !found.is_dir() || found.uid() != own || found.mode() & 0o077 != 0 {
            return Err(FrontError::Refused(format!(
                "{} must be a folder of user {own} with mode 0700",
                folder.display()
            )));
        }
    }
    if !root {
        let homes = &config.home_root;
        std::fs::create_dir_all(homes).map_err(at(homes.display()))?;
    }
    Ok(())
}
