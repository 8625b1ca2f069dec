//! The keeper of one agent: makes it ready, holds the one connection whose end is the runner's death, and cleans up after it.

use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::accounts::{self, AccountError};
use super::homes::{self, HomeError};
use super::places::Place;
use super::{Front, link};
use crate::answer::Refused;
use crate::cgroup::AgentGroup;
use crate::process::{Child, tree};
use crate::runner::FIRST_PORT;
use crate::spawn::{self, RunnerStart};
use crate::sys::Identity;

/// What a keeper is asked.
#[derive(Debug)]
pub enum Ask {
    /// Make the agent ready: for a call what is known suffices, and only the
    /// start of a run looks at everything and mends it.
    Ensure(Place, Care, oneshot::Sender<Result<Ready, Refused>>),
    /// End the runner and all below it, and keep no longer.
    Stop(oneshot::Sender<()>),
}

/// How closely an agent is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// Account, home and firewall are looked at anew.
    Whole,
    /// A living runner at the same place is enough.
    Known,
}

/// An agent that is ready.
#[derive(Debug, Clone)]
pub struct Ready {
    /// Its uid.
    pub uid: u32,
    /// Its home.
    pub home: PathBuf,
    /// Its runner's socket.
    pub socket: PathBuf,
    /// True once this runner has ended and nothing of the agent is left.
    pub ended: watch::Receiver<bool>,
}

/// A runner that dies sooner than this is started again only when it is asked for.
const LIVED: Duration = Duration::from_secs(10);
/// How long a runner that is asked to stop may take: its calls and Chrome's profile.
const STOP: Duration = Duration::from_secs(9);
/// How often a runner is looked at: whether it still answers, which one that
/// its own agent stopped does not, and whether an older one may be replaced.
const LOOK: Duration = Duration::from_secs(60);
/// How long an older runner must have had no browser call, contract "The machine".
const IDLE_S: u64 = 30 * 60;

/// One agent's keeper.
#[derive(Debug)]
pub struct Keeper {
    front: Arc<Front>,
    agent: String,
    place: Option<Place>,
    runner: Option<Runner>,
}

#[derive(Debug)]
struct Runner {
    link: link::Link,
    ready: Ready,
    ended: watch::Sender<bool>,
    /// None for one that an earlier front started.
    child: Option<Child>,
    since: Instant,
}

impl Keeper {
    /// A keeper that has done nothing yet.
    pub fn new(front: Arc<Front>, agent: String) -> Self {
        Self {
            front,
            agent,
            place: None,
            runner: None,
        }
    }

