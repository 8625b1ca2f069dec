//! The handler of a call: arguments validated, then the tool's own function.

use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::PgConnection;

use super::super::arguments;
use super::super::result::{Raw, Redactor};
use super::super::snapshot::Snapshot;
use super::Claimed;
use super::target::Target;
use crate::store::events::Event;
use crate::store::scripts;
use crate::tools::{
    self, AfterCommit, Answer, Caller, Cx, HomeFile, MachineCall, ReadHome, Redact, ToolError,
};
use crate::vault::Vault;

/// What a handler may redact with, and whether it did.
pub(super) struct Words<'a> {
    redactor: &'a Redactor,
    used: AtomicBool,
}

impl<'a> Words<'a> {
    pub(super) fn new(redactor: &'a Redactor) -> Self {
        Self {
            redactor,
            used: AtomicBool::new(false),
        }
    }

    /// Whether the handler's effect may hold a text that was redacted.
    pub(super) fn used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}

impl Redact for Words<'_> {
    fn redact(&self, text: &str) -> String {
        self.used.store(true, Ordering::Relaxed);
        self.redactor.apply(text)
    }
}

/// What a handler came to inside its transaction.
pub(super) enum Handled {
    Result(Raw, Option<AfterCommit>, Option<Box<Event>>),
    Remote(Box<MachineCall>),
    Read(ReadHome),
}

/// What a handler is lent.
#[derive(Clone, Copy)]
pub(super) struct Lent<'a> {
    pub(super) words: &'a Words<'a>,
    pub(super) cap_bytes: usize,
    pub(super) vault: &'a Vault,
    /// The file of the agent's home that it asked for.
    pub(super) file: Option<&'a HomeFile>,
}

/// Validates and runs the handler.
pub(super) async fn handle(
    db: &mut PgConnection,
    call: &Claimed,
    snapshot: &Snapshot,
    target: &Target,
    lent: Lent<'_>,
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
                words: lent.words,
                cap_bytes: lent.cap_bytes,
                vault: lent.vault,
                file: lent.file,
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
                Answer::Read(_) if lent.file.is_some() => {
                    return Err(ToolError::failed("the handler asked for a file twice"));
                }
                Answer::Read(read) => Handled::Read(read),
            })
        }
    }
}
