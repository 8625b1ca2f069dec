//! The state machine that owns the agent's Chrome.
//!
//! ```text
//!             started                   its port answers
//!   Absent ────────────▶ Starting ─────────────────────────▶ Running
//!     ▲                     │                                   │
//!     │   ended, or 20 s    │                                   │  ended, silent port,
//!     └─────────────────────┴───────────────────────────────────┘  or another slot
//! ```
//!
//! Only the holder of the browser's permit moves it, by [`Chrome::ready`]. The
//! first start says nothing; a start after an end is a notice in the reply.

use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::World;
use super::helper::{Keep, Stream};
use super::room::{CHROME, Room};
use crate::process::{Child, Exit};
use crate::spawn::{self, AgentStart};

mod flags;
mod listener;
mod profile;
mod version;

/// DevTools port of slot 0, contract "Programs and words".
pub const FIRST_PORT: u16 = 9300;
/// How long a start may take, contract "Chrome".
const START: Duration = Duration::from_secs(20);
/// How long a Chrome that was asked to end may write its profile.
const STOP: Duration = Duration::from_secs(3);
/// How long a Chrome that is doubted may take to say that it is there.
const ANSWERS: Duration = Duration::from_secs(5);
/// Most bytes of Chrome's stderr kept for the log.
const LOG_TAIL: usize = 4 << 10;

/// Why there is no Chrome to speak to.
#[derive(Debug)]
pub enum ChromeError {
    /// Something of the agent's or another user's is in the way: for whoever called.
    Refused(String),
    /// It doesn't work here.
    Failed {
        /// One sentence for whoever called.
        message: String,
        /// For the log.
        detail: String,
    },
}

/// The agent's Chrome, or its absence.
#[derive(Debug, Default)]
pub struct Chrome {
    state: State,
    /// What a reply has to tell of an earlier Chrome.
    lost: Option<&'static str>,
    /// The last call came to no good end, so that the next one asks whether
    /// it still answers before it relies on it.
    doubted: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Absent,
    Starting(Process, Instant),
    Running(Process, listener::Sockets),
}

/// A Chrome that was started.
#[derive(Debug)]
struct Process {
    child: Arc<Child>,
    port: u16,
    room: Room,
    /// Its exit and the end of its log, told once.
    end: watch::Receiver<Option<(Option<Exit>, String)>>,
}

const ENDED: &str =
    "Chrome had ended and was started again; its tabs are gone, its profile was kept.";
const SILENT: &str = "Chrome did not answer any more and was started again; its tabs are gone, its profile was kept.";
const MOVED: &str =
    "Chrome was started again on another port; its tabs are gone, its profile was kept.";

/// Chrome, taken from the world for as long as the browser's permit is held.
#[derive(Debug)]
pub struct Lease<'a> {
    world: &'a World,
    chrome: Option<Chrome>,
}

impl<'a> Lease<'a> {
    /// Takes it; none when the runner is stopping.
    pub fn take(world: &'a World) -> Option<Self> {
        let chrome = world.chrome().take()?;
        Some(Self {
            world,
            chrome: Some(chrome),
        })
    }

    /// The Chrome.
    pub fn chrome(&mut self) -> &mut Chrome {
        self.chrome.get_or_insert_default()
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        *self.world.chrome() = self.chrome.take();
    }
}

impl Chrome {
    /// Sees to it that this agent's Chrome listens on `port`, at most 20 s for
    /// a start. Answers the notices of the reply. Safe to cancel: the next
    /// call goes on where this one stopped.
    ///
    /// # Errors
    /// When something else has the port, or Chrome doesn't start.
    pub async fn ready(&mut self, world: &World, port: u16) -> Result<Vec<String>, ChromeError> {
        loop {
            match &mut self.state {
                State::Absent => {
                    let process = start(world, port).await?;
                    self.state = State::Starting(process, Instant::now());
                }
                State::Starting(process, since) => match process.answer(until(*since)).await {
                    Ok(sockets) => {
                        let State::Starting(process, _) = std::mem::take(&mut self.state) else {
                            continue;
                        };
                        self.state = State::Running(process, sockets);
                        return Ok(self.lost.take().map(str::to_owned).into_iter().collect());
                    }
                    Err(error) => {
                        self.end().await;
                        return Err(error);
                    }
                },
                State::Running(process, _) if process.port != port => {
                    self.lost = Some(MOVED);
                    self.stop(world).await;
                }
                State::Running(process, sockets) => match process.still(sockets) {
                    Still::Listens if !self.doubted => return Ok(Vec::new()),
                    Still::Listens => {
                        let asked = version::ask(port, Instant::now() + ANSWERS).await;
                        self.doubted = false;
                        if asked.is_ok() {
                            return Ok(Vec::new());
                        }
                        self.lost = Some(SILENT);
                        self.end().await;
                    }
                    Still::Ended => {
                        self.lost = Some(ENDED);
                        self.end().await;
                    }
                    Still::Foreign(sentence) => return Err(ChromeError::Refused(sentence)),
                },
            }
        }
    }

    /// A call came to no good end: the next one looks first.
    pub fn doubt(&mut self) {
        self.doubted = true;
    }

