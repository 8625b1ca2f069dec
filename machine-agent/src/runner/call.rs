//! One call in its order: wait for its turn, make ready, run the helper in a group of its own, prove it empty, read the reply.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use machine_agent_api::{CallRequest, CallState, Kind, Reply};
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout};

use super::calls::Cancel;
use super::helper::{Ended, Pipes, cancelled};
use super::room::{self, Room};
use super::scripts::ScriptError;
use super::{World, chrome, scripts};
use crate::answer::Refused;
use crate::cgroup::EMPTY_WITHIN;
use crate::process::Exit;
use crate::spawn::{self, AgentStart};

/// How long a call may wait for the agent's other calls, contract "Browser".
const QUEUE: Duration = Duration::from_secs(60);
/// What a helper gets beyond its own limit before the runner ends it.
const GRACE: Duration = Duration::from_secs(2);
/// Longest limit a request may name, in milliseconds.
const MOST_LIMIT_MS: u64 = 600_000;
/// Most output a request may ask for: the largest cap of a result and 64 KiB.
const MOST_OUTPUT: u64 = (16 << 20) + (64 << 10);

/// A call as it was asked for, checked.
#[derive(Debug)]
pub struct Order {
    /// Which helper.
    pub kind: Kind,
    /// Its verb.
    pub verb: String,
    /// The agent's slot, which names Chrome's port.
    pub slot: u8,
    /// What the helper is told.
    pub request: CallRequest,
}

impl Order {
    /// Checks a request before anything is registered.
    ///
    /// # Errors
    /// 422 naming what is wrong and what is allowed.
    pub fn check(&self) -> Result<(), Refused> {
        let request = &self.request;
        if !(1..=MOST_LIMIT_MS).contains(&request.limit_ms) {
            return Err(Refused::invalid(format!(
                "`limit_ms` is {}; allowed are 1 to {MOST_LIMIT_MS}",
                request.limit_ms
            )));
        }
        if request.max_output_bytes > MOST_OUTPUT {
            return Err(Refused::invalid(format!(
                "`max_output_bytes` is {}; allowed are 0 to {MOST_OUTPUT}",
                request.max_output_bytes
            )));
        }
        if !request.arguments.get().trim_start().starts_with('{') {
            return Err(Refused::invalid("`arguments` is not an object"));
        }
        match (self.kind, &request.script) {
            (Kind::ScriptRun, None) => Err(Refused::invalid("a script-run call needs `script`")),
            (Kind::ScriptRun, Some(script)) => {
                scripts::check(script).map_err(|error| Refused::invalid(error.to_string()))
            }
            (_, Some(_)) => Err(Refused::invalid("only a script-run call has `script`")),
            (_, None) => Ok(()),
        }
    }

    fn port(&self) -> u16 {
        chrome::FIRST_PORT + u16::from(self.slot)
    }

    /// The helper's program and its arguments, contract "Helpers' protocol".
    fn command(&self, world: &World) -> (&'static str, Vec<String>) {
        let home = world.home.display().to_string();
        let mut arguments = match (self.kind, &self.request.script) {
            (Kind::Browser, _) => {
                let port = self.port().to_string();
                vec![self.verb.clone(), "--port".to_owned(), port]
            }
            (Kind::ScriptRun, Some(script)) => vec!["--name".to_owned(), script.name.clone()],
            (Kind::ScriptRun, None) => Vec::new(),
            (Kind::Code, _) => vec![self.verb.clone()],
        };
        arguments.extend(["--home".to_owned(), home]);
        let program = match self.kind {
            Kind::Browser => "guilds-browser",
            Kind::ScriptRun => "guilds-script-run",
            Kind::Code => "guilds-code",
        };
        (program, arguments)
    }

