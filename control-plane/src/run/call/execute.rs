//! Executes claimed calls: storage calls in one durable transaction each, the others up to their sending.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use machine_agent_api::Kind;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::super::engine::Engine;
use super::super::error::RunError;
use super::super::inflight::Guard;
use super::super::result::{Facts, Redactor, Stamped, of_error};
use super::super::snapshot::Snapshot;
use super::Claimed;
use super::handler::{Handled, Lent, Words, handle};
use super::message::{Draft, FREE_TRIES, changing};
use super::target::Target;
use super::work::Work;
use crate::metrics::Outcome;
use crate::store::calls::{self, Destination, Message, Stored};
use crate::store::events;
use crate::telemetry::chain;
use crate::tools::{AfterCommit, HomeFile, MachineCall, ReadHome, ToolError};

/// Tries of a storage call that met another one's locks; nothing of a failed try stays.
const TRIES: u32 = 4;
/// Handlings of a storage call whose effect holds a text that was redacted with secrets that
/// are old by the time its message is stored.
const HANDLINGS: u32 = 3;

/// How far a call came in the database.
enum Step {
    /// It has its message.
    Stored(Message),
    /// Its machine is to be asked; the destination is there when it is marked as sent.
    Remote {
        call: Box<MachineCall>,
        target: Target,
        snapshot: Arc<Snapshot>,
        sent: Option<Destination>,
    },
}

/// What a try to begin a call came to.
enum Tried {
    /// It went on.
    Step(Step),
    /// Nothing was done yet: its handler needs a file of the agent's home first.
    Needs(ReadHome, Arc<Snapshot>),
}

/// A batch under way.
#[derive(Default)]
struct Batch {
    messages: HashMap<String, Message>,
    remote: JoinSet<(String, Result<Message, RunError>)>,
    /// Ends with the batch's last browser call so far.
    browser: Option<oneshot::Receiver<()>>,
    failure: Option<RunError>,
}

impl Engine {
    /// Executes the calls of a batch. What touches one thing runs in batch order:
    /// handlers one after another, browser calls one after another on the
    /// machine; other machine calls run side by side.
    pub(super) async fn execute_all(
        self: &Arc<Self>,
        claimed: Vec<Claimed>,
    ) -> Result<HashMap<String, Message>, RunError> {
        // Registered before anything runs, so that leases are renewed and a cancel is heard.
        let calls: Vec<(Claimed, Option<Guard>)> = claimed
            .into_iter()
            .map(|call| {
                let guard = self.inflight.register(call.run, &call.call_id);
                (call, guard)
            })
            .collect();
        self.execute_in_order(calls).await
    }

    /// Executes claimed calls of one run that a sweep took over, in the order given.
    pub(in super::super) async fn execute_taken(
        self: &Arc<Self>,
        taken: Vec<(Claimed, Guard)>,
    ) -> Result<(), RunError> {
        let calls = taken
            .into_iter()
            .map(|(call, guard)| (call, Some(guard)))
            .collect();
        self.execute_in_order(calls).await.map(drop)
    }

    async fn execute_in_order(
        self: &Arc<Self>,
        calls: Vec<(Claimed, Option<Guard>)>,
    ) -> Result<HashMap<String, Message>, RunError> {
        let mut batch = Batch::default();
        for (call, guard) in calls {
            if let Err(error) = self.execute_one(&mut batch, call, guard).await {
                // The calls after it keep their claim; the sweep executes them.
                batch.failure = Some(error);
                break;
            }
        }
        // What is under way on machines ends first: its results are worth storing.
        while let Some(joined) = batch.remote.join_next().await {
            match joined {
                Ok((id, Ok(message))) => {
                    batch.messages.insert(id, message);
                }
                Ok((_, Err(error))) => batch.failure = batch.failure.or(Some(error)),
                Err(error) => {
                    batch.failure = batch.failure.or(Some(RunError::Fault(error.into())));
                }
            }
        }
        match batch.failure {
            None => Ok(batch.messages),
            Some(error) => Err(error),
        }
    }

