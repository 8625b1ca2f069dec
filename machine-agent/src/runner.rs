//! The runner: one per agent, that agent's user and no privilege; it starts helpers and Chrome and keeps their results.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use machine_agent_api::Kind;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::cgroup::Group;
use crate::memory;
use crate::process::Children;
use crate::sys;

mod call;
mod calls;
mod chrome;
mod files;
mod helper;
mod room;
mod scripts;
mod server;

pub use chrome::FIRST_PORT;
pub use server::{HELLO_PATH, Hello, STOP_PATH};

/// What the front tells a runner on its command line.
#[derive(Debug, Clone, clap::Args)]
pub struct RunnerArguments {
    /// Inherited listening socket
    #[arg(long)]
    pub listen_fd: i32,
    /// Agent id
    #[arg(long)]
    pub agent: String,
    /// The agent's home
    #[arg(long)]
    pub home: PathBuf,
    /// Directory of the helpers
    #[arg(long)]
    pub helpers_dir: PathBuf,
    /// Chrome's own binary, not its wrapper
    #[arg(long)]
    pub chrome: PathBuf,
    /// The agent's cgroup v2 directory; without it descendants are ended one by one
    #[arg(long)]
    pub cgroup: Option<PathBuf>,
}

/// Calls other than the browser's that run at once.
const SIDE_BY_SIDE: usize = 8;

/// What all calls of this runner share.
#[derive(Debug)]
struct World {
    /// Agent id, also the name in `USER`.
    agent: String,
    home: PathBuf,
    helpers_dir: PathBuf,
    chrome_program: PathBuf,
    /// The agent's directory of groups.
    group: Option<Group>,
    children: Children,
    calls: Arc<calls::Calls>,
    /// Browser calls go one after another.
    browser: Semaphore,
    /// The others side by side, so many.
    others: Semaphore,
    /// Chrome belongs to whoever holds the browser's permit, who takes it from here.
    chrome: Mutex<Option<chrome::Chrome>>,
    counter: AtomicU64,
    /// Names of the groups of running calls.
    rooms: Mutex<BTreeSet<String>>,
    /// Set once this runner ends: calls that it cuts off then were cancelled by nobody.
    stopping: AtomicBool,
    /// When the last browser call was asked for.
    browser_used: Mutex<Option<Instant>>,
}

impl World {
    fn new(arguments: RunnerArguments) -> Self {
        Self {
            agent: arguments.agent,
            home: arguments.home,
            helpers_dir: arguments.helpers_dir,
            chrome_program: arguments.chrome,
            group: arguments.cgroup.map(Group::at),
            children: Children::default(),
            calls: Arc::default(),
            browser: Semaphore::new(1),
            others: Semaphore::new(SIDE_BY_SIDE),
            chrome: Mutex::new(Some(chrome::Chrome::default())),
            counter: AtomicU64::new(0),
            rooms: Mutex::default(),
            stopping: AtomicBool::new(false),
            browser_used: Mutex::default(),
        }
    }

    fn next_number(&self) -> u64 {
        self.counter.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn rooms(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_browser(&self, kind: Kind) {
        if kind == Kind::Browser {
            *self
                .browser_used
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }

    fn browser_used(&self) -> Option<Instant> {
        *self
            .browser_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn chrome(&self) -> std::sync::MutexGuard<'_, Option<chrome::Chrome>> {
        self.chrome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a runner can't run.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The inherited listener isn't one.
    #[error("the inherited listener")]
    Listener(#[source] std::io::Error),
    /// The system refused something at the start.
    #[error("{0}")]
    Start(&'static str, #[source] std::io::Error),
}

/// Serves until SIGTERM or the front's request to stop, then ends all it started.
///
/// # Errors
/// When the start fails; nothing was started then.
pub fn run(arguments: RunnerArguments) -> Result<(), RunnerError> {
    let listener = sys::inherited_listener(arguments.listen_fd).map_err(RunnerError::Listener)?;
    let start = |what| move |error: nix::errno::Errno| RunnerError::Start(what, error.into());
    // The agent's other processes have the same user: without this they could
    // read this one's memory and descriptors.
    memory::protect().map_err(start("not dumpable"))?;
    nix::sys::prctl::set_child_subreaper(true).map_err(start("child subreaper"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| RunnerError::Start("the runtime", error))?;
    runtime.block_on(async move {
        listener
            .set_nonblocking(true)
            .map_err(RunnerError::Listener)?;
        let listener = UnixListener::from_std(listener).map_err(RunnerError::Listener)?;
        let world = Arc::new(World::new(arguments));
        let mut terminate = signal(SignalKind::terminate())
            .map_err(|error| RunnerError::Start("SIGTERM", error))?;
        let mut child =
            signal(SignalKind::child()).map_err(|error| RunnerError::Start("SIGCHLD", error))?;
        let (stop, mut stopped) = tokio::sync::watch::channel(false);
        let serve = server::serve(listener, Arc::clone(&world), stop);
        tokio::pin!(serve);
        loop {
            tokio::select! {
                _ = &mut serve => break,
                _ = terminate.recv() => break,
                _ = stopped.wait_for(|stop| *stop) => break,
                _ = child.recv() => world.children.reap_strangers(),
            }
        }
        end_all(&world).await;
        Ok(())
    })
}

/// Ends calls, then Chrome, which gets time to write its profile.
async fn end_all(world: &World) {
    world.stopping.store(true, Ordering::Release);
    world.calls.cancel_all();
    let _ = tokio::time::timeout(crate::cgroup::EMPTY_WITHIN, world.calls.idle()).await;
    let chrome = world.chrome().take();
    if let Some(mut chrome) = chrome {
        chrome.stop(world).await;
    }
}
