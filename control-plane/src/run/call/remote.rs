//! A call on the agent's machine: one request that is never repeated, and questions by id when its answer is lost.

use std::sync::Arc;
use std::time::Duration;

use machine_agent_api::{
    CallRequest, CallState, CancelCall, ErrorCode, FollowCall, Kind, Reply, StartCall, StoredCall,
};
use tokio::time::{Instant, sleep};

use super::super::engine::Engine;
use super::super::error::RunError;
use super::super::inflight::{Flag, Guard};
use super::super::result::{Raw, of_error};
use super::super::snapshot::Snapshot;
use super::super::start::place_of;
use super::Claimed;
use super::execute::{log_failure, lost, message_of};
use super::target::Target;
use crate::machine::{Machine, MachineError};
use crate::store::agents::Agent;
use crate::store::calls::{self, Destination, Message};
use crate::telemetry::chain;
use crate::tools::{MachineCall, MachineCallNames, MachineResult, ToolError};

/// Beside a helper's limit: the queue of the agent's browser, Chrome's start, the
/// runner's end of a late helper, and the way.
const DEADLINE_EXTRA: Duration = Duration::from_secs(60 + 20 + 2 + 5);
/// Silence of a machine after which the outcome is unknown.
const SILENCE: Duration = Duration::from_secs(60);
/// One question waits this long at the machine.
const QUESTION_S: u32 = 20;
const QUESTION: Duration = Duration::from_secs(QUESTION_S as u64 + 5);
const PAUSE: Duration = Duration::from_millis(500);
/// Time for a machine to end a cancelled call.
const CANCEL: Duration = Duration::from_secs(15);
const AFTERWARDS: Duration = Duration::from_secs(5);
/// Tries to store a result that a machine gave, a second apart.
const STORE_TRIES: u32 = 10;

/// A call as its machine knows it.
struct Remote<'a> {
    call: &'a Claimed,
    agent: &'a Agent,
    machine: Machine,
    /// Turns a helper's object into the raw result.
    read: fn(&MachineCallNames, Reply) -> Result<MachineResult, ToolError>,
    names: MachineCallNames,
    max_output_bytes: u64,
    deadline: Duration,
}

impl Engine {
    /// Sends a claimed call, or asks after one that was sent, and stores its end.
    pub(super) async fn finish_remote(
        self: &Arc<Self>,
        call: &Claimed,
        mut guard: Guard,
        machine_call: MachineCall,
        target: &Target,
        snapshot: &Snapshot,
        sent: Option<Destination>,
    ) -> Result<Message, RunError> {
        let destination = match sent {
            Some(destination) => Some(destination),
            None => {
                let mut db = self.pool.acquire().await?;
                calls::mark_sent(&mut db, call.run, &call.call_id).await?
            }
        };
        let Some(destination) = destination else {
            // Cancelled while it waited for its turn.
            return self.wait(call.run, &call.call_id).await;
        };
        let MachineCall {
            kind,
            verb,
            request,
            read,
            names,
            ..
        } = machine_call;
        let remote = Remote {
            call,
            agent: &snapshot.agent,
            machine: machine(&destination),
            read,
            names,
            max_output_bytes: self.max_output_bytes(),
            deadline: Duration::from_millis(request.limit_ms) + DEADLINE_EXTRA,
        };
        let request = CallRequest {
            max_output_bytes: remote.max_output_bytes,
            ..request
        };
        let flag = guard.flag();
        let raw = tokio::select! {
            raw = self.send(&remote, kind, verb, request, &flag) => raw,
            () = guard.cancelled() => self.cancel_remote(&remote).await,
        };
        self.finish_with(&remote, target, raw).await
    }

    /// Asks after a call that another replica, or this one before its restart, sent.
    pub(in super::super) async fn recover(
        self: &Arc<Self>,
        call: Claimed,
        mut guard: Guard,
        destination: Destination,
    ) -> Result<(), RunError> {
        let mut db = self.pool.acquire().await?;
        let snapshot: Arc<Snapshot> = self.snapshots.read(&mut db, call.run, call.turn).await?;
        drop(db);
        let (target, machine_call) = self.reread(&call, &snapshot).await?;
        let (read, names, limit_ms) = match machine_call {
            Some(found) => (found.read, found.names, found.request.limit_ms),
            None => (
                plain as fn(&_, _) -> _,
                MachineCallNames::default(),
                120_000,
            ),
        };
        let remote = Remote {
            call: &call,
            agent: &snapshot.agent,
            machine: machine(&destination),
            read,
            names,
            max_output_bytes: self.max_output_bytes(),
            deadline: Duration::from_millis(limit_ms) + DEADLINE_EXTRA,
        };
        let raw = tokio::select! {
            raw = self.follow(&remote) => raw,
            () = guard.cancelled() => self.cancel_remote(&remote).await,
        };
        self.finish_with(&remote, &target, raw).await?;
        Ok(())
    }