    async fn execute_one(
        self: &Arc<Self>,
        batch: &mut Batch,
        mut call: Claimed,
        guard: Option<Guard>,
    ) -> Result<(), RunError> {
        // Its own time begins here, not with the batch.
        call.started = Instant::now();
        let id = call.call_id.clone();
        let Some(guard) = guard else {
            let message = self.wait(call.run, &id).await?;
            batch.messages.insert(id, message);
            return Ok(());
        };
        match self.begin_call(&call, batch.browser.is_some()).await? {
            Step::Stored(message) => {
                batch.messages.insert(id, message);
            }
            Step::Remote {
                call: machine_call,
                target,
                snapshot,
                sent,
            } => {
                let (done, next) = oneshot::channel();
                let before = if machine_call.kind == Kind::Browser {
                    batch.browser.replace(next)
                } else {
                    None
                };
                let engine = Arc::clone(self);
                batch.remote.spawn(async move {
                    let mut call = call;
                    if let Some(before) = before {
                        // An error means that the call before ended early.
                        let _ = before.await;
                        // Waiting for its turn is not its own time.
                        call.started = Instant::now();
                    }
                    let message = engine
                        .finish_remote(&call, guard, *machine_call, &target, &snapshot, sent)
                        .await;
                    drop(done);
                    (id, message)
                });
            }
        }
        Ok(())
    }

    /// Look up, validate, handler, and for a storage call its message, as often as
    /// the locks of others make it necessary.
    async fn begin_call(self: &Arc<Self>, call: &Claimed, later: bool) -> Result<Step, RunError> {
        let mut tries = 1;
        let mut file = None;
        loop {
            match self.try_begin(call, later, file.as_ref()).await {
                Err(RunError::Store(error)) if tries < TRIES && met_locks(&error) => tries += 1,
                // Reading has no effect: a call that is cut off here is begun again.
                Ok(Tried::Needs(read, snapshot)) => {
                    file = Some(self.read_home(&snapshot.agent, &read).await);
                }
                Ok(Tried::Step(step)) => return Ok(step),
                Err(error) => return Err(error),
            }
        }
    }