    /// The object on the helper's stdin.
    fn input(self) -> serde_json::Result<Vec<u8>> {
        let script = self.request.script.map(|s| (s.sha256, s.source)).unzip();
        serde_json::to_vec(&helper_protocol::Request {
            arguments: self.request.arguments,
            env: self.request.env,
            limit_ms: self.request.limit_ms,
            max_output_bytes: usize::try_from(self.request.max_output_bytes).unwrap_or(usize::MAX),
            sha256: script.0,
            source: script.1,
        })
    }
}

/// An end of a call before its helper answered.
type Early = CallState;

/// Runs one call to its end.
pub async fn run(world: Arc<World>, order: Order, mut cancel: Cancel) -> CallState {
    let kind = order.kind;
    let verb = order.verb.clone();
    let state = match attempt(&world, order, &mut cancel).await {
        // What the front would say, had the runner been killed.
        Ok(CallState::Cancelled) | Err(CallState::Cancelled)
            if world.stopping.load(Ordering::Acquire) =>
        {
            CallState::Lost {
                message: "the agent's runner ended".to_owned(),
            }
        }
        Ok(state) | Err(state) => state,
    };
    if let CallState::Failed { message, detail } = &state {
        // The control plane logs it under the call's id; here it stands for
        // whoever reads this machine alone.
        tracing::warn!(%kind, verb, %message, detail_bytes = detail.len(), "a call failed");
    }
    state
}

async fn attempt(world: &World, order: Order, cancel: &mut Cancel) -> Result<CallState, Early> {
    let turn = take_turn(world, order.kind, cancel).await?;
    if let Some(agent) = &world.group {
        let live = world.live_rooms();
        room::end_strays(agent, &live)
            .await
            .map_err(|error| failed("what the agent left running could not be ended", error))?;
    }
    let notices = match order.kind {
        Kind::Browser => make_chrome_ready(world, &order, cancel).await?,
        Kind::ScriptRun => {
            write_script(world, &order).await?;
            Vec::new()
        }
        Kind::Code => Vec::new(),
    };
    let is_browser = order.kind == Kind::Browser;
    let mut state = run_helper(world, order, cancel).await?;
    let good = matches!(&state, CallState::Done { reply } if reply.error.is_none());
    if is_browser
        && !good
        && let Some(chrome) = world.chrome().as_mut()
    {
        chrome.doubt();
    }
    drop(turn);
    if let CallState::Done { reply } = &mut state {
        reply.notices = notices;
    }
    Ok(state)
}

async fn take_turn<'a>(
    world: &'a World,
    kind: Kind,
    cancel: &mut Cancel,
) -> Result<SemaphorePermit<'a>, Early> {
    let queue = match kind {
        Kind::Browser => &world.browser,
        Kind::ScriptRun | Kind::Code => &world.others,
    };
    tokio::select! {
        biased;
        () = cancelled(cancel) => Err(CallState::Cancelled),
        turn = timeout(QUEUE, queue.acquire()) => match turn {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(closed)) => Err(failed("the runner is stopping", closed)),
            Err(_) => Err(CallState::Busy {
                message: format!(
                    "the agent's other {} ran for {} s, so this one never began",
                    if kind == Kind::Browser { "browser calls" } else { "calls" },
                    QUEUE.as_secs()
                ),
            }),
        },
    }
}

async fn make_chrome_ready(
    world: &World,
    order: &Order,
    cancel: &mut Cancel,
) -> Result<Vec<String>, Early> {
    let mut lease = chrome::Lease::take(world)
        .ok_or_else(|| failed("the runner is stopping", "Chrome was taken"))?;
    let ready = tokio::select! {
        biased;
        () = cancelled(cancel) => return Err(CallState::Cancelled),
        ready = lease.chrome().ready(world, order.port()) => ready,
    };
    match ready {
        Ok(notices) => Ok(notices),
        Err(chrome::ChromeError::Refused(sentence)) => Err(refused(sentence)),
        Err(chrome::ChromeError::Failed { message, detail }) => {
            Err(CallState::Failed { message, detail })
        }
    }
}