    async fn send(
        &self,
        remote: &Remote<'_>,
        kind: Kind,
        verb: &'static str,
        request: CallRequest,
        flag: &Flag,
    ) -> Raw {
        let operation = StartCall {
            agent: &remote.agent.id,
            kind,
            verb,
            id: &remote.call.machine_id,
            request,
        };
        let place = place_of(remote.agent);
        let ask = || {
            self.machines
                .ask(&remote.machine, Some(&place), &operation, remote.deadline)
        };
        let mut answer = ask().await;
        if let Err(MachineError::Refused {
            code: ErrorCode::NotFound,
            ..
        }) = answer
        {
            // The machine said that it doesn't know the agent, so nothing ran: the
            // agent is made and the call asked for the first time.
            answer = match self.make_ready(remote.agent).await {
                Ok(()) => ask().await,
                Err(error) => Err(error),
            };
        }
        match answer {
            Ok(CallState::Running) | Err(MachineError::Interrupted { .. }) => {
                self.follow(remote).await
            }
            Ok(state) => self.end_of(remote, state).await,
            Err(_) if flag.is_set() => cancelled(),
            Err(error) => Raw::error(&error.to_string()),
        }
    }

    /// Asks by id until the call ended, the machine doesn't know it, or it was
    /// silent too long.
    async fn follow(&self, remote: &Remote<'_>) -> Raw {
        let operation = FollowCall {
            agent: &remote.agent.id,
            id: &remote.call.machine_id,
            wait_s: QUESTION_S,
        };
        let place = place_of(remote.agent);
        let late = Instant::now() + remote.deadline;
        let mut heard = Instant::now();
        loop {
            let answer = self
                .machines
                .ask(&remote.machine, Some(&place), &operation, QUESTION)
                .await;
            match answer {
                Ok(CallState::Running) => {
                    heard = Instant::now();
                    if heard >= late {
                        let _ = self.cancel_remote(remote).await;
                        return unknown("the call did not end in time and was ended");
                    }
                }
                Ok(state) => return self.end_of(remote, state).await,
                Err(error) => {
                    tracing::warn!(
                        run = %remote.call.run,
                        call = remote.call.call_id,
                        %error,
                        "a machine did not say how a call ended"
                    );
                    if heard.elapsed() >= SILENCE {
                        return unknown(&format!(
                            "machine {} did not answer for {} s; the call may have run",
                            remote.machine.id,
                            SILENCE.as_secs()
                        ));
                    }
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Asks the machine to end a call. It is cancelled whatever the machine says,
    /// unless it had ended before.
    async fn cancel_remote(&self, remote: &Remote<'_>) -> Raw {
        let operation = CancelCall {
            agent: &remote.agent.id,
            id: &remote.call.machine_id,
        };
        let place = place_of(remote.agent);
        let answer = self
            .machines
            .ask(&remote.machine, Some(&place), &operation, CANCEL)
            .await;
        match answer {
            Ok(
                state
                @ (CallState::Done { .. } | CallState::Failed { .. } | CallState::Lost { .. }),
            ) => self.end_of(remote, state).await,
            Ok(_) => cancelled(),
            Err(error) => {
                tracing::warn!(
                    run = %remote.call.run,
                    call = remote.call.call_id,
                    %error,
                    "a machine did not confirm a cancel"
                );
                cancelled()
            }
        }
    }

    /// Transaction B of a machine call, then `stored` to the machine.
    async fn finish_with(
        self: &Arc<Self>,
        remote: &Remote<'_>,
        target: &Target,
        raw: Raw,
    ) -> Result<Message, RunError> {
        let call = remote.call;
        let draft = self.draft(call, target, &remote.agent.organisation);
        let filtered = raw.filter(target.filter());
        let mut tries = 1;
        let stored = loop {
            let stored = async {
                let mut db = self.pool.acquire().await?;
                self.put(&mut db, &draft, &filtered).await
            };
            match stored.await {
                // The machine's answer is worth some patience; it keeps it too.
                Err(RunError::Store(error)) if lost(&error) && tries < STORE_TRIES => {
                    tries += 1;
                    sleep(Duration::from_secs(1)).await;
                }
                other => break other?,
            }
        };
        let Some(stamped) = stored else {
            return self.wait(call.run, &call.call_id).await;
        };
        self.count(target.label(), stamped.is_error(), call.started);
        self.tell_stored(remote);
        Ok(message_of(&stamped))
    }

    /// Lets the runner forget the result. It forgets by itself later, so a failure is fine.
    fn tell_stored(self: &Arc<Self>, remote: &Remote<'_>) {
        let engine = Arc::clone(self);
        let machine = remote.machine.clone();
        let agent = remote.agent.clone();
        let id = remote.call.machine_id.clone();
        self.tasks.spawn(async move {
            let operation = StoredCall {
                agent: &agent.id,
                id: &id,
            };
            let told = engine
                .machines
                .ask(&machine, Some(&place_of(&agent)), &operation, AFTERWARDS)
                .await;
            if let Err(error) = told {
                tracing::debug!(agent = agent.id, %error, "a machine was not told that a result is stored");
            }
        });
    }
}

impl Engine {
    /// The raw result of an end.
    async fn end_of(&self, remote: &Remote<'_>, state: CallState) -> Raw {
        let call = remote.call;
        match state {
            CallState::Done { reply } => match (remote.read)(&remote.names, reply) {
                Ok(result) => Raw::machine(result, remote.max_output_bytes),
                Err(error) => {
                    if let ToolError::Failed(cause) = &error {
                        log_failure(call, &self.for_log(remote, &chain(&**cause)).await);
                    }
                    of_error(&error, &call.name, &call.call_id)
                }
            },
            CallState::Failed { message, detail } => {
                let told = self.for_log(remote, &message).await;
                let detail = self.for_log(remote, &detail).await;
                tracing::error!(
                    run = %call.run,
                    call = call.call_id,
                    machine = remote.machine.id,
                    message = told,
                    detail,
                    "a call failed on its machine"
                );
                Raw::error(&format!(
                    "{} failed: {message}; the operator's log has the cause under call {}",
                    call.name, call.call_id
                ))
            }
            CallState::Busy { .. } => Raw::error("busy"),
            CallState::Cancelled => cancelled(),
            CallState::Lost { message } => unknown(&message),
            CallState::Running | CallState::Unknown => unknown(&format!(
                "machine {} does not know the call; it may have run",
                remote.machine.id
            )),
        }
    }

    /// What a machine said, for the log: without secrets, and its beginning may be cut.
    async fn for_log(&self, remote: &Remote<'_>, text: &str) -> String {
        let redactor = async {
            let mut db = self.pool.acquire().await?;
            self.redactor(&mut db, &remote.agent.organisation).await
        };
        match redactor.await {
            Ok(redactor) => redactor.apply_to_tail(text),
            Err(error) => format!("withheld: {error}"),
        }
    }
}

/// Reads a reply of which only the object is left to tell.
fn plain(_: &MachineCallNames, reply: Reply) -> Result<MachineResult, ToolError> {
    let output = reply.output.unwrap_or_default();
    let text = match &reply.error {
        Some(error) if output.is_empty() => format!("ERROR: {error}"),
        Some(error) => format!("ERROR: {error}\n{output}"),
        None => output,
    };
    Ok(MachineResult {
        original_bytes: reply.original_bytes.max(text.len() as u64),
        exit_code: reply.exit_code.filter(|_| reply.error.is_none()),
        is_error: reply.error.is_some(),
        appended_bytes: 0,
        text,
    })
}

fn machine(destination: &Destination) -> Machine {
    Machine {
        id: destination.machine.clone(),
        address: destination.address.clone(),
    }
}

pub(in super::super) fn cancelled() -> Raw {
    Raw::error("cancelled")
}

fn unknown(message: &str) -> Raw {
    Raw::error(&format!("outcome unknown: {message}"))
}