    async fn try_begin(
        self: &Arc<Self>,
        call: &Claimed,
        later: bool,
        file: Option<&HomeFile>,
    ) -> Result<Tried, RunError> {
        let kept = self.snapshots.kept(call.run, call.turn);
        let only_reads = kept.is_some_and(|kept| Target::only_reads(&kept, &call.name));
        let mut work = Work::begin(&self.pool, only_reads).await?;
        let snapshot = self.snapshots.read(work.db(), call.run, call.turn).await?;
        let target = Target::find(work.db(), &snapshot, &call.name).await?;
        let organisation = &snapshot.agent.organisation;
        let mut redactor = self.redactor_at_hand(work.db(), organisation).await?;
        let mut handlings = 0;
        'handling: loop {
            handlings += 1;
            let words = Words::new(&redactor);
            let lent = Lent {
                words: &words,
                cap_bytes: self.cap_bytes,
                vault: &self.vault,
                file,
            };
            let handler = handle(work.db(), call, &snapshot, &target, lent);
            let handled = match AssertUnwindSafe(handler).catch_unwind().await {
                Ok(handled) => handled,
                Err(_) => Err(ToolError::failed("the handler panicked")),
            };
            let (raw, after, event, told) = match handled {
                Ok(Handled::Remote(machine_call)) => {
                    return self
                        .send_off(work, call, machine_call, (target, snapshot), later)
                        .await
                        .map(Tried::Step);
                }
                Ok(Handled::Read(read)) => {
                    work.rollback().await?;
                    return Ok(Tried::Needs(read, snapshot));
                }
                Ok(Handled::Result(raw, after, event)) => (raw, after, event, words.used()),
                Err(error) => {
                    let error = again(error)?;
                    work.back().await?;
                    if let ToolError::Failed(cause) = &error {
                        redactor = self.redactor(work.db(), organisation).await?;
                        log_failure(call, &redactor.apply(&chain(&**cause)));
                    }
                    let raw = of_error(&error, &call.name, &call.call_id);
                    (raw, None, None, false)
                }
            };
            let filtered = raw.filter(target.filter());
            for tried in 0..=FREE_TRIES {
                let draft = self.draft(call, &target, organisation);
                let put = self.put_once(work.db(), &draft, &filtered, &redactor);
                let (stored, stamped) = put.await?;
                match stored {
                    Stored::Now => {
                        if let Some(event) = event {
                            events::record(work.db(), &event).await?;
                        }
                        work.commit().await?;
                        self.count(target.label(), stamped.is_error(), call.started);
                        if let Some(after) = after {
                            self.afterwards(&snapshot, after);
                        }
                        return Ok(Tried::Step(Step::Stored(message_of(&stamped))));
                    }
                    Stored::Before => {
                        // Someone stored another end meanwhile, such as a cancel: this
                        // effect goes.
                        work.rollback().await?;
                        let message = self.wait(call.run, &call.call_id).await?;
                        return Ok(Tried::Step(Step::Stored(message)));
                    }
                    Stored::OldSecrets => {}
                }
                // What the handler itself stored of secrets makes them new each time.
                let again = told && handlings < HANDLINGS;
                if again {
                    work.back().await?;
                }
                // Handlers cut what they redacted, so the last one meets no newer secrets.
                let held = if again {
                    handlings + 1 == HANDLINGS
                } else {
                    tried + 1 >= FREE_TRIES
                };
                (work, redactor) = self.newer(work, organisation, held).await?;
                if again {
                    continue 'handling;
                }
            }
            return Err(changing());
        }
    }

    /// What an organisation's texts are redacted with by now; `held` keeps it so until the
    /// work ends.
    async fn newer(
        &self,
        mut work: Work,
        organisation: &str,
        held: bool,
    ) -> Result<(Work, Arc<Redactor>), RunError> {
        if held {
            work = work.lasting(&self.pool).await?;
            let redactor = self.held_redactor(work.db(), organisation).await?;
            return Ok((work, redactor));
        }
        let redactor = self.read_redactor(work.db(), organisation).await?;
        Ok((work, redactor))
    }

    /// Marks the call as sent, durably, unless its turn comes later.
    async fn send_off(
        &self,
        mut work: Work,
        call: &Claimed,
        mut machine_call: Box<MachineCall>,
        (target, snapshot): (Target, Arc<Snapshot>),
        later: bool,
    ) -> Result<Step, RunError> {
        if machine_call.with_secrets {
            machine_call.request.env = self.secrets_of(work.db(), &snapshot.agent, call).await?;
        }
        let waits = later && machine_call.kind == Kind::Browser;
        let sent = if waits {
            None
        } else {
            match calls::mark_sent(work.db(), call.run, &call.call_id).await? {
                Some(destination) => Some(destination),
                None => {
                    work.rollback().await?;
                    return Ok(Step::Stored(self.wait(call.run, &call.call_id).await?));
                }
            }
        };
        work.commit().await?;
        Ok(Step::Remote {
            call: machine_call,
            target,
            snapshot,
            sent,
        })
    }

    /// What a call's message is made of beside the result.
    pub(super) fn draft<'a>(
        &self,
        call: &'a Claimed,
        target: &Target,
        organisation: &'a str,
    ) -> Draft<'a> {
        Draft {
            organisation,
            run: call.run,
            call_id: &call.call_id,
            remaining: call.remaining,
            facts: Facts {
                tool_name: &call.name,
                duration_ms: u64::try_from(call.started.elapsed().as_millis()).unwrap_or(u64::MAX),
                with_exit_code: target.has_exit_code(),
            },
            arguments: call.redacted_with,
        }
    }

    pub(super) fn count(&self, label: &'static str, is_error: bool, started: Instant) {
        let outcome = if is_error {
            Outcome::Error
        } else {
            Outcome::Ok
        };
        self.metrics.call(label, outcome, started.elapsed());
    }

    /// Asks the machine for what follows a stored message. Its failure changes no result.
    fn afterwards(self: &Arc<Self>, snapshot: &Arc<Snapshot>, after: AfterCommit) {
        let (engine, snapshot) = (Arc::clone(self), Arc::clone(snapshot));
        self.tasks.spawn(async move {
            let AfterCommit::DeleteScript { name } = after;
            engine.remove_script(&snapshot.agent, &name).await;
        });
    }

    /// The machine call of a call that is `sent` already, for reading its reply.
    pub(super) async fn reread(
        &self,
        call: &Claimed,
        snapshot: &Snapshot,
    ) -> Result<(Target, Option<Box<MachineCall>>), RunError> {
        let mut tx = self.pool.begin().await?;
        let target = Target::find(&mut tx, snapshot, &call.name).await?;
        let redactor = Redactor::default();
        let lent = Lent {
            words: &Words::new(&redactor),
            cap_bytes: self.cap_bytes,
            vault: &self.vault,
            file: None,
        };
        let handled = handle(&mut tx, call, snapshot, &target, lent).await;
        // Only the reader is of interest: whatever the handler did is undone.
        tx.rollback().await?;
        Ok(match handled {
            Ok(Handled::Remote(machine_call)) => (target, Some(machine_call)),
            _ => (target, None),
        })
    }
}

