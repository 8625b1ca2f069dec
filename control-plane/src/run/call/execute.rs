//! Executes claimed calls: storage calls in one durable transaction each, the others up to their sending.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use machine_agent_api::{DeleteScript, Kind};
use sqlx::{PgConnection, Postgres, Transaction};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::super::engine::Engine;
use super::super::error::RunError;
use super::super::inflight::Guard;
use super::super::result::{Facts, Raw, Stamped, make};
use super::super::snapshot::Snapshot;
use super::super::start::{machine_of, place_of};
use super::Claimed;
use super::target::Target;
use crate::metrics::Outcome;
use crate::run::arguments;
use crate::store::calls::{self, Destination, Message};
use crate::store::events::{self, Event};
use crate::store::scripts;
use crate::telemetry::chain;
use crate::tools::{self, AfterCommit, Answer, Caller, Cx, MachineCall, ToolError};

/// Tries of a storage call that met another one's locks; nothing of a failed try stays.
const TRIES: u32 = 4;
/// Time for what is asked of a machine after a message is stored.
const AFTERWARDS: Duration = Duration::from_secs(10);

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

/// A batch under way.
#[derive(Default)]
struct Batch {
    messages: HashMap<String, Message>,
    remote: JoinSet<(String, Result<Message, RunError>)>,
    /// Ends with the batch's last browser call so far.
    browser: Option<oneshot::Receiver<()>>,
    failure: Option<RunError>,
}

/// What a handler came to inside its transaction.
enum Handled {
    Result(Raw, Option<AfterCommit>, Option<Box<Event>>),
    Remote(Box<MachineCall>),
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

    /// Executes one call that a sweep took over.
    pub(in super::super) async fn execute_taken(
        self: &Arc<Self>,
        call: Claimed,
        guard: Guard,
    ) -> Result<(), RunError> {
        if let Step::Remote {
            call: machine_call,
            target,
            snapshot,
            sent,
        } = self.begin_call(&call, false).await?
        {
            self.finish_remote(&call, guard, *machine_call, &target, &snapshot, sent)
                .await?;
        }
        Ok(())
    }

    /// Look up, validate, handler, and for a storage call its message, as often as
    /// the locks of others make it necessary.
    async fn begin_call(self: &Arc<Self>, call: &Claimed, later: bool) -> Result<Step, RunError> {
        let mut tries = 1;
        loop {
            match self.try_begin(call, later).await {
                Err(RunError::Store(error)) if tries < TRIES && met_locks(&error) => tries += 1,
                other => return other,
            }
        }
    }

    async fn try_begin(self: &Arc<Self>, call: &Claimed, later: bool) -> Result<Step, RunError> {
        // One message to the server opens both; the savepoint lets a refusal keep
        // its message and lose its effect.
        let mut tx = self.pool.begin_with("BEGIN; SAVEPOINT handler").await?;
        let snapshot = self.snapshots.read(&mut tx, call.run, call.turn).await?;
        let target = Target::find(&mut tx, &snapshot, &call.name).await?;
        let handler = handle(&mut tx, call, &snapshot, &target);
        let handled = match AssertUnwindSafe(handler).catch_unwind().await {
            Ok(handled) => handled,
            Err(_) => Err(ToolError::failed("the handler panicked")),
        };
        match handled {
            Ok(Handled::Remote(machine_call)) => {
                self.send_off(tx, call, machine_call, (target, snapshot), later)
                    .await
            }
            Ok(Handled::Result(raw, after, event)) => {
                let message = self.store(tx, call, &target, raw, event.as_deref()).await?;
                if let Some(after) = after {
                    self.afterwards(&snapshot, after);
                }
                Ok(Step::Stored(message))
            }
            Err(error) => {
                let error = again(error)?;
                log_failure(call, &error);
                sqlx::query("ROLLBACK TO SAVEPOINT handler")
                    .execute(&mut *tx)
                    .await?;
                let raw = Raw::from_tool_error(&error, &call.name, &call.call_id);
                Ok(Step::Stored(
                    self.store(tx, call, &target, raw, None).await?,
                ))
            }
        }
    }

    /// Marks the call as sent, durably, unless its turn comes later.
    async fn send_off(
        &self,
        mut tx: Transaction<'static, Postgres>,
        call: &Claimed,
        machine_call: Box<MachineCall>,
        (target, snapshot): (Target, Arc<Snapshot>),
        later: bool,
    ) -> Result<Step, RunError> {
        let waits = later && machine_call.kind == Kind::Browser;
        let sent = if waits {
            None
        } else {
            match calls::mark_sent(&mut tx, call.run, &call.call_id).await? {
                Some(destination) => Some(destination),
                None => {
                    tx.rollback().await?;
                    return Ok(Step::Stored(self.wait(call.run, &call.call_id).await?));
                }
            }
        };
        tx.commit().await?;
        Ok(Step::Remote {
            call: machine_call,
            target,
            snapshot,
            sent,
        })
    }