async fn write_script(world: &World, order: &Order) -> Result<(), Early> {
    let Some(script) = order.request.script.clone() else {
        return Ok(());
    };
    match scripts::write(world.home.clone(), script).await {
        Ok(()) => Ok(()),
        Err(ScriptError::System(error)) => {
            Err(failed("the script's file could not be written", error))
        }
        Err(error) => Err(refused(error.to_string())),
    }
}

async fn run_helper(world: &World, order: Order, cancel: &mut Cancel) -> Result<CallState, Early> {
    let (program, arguments) = order.command(world);
    let limit = Duration::from_millis(order.request.limit_ms);
    let most = order.request.max_output_bytes;
    let input = order
        .input()
        .map_err(|error| failed("the request could not be written as JSON", error))?;
    let (mut pipes, ends) = Pipes::new(most_reply(most))
        .map_err(|error| failed("the helper's pipes could not be made", error))?;
    let room = world
        .open_room()
        .await
        .map_err(|error| failed("the call's group could not be made", error))?;
    let started = Instant::now();
    let child = spawn::for_agent(
        &world.children,
        &AgentStart {
            program: &world.helpers_dir.join(program),
            arguments,
            environment: spawn::environment(&world.agent, &world.home),
            stdio: [Some(&ends.stdin), Some(&ends.stdout), Some(&ends.stderr)],
            cgroup: room.room.path(),
            directory: &world.home,
            ends_with_runner: false,
        },
    )
    .map_err(|error| match home_in_the_way(&world.home) {
        Some(sentence) => refused(sentence),
        None => failed(&format!("the helper {program} could not be started"), error),
    })?;
    drop(ends);
    let attended = pipes
        .attend(&child, &input, started + limit + GRACE, cancel)
        .await;
    let ended = attended.map_err(|error| failed("the helper's end could not be seen", error))?;
    pipes.drain();
    let alive = !matches!(ended, Ended::Exited(_));
    let leader = alive.then_some(child.pid);
    room.room
        .end(leader)
        .await
        .map_err(|error| failed("what the call started could not be ended", error))?;
    if alive {
        // Dead by now, unless it was moved out of the call's group.
        let _ = child.signal(nix::sys::signal::Signal::SIGKILL);
        let _ = timeout(EMPTY_WITHIN, child.exited()).await;
        pipes.drain();
    }
    drop(room);
    world.children.reap_strangers();
    Ok(read_end(program, ended, limit, &pipes))
}

/// Why nothing can be started in the home, when that is what the agent did to it.
fn home_in_the_way(home: &std::path::Path) -> Option<String> {
    let entered = std::fs::metadata(home.join("."));
    let error = entered.err()?;
    Some(format!(
        "the agent's home can't be entered ({}); the start of its next run sees to it",
        error.kind()
    ))
}

/// JSON writes a control character as six bytes; beside the output there is little.
fn most_reply(max_output_bytes: u64) -> usize {
    usize::try_from(max_output_bytes)
        .unwrap_or(usize::MAX)
        .saturating_mul(6)
        .saturating_add(64 << 10)
}

fn read_end(program: &str, ended: Ended, limit: Duration, pipes: &Pipes) -> CallState {
    let failed = |message: String, detail: String| CallState::Failed { message, detail };
    match ended {
        Ended::Cancelled => CallState::Cancelled,
        Ended::Limit => failed(
            format!(
                "{program} did not end within {} s and was ended",
                (limit + GRACE).as_secs_f64()
            ),
            pipes.log_tail(),
        ),
        Ended::Exited(Exit::Code(0)) => match pipes.reply().map(read_reply) {
            Some(Ok(reply)) => CallState::Done { reply },
            Some(Err(error)) => failed(
                format!("{program} answered no object"),
                format!("{error}\n{}", pipes.log_tail()),
            ),
            None => failed(
                format!("{program} answered more than it may"),
                pipes.log_tail(),
            ),
        },
        Ended::Exited(exit) => failed(
            format!("{program} ended without an answer"),
            format!("{exit}\n{}", pipes.log_tail()),
        ),
    }
}