    /// Asks it to end, then ends it and all beside it.
    pub async fn stop(&mut self, world: &World) {
        if let State::Starting(process, _) | State::Running(process, _) = &mut self.state {
            let _ = process.child.signal(Signal::SIGTERM);
            let _ = timeout(STOP, process.end.wait_for(Option::is_some)).await;
        }
        self.end().await;
        world.children.reap_strangers();
    }

    async fn end(&mut self) {
        let (State::Starting(mut process, _) | State::Running(mut process, _)) =
            std::mem::take(&mut self.state)
        else {
            return;
        };
        let leader = process.end.borrow().is_none().then_some(process.child.pid);
        if let Err(error) = process.room.end(leader).await {
            tracing::warn!(%error, "Chrome's processes");
        }
        let _ = timeout(STOP, process.end.wait_for(Option::is_some)).await;
        process.room.remove();
    }
}

/// The end of a start's time; a start that a cancelled call left behind is
/// still looked at once it is long over.
fn until(since: Instant) -> Instant {
    (since + START).max(Instant::now() + Duration::from_secs(2))
}

/// What became of a running Chrome's port.
enum Still {
    Listens,
    Ended,
    Foreign(String),
}

impl Process {
    fn exited(&self) -> Option<(Option<Exit>, String)> {
        self.end.borrow().clone()
    }

    fn still(&self, sockets: &listener::Sockets) -> Still {
        if self.exited().is_some() {
            return Still::Ended;
        }
        let found = listener::on_port(self.port);
        match found.check(self.port, &self.room, self.child.pid, Some(sockets)) {
            listener::Verdict::Own(_) => Still::Listens,
            listener::Verdict::Nobody => Still::Ended,
            listener::Verdict::Foreign(sentence) => Still::Foreign(sentence),
        }
    }

    /// Waits until it listens on its IPv4 port and answers there.
    async fn answer(&mut self, until: Instant) -> Result<listener::Sockets, ChromeError> {
        let mut said = "it did not listen".to_owned();
        while Instant::now() < until {
            if let Some((exit, log)) = self.exited() {
                let exit = exit.map_or_else(|| "unknown exit".to_owned(), |exit| exit.to_string());
                return Err(ChromeError::Failed {
                    message: "Chrome ended while it started".to_owned(),
                    detail: format!("{exit}\n{log}"),
                });
            }
            match listener::on_port(self.port).check(self.port, &self.room, self.child.pid, None) {
                listener::Verdict::Own(sockets) => match version::ask(self.port, until).await {
                    Ok(()) => return Ok(sockets),
                    Err(error) => said = error.to_string(),
                },
                listener::Verdict::Foreign(sentence) => return Err(ChromeError::Refused(sentence)),
                listener::Verdict::Nobody => {}
            }
            sleep(Duration::from_millis(10)).await;
        }
        Err(ChromeError::Failed {
            message: format!(
                "Chrome did not answer within {} s of its start",
                START.as_secs()
            ),
            detail: said,
        })
    }
}

async fn start(world: &World, port: u16) -> Result<Process, ChromeError> {
    let failed = |message: &str| {
        let message = message.to_owned();
        move |error: std::io::Error| ChromeError::Failed {
            message,
            detail: error.to_string(),
        }
    };
    // Ends what an ended Chrome left, and what else moved there: from here on
    // the profile's locks have no living owner in this group.
    let room = Room::open(world, CHROME)
        .await
        .map_err(failed("Chrome's group could not be made"))?;
    room.end(None)
        .await
        .map_err(failed("what Chrome left running could not be ended"))?;
    let found = listener::on_port(port);
    if let listener::Verdict::Foreign(sentence) = found.check(port, &room, 0, None) {
        return Err(ChromeError::Refused(sentence));
    }
    let profile = profile::prepare(&world.home)?;
    let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)
        .map_err(|error| failed("Chrome's log could not be made")(error.into()))?;
    let log = Stream::new(read, Keep::Last(LOG_TAIL))
        .map_err(failed("Chrome's log could not be made"))?;
    let child = spawn::for_agent(
        &world.children,
        &AgentStart {
            program: &world.chrome_program,
            arguments: flags::arguments(port, &profile, flags::small_shared_memory()),
            environment: spawn::environment(&world.agent, &world.home),
            stdio: [None, None, Some(&write)],
            cgroup: room.path(),
            directory: &world.home,
            ends_with_runner: true,
        },
    )
    .map_err(failed("Chrome could not be started"))?;
    tracing::info!(port, pid = child.pid, "Chrome starts");
    let child = Arc::new(child);
    let (tell, end) = watch::channel(None);
    // Owned by Chrome's life: it ends when the process and its log do.
    tokio::spawn(watch_end(Arc::clone(&child), log, tell));
    Ok(Process {
        child,
        port,
        room,
        end,
    })
}

/// Reads the log so that Chrome never waits for it, collects the process and tells its end.
async fn watch_end(
    child: Arc<Child>,
    mut log: Stream,
    tell: watch::Sender<Option<(Option<Exit>, String)>>,
) {
    let exit = loop {
        tokio::select! {
            biased;
            exit = child.exited() => break exit.ok(),
            () = log.read(), if log.is_open() => {}
        }
    };
    if let Some(exit) = exit {
        tracing::info!(pid = child.pid, %exit, "Chrome ended");
    }
    let _ = tell.send(Some((exit, log.text())));
}