    /// Transaction B of a storage call: its message beside its effect.
    async fn store(
        &self,
        mut tx: Transaction<'static, Postgres>,
        call: &Claimed,
        target: &Target,
        raw: Raw,
        event: Option<&Event>,
    ) -> Result<Message, RunError> {
        let stamped = self.stamp(call, target, raw);
        if stamped.store(&mut tx, call.run, &call.call_id).await? {
            if let Some(event) = event {
                events::record(&mut tx, event).await?;
            }
            tx.commit().await?;
            self.count(target.label(), stamped.is_error(), call.started);
            return Ok(message_of(&stamped));
        }
        // Someone stored another end meanwhile, such as a cancel: this effect goes.
        tx.rollback().await?;
        self.wait(call.run, &call.call_id).await
    }

    pub(super) fn stamp(&self, call: &Claimed, target: &Target, raw: Raw) -> Stamped {
        let facts = Facts {
            tool_name: &call.name,
            duration_ms: u64::try_from(call.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            with_exit_code: target.has_exit_code(),
        };
        make(
            raw,
            target.filter(),
            &self.redactor,
            self.cap_bytes,
            call.remaining,
            &facts,
        )
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
            let agent = &snapshot.agent;
            let operation = DeleteScript {
                agent: &agent.id,
                name: &name,
            };
            let done = engine
                .machines
                .ask(&machine_of(agent), Some(&place_of(agent)), &operation, AFTERWARDS)
                .await;
            if let Err(error) = done {
                tracing::warn!(agent = agent.id, script = name, %error, "a script file was not removed");
            }
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
        let handled = handle(&mut tx, call, snapshot, &target).await;
        // Only the reader is of interest: whatever the handler did is undone.
        tx.rollback().await?;
        Ok(match handled {
            Ok(Handled::Remote(machine_call)) => (target, Some(machine_call)),
            _ => (target, None),
        })
    }
}

/// Validates and runs the handler.
async fn handle(
    db: &mut PgConnection,
    call: &Claimed,
    snapshot: &Snapshot,
    target: &Target,
) -> Result<Handled, ToolError> {
    let arguments = || {
        call.arguments
            .as_deref()
            .map_err(|text| ToolError::Refused(text.clone()))
    };
    match target {
        Target::Nothing(sentence) => Err(ToolError::Refused(sentence.clone())),
        Target::Script => {
            let held = scripts::find_in_run(db, call.run, &call.name).await?;
            let held = held.ok_or_else(|| {
                ToolError::not_found(format!("script {} is not in this run any more", call.name))
            })?;
            let arguments = arguments()?;
            if let Some(parameters) = &held.script.parameters {
                arguments::validate(parameters.get(), arguments).map_err(ToolError::Refused)?;
            }
            let machine_call = tools::script_call(&held.script, arguments);
            Ok(Handled::Remote(Box::new(machine_call)))
        }
        Target::Native(tool) => {
            let arguments = arguments()?;
            arguments::validate(tool.schema, arguments).map_err(ToolError::Refused)?;
            let caller = Caller {
                agent: snapshot.agent.clone(),
                run: call.run,
                call_id: call.call_id.clone(),
            };
            let cx = Cx {
                caller: &caller,
                db,
            };
            Ok(match tool.run(cx, arguments).await? {
                Answer::Text(text) => Handled::Result(Raw::text(text), None, None),
                Answer::TextThen(text, after) => {
                    Handled::Result(Raw::text(text), Some(after), None)
                }
                Answer::TextAndEvent(text, event) => {
                    Handled::Result(Raw::text(text), None, Some(event))
                }
                Answer::OnMachine(machine_call) => Handled::Remote(Box::new(machine_call)),
            })
        }
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
            Ok(database) => Ok(ToolError::Failed(database)),
            Err(cause) => Ok(ToolError::Failed(cause)),
        },
        refused @ ToolError::Refused(_) => Ok(refused),
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

pub(super) fn log_failure(call: &Claimed, error: &ToolError) {
    if let ToolError::Failed(cause) = error {
        tracing::error!(
            run = %call.run,
            call = call.call_id,
            error = chain(&**cause),
            "a tool failed"
        );
    }
}

pub(super) fn message_of(stamped: &Stamped) -> Message {
    Message {
        content: stamped.content().to_owned(),
        metadata: stamped.metadata().to_owned(),
    }
}
