//! The one path of a call: parse, look up, validate, run, filter, redact, cap, stamp, store, answer.
//!
//! `claim` takes budget and ids, `execute` runs a claimed call in storage or hands it
//! to `remote`, which asks the machine; `home` reads a file that a handler needs; `wait` answers a call that someone else runs.

mod claim;
mod environment;
mod execute;
mod handler;
mod home;
mod message;
mod remote;
mod target;
mod wait;
mod work;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::arguments;
use super::digest;
use super::engine::Engine;
use super::error::RunError;
use super::result::Redactor;
use crate::store::calls::{Message, NewCall, OpenCall};
use crate::tools::Filter;

/// One call of a batch, as the chat backend sent it.
#[derive(Debug)]
pub struct CallInput {
    /// Its id, 1 to 200 characters.
    pub id: String,
    /// The name the model used.
    pub name: String,
    /// Its arguments, in whatever shape the model produced.
    pub arguments: Option<Box<RawValue>>,
}

/// The result of one call.
#[derive(Debug, Clone, Serialize)]
pub struct CallResult {
    /// Its id.
    pub id: String,
    /// The stamped string.
    pub content: String,
    /// The metadata.
    pub metadata: Box<RawValue>,
}

/// The results of a batch, in its order.
#[derive(Debug, Serialize)]
pub struct BatchResult {
    results: Vec<CallResult>,
    remaining_tool_calls: i32,
}

impl BatchResult {
    /// The result of the first call.
    #[must_use]
    pub fn into_first(self) -> Option<CallResult> {
        self.results.into_iter().next()
    }
}

/// A call that is to be executed: claimed by a batch, or taken over by a sweep.
#[derive(Debug)]
pub(super) struct Claimed {
    run: Uuid,
    call_id: String,
    machine_id: String,
    turn: i32,
    name: String,
    /// The arguments as an object, or the sentence that says what they were.
    arguments: Result<Box<RawValue>, String>,
    remaining: u32,
    started: Instant,
    /// Version of the secrets that were taken out of the stored arguments, where it is known.
    redacted_with: Option<i64>,
}

/// A call of a batch before it is claimed, as it was received: it is redacted with the
/// secrets of the moment it is stored.
struct Prepared {
    call_id: String,
    machine_id: String,
    digest: Vec<u8>,
    name: String,
    /// JSON text of the arguments.
    received: Box<RawValue>,
    arguments: Result<Box<RawValue>, String>,
}

impl Prepared {
    /// What is stored of it.
    fn redacted(&self, redactor: &Redactor) -> NewCall {
        NewCall {
            call_id: self.call_id.clone(),
            machine_id: self.machine_id.clone(),
            name: redactor.apply(&self.name.replace('\0', "\u{fffd}")),
            arguments: redactor.apply_to_json(&arguments::without_nul(self.received.get())),
            digest: self.digest.clone(),
        }
    }

    fn claimed(self, run: Uuid, turn: i32, remaining: i32, redactor: &Redactor) -> Claimed {
        Claimed {
            run,
            turn,
            name: redactor.apply(&self.name.replace('\0', "\u{fffd}")),
            call_id: self.call_id,
            machine_id: self.machine_id,
            arguments: self.arguments,
            remaining: u32::try_from(remaining).unwrap_or(0),
            started: Instant::now(),
            redacted_with: Some(redactor.version()),
        }
    }
}

/// What a message's metadata says of a tool, for a call that never reaches it.
pub(super) struct Kindred {
    pub(super) filter: Filter,
    pub(super) with_exit_code: bool,
    /// Label in the metrics.
    pub(super) label: &'static str,
    /// Organisation of the run's agent.
    pub(super) organisation: String,
}

impl Engine {
    /// What the name of a call stands for in its turn.
    pub(super) async fn kindred(
        &self,
        db: &mut PgConnection,
        run: Uuid,
        turn: i32,
        name: &str,
    ) -> Result<Kindred, RunError> {
        let snapshot = self.snapshots.read(db, run, turn).await?;
        let target = target::Target::find(db, &snapshot, name).await?;
        Ok(Kindred {
            filter: target.filter(),
            with_exit_code: target.has_exit_code(),
            label: target.label(),
            organisation: snapshot.agent.organisation.clone(),
        })
    }