    /// Serves until it is asked to stop, or its askers are gone.
    pub async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        let mut look = Instant::now() + LOOK;
        loop {
            tokio::select! {
                ask = asks.recv() => match ask {
                    Some(Ask::Ensure(place, care, tell)) => {
                        let ready = self.ensure(&place, care).await;
                        let _ = tell.send(ready);
                    }
                    Some(Ask::Stop(tell)) => {
                        self.stop().await;
                        let _ = tell.send(());
                        return;
                    }
                    None => return,
                },
                () = ended(&mut self.runner) => {
                    if self.clean_up().await >= LIVED {
                        self.start_again().await;
                    }
                }
                () = sleep_until(look) => {
                    self.look().await;
                    look = Instant::now() + LOOK;
                }
            }
        }
    }

    async fn ensure(&mut self, place: &Place, care: Care) -> Result<Ready, Refused> {
        if self
            .runner
            .as_mut()
            .is_some_and(|runner| runner.link.has_ended())
            || care == Care::Whole && !self.answers().await
        {
            self.clean_up().await;
        }
        if care == Care::Known
            && let Some(runner) = &self.runner
            && self.place.as_ref() == Some(place)
            && self.is_protected(place, runner.ready.uid)
        {
            return Ok(runner.ready.clone());
        }
        let identity = self.account(place).await?;
        self.front
            .places
            .give(&self.agent, place)
            .map_err(|error| self.fault("its place could not be written", error))?;
        if let Some(firewall) = &self.front.firewall {
            let port = FIRST_PORT + u16::from(place.slot);
            if let Err(error) = firewall.give(port, identity.uid).await {
                // Everything but the browser works without it.
                tracing::error!(agent = self.agent, %error, "browser calls are refused");
            }
        }
        self.place = Some(place.clone());
        match &self.runner {
            Some(runner) if runner.ready.uid == identity.uid => return Ok(runner.ready.clone()),
            // The account was removed and made anew: the old one's processes go.
            Some(_) => self.stop().await,
            None => {}
        }
        let runner = self.find_or_start(identity).await?;
        let ready = runner.ready.clone();
        self.runner = Some(runner);
        Ok(ready)
    }

    /// Whether the firewall, where there is one, gives the port to this agent.
    fn is_protected(&self, place: &Place, uid: u32) -> bool {
        let port = FIRST_PORT + u16::from(place.slot);
        self.front
            .firewall
            .as_ref()
            .is_none_or(|firewall| firewall.names(port, uid))
    }

    /// Account and home; without root both are the caller's.
    async fn account(&self, place: &Place) -> Result<Identity, Refused> {
        let config = &self.front.config;
        let identity = if self.front.root {
            accounts::ensure(
                &self.front.accounts,
                config,
                &self.agent,
                &place.organisation,
            )
            .await
            .map_err(|error| match error {
                AccountError::Taken(sentence) => Refused::conflict(sentence),
                AccountError::System(_) => self.fault("its account could not be made", error),
            })?
        } else {
            Identity {
                uid: nix::unistd::geteuid().as_raw(),
                gid: nix::unistd::getegid().as_raw(),
            }
        };
        homes::ensure(&config.home_root, &self.agent, identity).map_err(|error| match error {
            HomeError::Taken(sentence) => Refused::conflict(sentence),
            HomeError::System(_) => self.fault("its home could not be made", error),
        })?;
        Ok(identity)
    }

    fn group(&self) -> Option<AgentGroup> {
        let hierarchy = self.front.hierarchy.as_ref()?;
        let root = &self.front.config.cgroup_root;
        Some(AgentGroup::named(hierarchy, root, &self.agent))
    }

    fn socket(&self) -> PathBuf {
        self.front
            .config
            .run_dir
            .join(format!("{}.sock", self.agent))
    }

    async fn find_or_start(&self, identity: Identity) -> Result<Runner, Refused> {
        let socket = self.socket();
        if let Ok(link) = link::Link::open(&socket).await {
            tracing::info!(
                agent = self.agent,
                version = link.version(),
                "an earlier front's runner was found"
            );
            return Ok(self.runner(link, identity, None));
        }
        let group = self.group();
        if let Some(group) = &group {
            // Whatever lives there has no runner that answers.
            group.end().await.map_err(|error| {
                self.fault("what an earlier runner left could not be ended", error)
            })?;
            group
                .make(identity, self.front.config.limits)
                .map_err(|error| self.fault("its cgroup could not be made", error))?;
        }
        let child = self
            .start(&socket, identity, group.as_ref())
            .map_err(|error| self.fault("its runner could not be started", error))?;
        match link::Link::open(&socket).await {
            Ok(link) => {
                tracing::info!(
                    agent = self.agent,
                    uid = identity.uid,
                    pid = child.pid,
                    "a runner started"
                );
                Ok(self.runner(link, identity, Some(child)))
            }
            Err(error) => {
                let _ = child.signal(nix::sys::signal::Signal::SIGKILL);
                let _ = timeout(STOP, child.exited()).await;
                Err(self.fault("its runner did not answer", error))
            }
        }
    }

    fn runner(&self, link: link::Link, identity: Identity, child: Option<Child>) -> Runner {
        let (ended, watch) = watch::channel(false);
        Runner {
            link,
            ready: Ready {
                uid: identity.uid,
                home: self.front.config.home_root.join(&self.agent),
                socket: self.socket(),
                ended: watch,
            },
            ended,
            child,
            since: Instant::now(),
        }
    }

    /// Binds the socket, gives it to a new runner, and keeps no copy of it.
    fn start(
        &self,
        socket: &Path,
        identity: Identity,
        group: Option<&AgentGroup>,
    ) -> std::io::Result<Child> {
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket)?;
        std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
        let listener = OwnedFd::from(listener);
        let config = &self.front.config;
        let home = config.home_root.join(&self.agent);
        let mut arguments = vec![
            "runner".to_owned(),
            "--listen-fd".to_owned(),
            "3".to_owned(),
        ];
        for (flag, value) in [
            ("--agent", self.agent.clone()),
            ("--home", home.display().to_string()),
            ("--helpers-dir", config.helpers_dir.display().to_string()),
            ("--chrome", config.chrome.display().to_string()),
        ] {
            arguments.extend([flag.to_owned(), value]);
        }
        if let Some(group) = group {
            let path = group.group.path().display().to_string();
            arguments.extend(["--cgroup".to_owned(), path]);
        }
        let user = if self.front.root {
            self.agent.clone()
        } else {
            caller()
        };
        let leaf = group.map(AgentGroup::runner);
        spawn::runner(
            &self.front.children,
            &RunnerStart {
                program: &self.front.program,
                listener: &listener,
                arguments,
                environment: spawn::environment(&user, &home),
                identity: self.front.root.then_some(identity),
                cgroup: leaf.as_ref().map(|leaf| leaf.path()),
                join: group
                    .map(AgentGroup::joins)
                    .transpose()?
                    .unwrap_or_default(),
            },
        )
    }

    /// After the runner's death: ends all the agent ran, Chrome with it.
    /// Answers how long the runner lived.
    async fn clean_up(&mut self) -> Duration {
        let Some(runner) = self.runner.take() else {
            return Duration::ZERO;
        };
        let lived = runner.since.elapsed();
        tracing::warn!(
            agent = self.agent,
            lived_s = lived.as_secs(),
            "the runner ended"
        );
        self.end_rest(runner).await;
        lived
    }

    async fn start_again(&mut self) {
        if let Some(place) = self.place.clone()
            && let Err(refused) = self.ensure(&place, Care::Whole).await
        {
            tracing::error!(
                agent = self.agent,
                message = refused.message,
                "no new runner"
            );
        }
    }

    async fn end_rest(&self, runner: Runner) {
        let group = self.group();
        let ended = match &group {
            Some(group) => group.end().await,
            None => Ok(()),
        };
        if let Some(child) = &runner.child {
            // Its connection may have ended first; without a cgroup it is ended here.
            let _ = child.signal(nix::sys::signal::Signal::SIGKILL);
            if let Ok(Ok(exit)) = timeout(STOP, child.exited()).await {
                tracing::info!(agent = self.agent, %exit, "the runner's exit");
            }
        }
        let ended = match group {
            Some(_) => ended,
            None => tree::end(&self.front.children, None).await,
        };
        if let Err(error) = ended {
            tracing::error!(agent = self.agent, %error, "what the agent ran could not be ended");
        }
        let _ = std::fs::remove_file(&runner.ready.socket);
        let _ = runner.ended.send(true);
    }

    async fn stop(&mut self) {
        let Some(mut runner) = self.runner.take() else {
            return;
        };
        runner.link.ask_to_stop(STOP).await;
        self.end_rest(runner).await;
        if let Some(group) = self.group() {
            group.remove();
        }
    }

    /// Whether the runner, if there is one, still introduces itself.
    async fn answers(&mut self) -> bool {
        let Some(runner) = &mut self.runner else {
            return true;
        };
        let hello = runner.link.hello().await;
        if let Err(error) = &hello {
            tracing::error!(agent = self.agent, %error, "the runner does not answer and is ended");
        }
        hello.is_ok()
    }

    async fn look(&mut self) {
        if !self.answers().await {
            self.clean_up().await;
            self.start_again().await;
        } else if let Some(runner) = &self.runner
            && !runner.link.is_current()
            && runner.link.is_idle(IDLE_S)
        {
            tracing::info!(agent = self.agent, "an older runner is replaced");
            self.stop().await;
            self.start_again().await;
        }
    }

    /// A fault of this machine: the log gets the cause, the caller a sentence.
    fn fault(&self, what: &str, cause: impl std::fmt::Display) -> Refused {
        tracing::error!(agent = self.agent, %cause, "{what}");
        Refused::failed(format!("agent {} is not ready: {what}", self.agent))
    }
}

/// The caller's own name, for agents that run as the caller.
fn caller() -> String {
    nix::unistd::User::from_uid(nix::unistd::geteuid())
        .ok()
        .flatten()
        .map_or_else(|| "agent".to_owned(), |user| user.name)
}

async fn ended(runner: &mut Option<Runner>) {
    match runner {
        Some(runner) => runner.link.ended().await,
        None => std::future::pending().await,
    }
}