/// A handler's failure that is the database's own goes to the caller of the
/// transaction: it is tried again, or nobody learns a result that isn't true.
fn again(error: ToolError) -> Result<ToolError, RunError> {
    match error {
        ToolError::Failed(cause) => match cause.downcast::<sqlx::Error>() {
            Ok(database) if met_locks(&database) || lost(&database) => {
                Err(RunError::Store(*database))
            }
            Ok(database) => Ok(match gave_up(&database) {
                Some(sentence) => ToolError::Refused(sentence),
                None => ToolError::Failed(database),
            }),
            Err(cause) => Ok(ToolError::Failed(cause)),
        },
        refused @ ToolError::Refused(_) => Ok(refused),
    }
}

/// What a model is told of a statement that the database ended at one of its limits: what
/// the handler did before it is undone.
fn gave_up(error: &sqlx::Error) -> Option<String> {
    let code = error.as_database_error()?.code()?;
    match &*code {
        // `query_canceled`
        "57014" => Some(
            "the database gave up on this call because it took too long, and nothing was \
             changed; ask for less, such as fewer or more exact words"
                .to_owned(),
        ),
        // `lock_not_available`
        "55P03" => Some(
            "others were changing the same thing for too long, and nothing was changed; call again"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Serialization failure or deadlock: nothing happened, and a new try may succeed.
fn met_locks(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(error)
        if matches!(error.code().as_deref(), Some("40001" | "40P01")))
}

/// The connection is gone, or the server ends its connections (class 57P).
pub(super) fn lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code.starts_with("57P")),
        sqlx::Error::Io(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::Protocol(_)
        | sqlx::Error::WorkerCrashed => true,
        _ => false,
    }
}

/// Tells the operator why a call failed. The cause may quote what the call was given, so it
/// is redacted before.
pub(super) fn log_failure(call: &Claimed, error: &str) {
    tracing::error!(run = %call.run, call = call.call_id, error, "a tool failed");
}

pub(super) fn message_of(stamped: &Stamped) -> Message {
    Message {
        content: stamped.content().to_owned(),
        metadata: stamped.metadata().to_owned(),
    }
}