    /// Makes a batch of calls. The batch is work of its own: a caller that goes
    /// away loses only the answer.
    ///
    /// # Errors
    /// [`RunError::NotFound`], [`RunError::Ended`], [`RunError::CallIdReused`] before anything
    /// ran, or a failure after which the same request may be sent again.
    pub async fn call(
        self: &Arc<Self>,
        run: Uuid,
        calls: Vec<CallInput>,
    ) -> Result<BatchResult, RunError> {
        let (send, receive) = oneshot::channel();
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            // The caller may be gone; then the messages are all that is left.
            let _ = send.send(engine.batch(run, calls).await);
        });
        receive
            .await
            .unwrap_or_else(|_| Err(RunError::Fault("the batch ended without an answer".into())))
    }

    async fn batch(
        self: &Arc<Self>,
        run: Uuid,
        calls: Vec<CallInput>,
    ) -> Result<BatchResult, RunError> {
        let order: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        let prepared = self.prepare(run, calls)?;
        let claim = self.claim(run, prepared).await?;
        let mut messages: HashMap<String, Message> = self.execute_all(claim.claimed).await?;
        for call_id in claim.others {
            let message = self.wait(run, &call_id).await?;
            messages.insert(call_id, message);
        }
        let results = order
            .into_iter()
            .map(|id| {
                let message = messages
                    .get(&id)
                    .ok_or_else(|| RunError::Fault("a call of the batch has no message".into()))?;
                result(id, message)
            })
            .collect::<Result<_, RunError>>()?;
        Ok(BatchResult {
            results,
            remaining_tool_calls: claim.remaining,
        })
    }

    /// Reads each call once; an id that comes twice is one call when both are equal.
    fn prepare(&self, run: Uuid, calls: Vec<CallInput>) -> Result<Vec<Prepared>, RunError> {
        let mut digests: HashMap<String, Vec<u8>> = HashMap::new();
        let mut prepared = Vec::new();
        for call in calls {
            let arguments = super::arguments::parse(call.arguments.as_deref());
            // What is compared is what was meant, so that a text and the object in it are one.
            let received = arguments.as_deref().ok().or(call.arguments.as_deref());
            let digest = digest::call_digest(&self.digest_key, &call.name, received);
            match digests.get(&call.id) {
                Some(first) if *first == digest => continue,
                Some(_) => return Err(RunError::CallIdReused(call.id)),
                None => {}
            }
            digests.insert(call.id.clone(), digest.clone());
            prepared.push(Prepared {
                machine_id: digest::machine_id(run, &call.id),
                call_id: call.id,
                digest,
                received: match received {
                    Some(received) => received.to_owned(),
                    None => RawValue::from_string("{}".to_owned())?,
                },
                name: call.name,
                arguments,
            });
        }
        Ok(prepared)
    }

    /// A call that a sweep took. When its stored arguments are not the received ones,
    /// because something in them was redacted, it is refused instead of run.
    pub(super) fn taken_over(&self, call: &OpenCall) -> Claimed {
        let raw = RawValue::from_string(call.arguments.clone()).ok();
        let same = raw.as_deref().is_some_and(|raw| {
            digest::call_digest(&self.digest_key, &call.name, Some(raw)) == call.digest
        });
        let arguments = if same {
            super::arguments::parse(raw.as_deref())
        } else {
            Err(
                "the call was interrupted before it ran, and its arguments were not kept; \
                 nothing was done, call again"
                    .to_owned(),
            )
        };
        Claimed {
            run: call.run,
            call_id: call.call_id.clone(),
            machine_id: call.machine_id.clone(),
            turn: call.turn,
            name: call.name.clone(),
            arguments,
            remaining: u32::try_from(call.remaining).unwrap_or(0),
            started: Instant::now(),
            redacted_with: None,
        }
    }
}

pub(super) use message::Draft;
pub(super) use remote::cancelled;

pub(super) fn result(id: String, message: &Message) -> Result<CallResult, RunError> {
    Ok(CallResult {
        id,
        content: message.content.clone(),
        metadata: RawValue::from_string(message.metadata.clone())?,
    })
}