fn read_reply(bytes: &[u8]) -> serde_json::Result<Reply> {
    let reply: helper_protocol::Reply = serde_json::from_slice(bytes)?;
    if reply.output.is_none() && reply.error.is_none() {
        return Err(serde::de::Error::custom("neither `output` nor `error`"));
    }
    let length = reply.output.as_ref().map_or(0, String::len) as u64;
    Ok(Reply {
        output: reply.output,
        error: reply.error,
        original_bytes: reply.original_bytes.unwrap_or(length),
        exit_code: reply.exit_code,
        notices: Vec::new(),
    })
}

fn failed(message: &str, cause: impl std::fmt::Display) -> CallState {
    CallState::Failed {
        message: message.to_owned(),
        detail: cause.to_string(),
    }
}

fn refused(sentence: String) -> CallState {
    CallState::Done {
        reply: Reply {
            error: Some(sentence),
            ..Reply::default()
        },
    }
}

/// A running call's room; its name is known as live until this is dropped.
struct OpenRoom<'a> {
    world: &'a World,
    room: Room,
    name: String,
}

impl World {
    /// Opens `call-n`: a counter, never the call's id, names it.
    async fn open_room(&self) -> std::io::Result<OpenRoom<'_>> {
        let name = format!("call-{}", self.next_number());
        self.rooms().insert(name.clone());
        let open = Room::open(self, &name).await;
        match open {
            Ok(room) => Ok(OpenRoom {
                world: self,
                room,
                name,
            }),
            Err(error) => {
                self.rooms().remove(&name);
                Err(error)
            }
        }
    }

    fn live_rooms(&self) -> Vec<String> {
        self.rooms().iter().cloned().collect()
    }
}

impl Drop for OpenRoom<'_> {
    fn drop(&mut self) {
        self.room.remove();
        self.world.rooms().remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(kind: Kind, request: &str) -> Order {
        Order {
            kind,
            verb: "run".to_owned(),
            slot: 7,
            request: serde_json::from_str(request).unwrap(),
        }
    }

    fn check(kind: Kind, request: &str) -> String {
        order(kind, request)
            .check()
            .map_or_else(|refused| refused.message, |()| "fine".to_owned())
    }

    #[test]
    fn a_request_is_checked_before_anything_runs() {
        assert_eq!(
            check(
                Kind::Code,
                r#"{"arguments":{},"limit_ms":0,"max_output_bytes":1}"#
            ),
            "`limit_ms` is 0; allowed are 1 to 600000"
        );
        assert_eq!(
            check(
                Kind::Code,
                r#"{"arguments":[],"limit_ms":1,"max_output_bytes":1}"#
            ),
            "`arguments` is not an object"
        );
        assert_eq!(
            check(
                Kind::Code,
                r#"{"arguments":{},"limit_ms":1,"max_output_bytes":99999999999}"#
            ),
            "`max_output_bytes` is 99999999999; allowed are 0 to 16842752"
        );
        assert_eq!(
            check(
                Kind::ScriptRun,
                r#"{"arguments":{},"limit_ms":1,"max_output_bytes":1}"#
            ),
            "a script-run call needs `script`"
        );
        assert_eq!(
            check(
                Kind::Code,
                r#"{"arguments":{},"limit_ms":1,"max_output_bytes":1}"#
            ),
            "fine"
        );
    }

    #[test]
    fn the_port_is_9300_and_the_slot() {
        let order = order(
            Kind::Browser,
            r#"{"arguments":{},"limit_ms":1,"max_output_bytes":1}"#,
        );
        assert_eq!(order.port(), 9307);
    }

    #[test]
    fn a_reply_needs_output_or_error() {
        assert!(read_reply(b"{}").is_err());
        assert!(read_reply(b"").is_err());
        assert!(read_reply(b"{\"output\":\"x\"} trailing").is_err());
        let reply = read_reply("{\"output\":\"\u{e9}\"}\n".as_bytes()).unwrap();
        assert_eq!(reply.original_bytes, 2);
    }
}
