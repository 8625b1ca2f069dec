//! What a tool is, and the list of them.
//!
//! A tool is one file under `tools/`: its words, its schema, what it needs and
//! what it does. Offer, documents and the tests below are computed from [`TOOLS`].

use std::future::Future;
use std::pin::Pin;

use machine_agent_api::{CallRequest, Kind, Reply};
use secrecy::SecretSlice;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::agents::Agent;
use crate::store::events::Event;
use crate::vault::Vault;

mod browser;
mod group_tags;
mod listing;
mod machine_reply;
pub mod names;
mod note_path;
pub mod record_body;
pub mod record_change;
mod record_refusals;
mod record_value;
mod record_where;
mod schedule_entry;
mod script_name;
mod script_parameters;
mod texts;
pub mod validation;

pub use script_run::script_call;
pub use tool_result::{Filter, MachineResult};

/// A native tool.
pub trait Tool: 'static {
    /// Name a model calls it by; also the file's name.
    const NAME: &'static str;
    /// What a model reads before it decides to call.
    const DESCRIPTION: &'static str;
    /// JSON Schema of the arguments: hand-written, and the authority.
    const SCHEMA: &'static str;
    /// Arguments that the schema and [`Tool::Args`] accept.
    const EXAMPLE: &'static str;
    /// When a run offers it.
    const OFFERED: Offered;
    /// What is done to its result before redaction.
    const FILTER: Filter;
    /// Where it runs.
    const PLACE: Place;
    /// Whether it runs a command, whose exit code is in the metadata.
    const EXIT_CODE: bool = false;
    /// The arguments, once the schema accepted them.
    type Args: DeserializeOwned + Send;

    /// Does the work of a storage tool, or prepares that of a machine tool.
    ///
    /// # Errors
    /// [`ToolError::Refused`] is written for the model, [`ToolError::Failed`] for the operator.
    fn run(cx: Cx<'_>, args: Self::Args) -> impl Future<Output = Result<Answer, ToolError>> + Send;
}

/// What a handler is given.
pub struct Cx<'a> {
    /// Who called.
    pub caller: &'a Caller,
    /// A connection inside a transaction: for a storage tool the one that also
    /// stores the message, so that effect and message stand or fall together.
    pub db: &'a mut PgConnection,
    /// What takes secrets out of a text that is stored for people to read.
    pub words: &'a dyn Redact,
    /// Most bytes of a result that is not cut.
    pub cap_bytes: usize,
    /// What seals and opens secrets.
    pub vault: &'a Vault,
    /// The file that the handler answered [`Answer::Read`] for; `None` until then.
    pub file: Option<&'a HomeFile>,
}

/// A file of the agent's home, or the sentence for the model that says why there is none.
pub type HomeFile = Result<SecretSlice<u8>, String>;

/// Takes secrets out of texts.
pub trait Redact: Sync {
    /// The text with each secret of the agent's organisation replaced by its mark.
    fn redact(&self, text: &str) -> String;
}

/// Who called, as the run knows it.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The agent with its configuration as the turn read it.
    pub agent: Agent,
    /// The run.
    pub run: Uuid,
    /// The chat backend's id of this call.
    pub call_id: String,
}

/// What a handler gives back.
#[derive(Debug)]
pub enum Answer {
    /// A result.
    Text(String),
    /// A result, and a request to the agent's machine once it is durable; what
    /// becomes of the request doesn't change the result.
    TextThen(String, AfterCommit),
    /// A result, and what the chat backend is told once both are durable.
    TextAndEvent(String, Box<Event>),
    /// Ask the agent's machine: its reply is the result.
    OnMachine(MachineCall),
    /// Read a file of the agent's home as the agent, then run this handler again with
    /// [`Cx::file`]. Nothing that it did before is kept.
    Read(ReadHome),
}

/// A file of the agent's home that a handler needs.
#[derive(Debug)]
pub struct ReadHome {
    /// Path relative to the home.
    pub path: String,
    /// Most bytes it may have.
    pub most_bytes: u64,
}

/// What is asked of the machine after the message is durable.
#[derive(Debug)]
pub enum AfterCommit {
    /// Remove a script's file.
    DeleteScript {
        /// Name without `.py`.
        name: String,
    },
}

/// One call of a helper on the agent's machine.
#[derive(Debug)]
pub struct MachineCall {
    /// Which helper.
    pub kind: Kind,
    /// The helper's verb.
    pub verb: &'static str,
    /// What the helper is told. The path of a call sets `env` and `max_output_bytes`.
    pub request: CallRequest,
    /// Whether the agent's secrets are in the environment of what it runs.
    pub with_secrets: bool,
    /// Turns the helper's reply into the raw result.
    pub read: fn(&MachineCallNames, Reply) -> Result<MachineResult, ToolError>,
    /// Names the reader may need.
    pub names: MachineCallNames,
}

/// Names that a reply's text mentions.
#[derive(Debug, Clone, Default)]
pub struct MachineCallNames {
    /// Name of the script that ran.
    pub script: String,
    /// The limit in seconds.
    pub limit_s: u64,
}

/// Why a handler gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Written for the model, which may try again: everything after `ERROR: `.
    #[error("{0}")]
    Refused(String),
    /// Written for the operator; the model learns the call id.
    #[error("{0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ToolError {
    /// `404 …`: it does not exist, or the agent doesn't reach it.
    pub fn not_found(message: impl std::fmt::Display) -> Self {
        Self::Refused(format!("404 {message}"))
    }

    /// `403 …`: the agent reaches it and may not do this.
    pub fn forbidden(message: impl std::fmt::Display) -> Self {
        Self::Refused(format!("403 {message}"))
    }

    /// `422 …`: the arguments ask for something that can't be.
    pub fn invalid(message: impl std::fmt::Display) -> Self {
        Self::Refused(format!("422 {message}"))
    }

    /// A fault that only an operator can mend.
    pub fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed(error.into())
    }
}

impl From<sqlx::Error> for ToolError {
    fn from(error: sqlx::Error) -> Self {
        Self::failed(error)
    }
}

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        Self::failed(error)
    }
}

/// When a run offers a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// In every run.
    Always,
    /// When the binding resolves enabled.
    Binding(Family),
    /// When the agent's flag is on.
    Flag(Flag),
    /// When the agent's flag is on and the binding resolves enabled.
    FlagAndBinding(Flag, Family),
}

/// A family of tools that one binding can switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `note_*`
    Note,
    /// `record_*`
    Record,
    /// `memory_write`
    Memory,
    /// `script_*`
    Script,
    /// `schedule_*`
    Schedule,
    /// `secret_*`
    Secret,
    /// `group_post`
    GroupPost,
}

impl Family {
    /// Every family, in the order of the specification.
    pub const ALL: [Self; 7] = [
        Self::Note,
        Self::Record,
        Self::Memory,
        Self::Script,
        Self::Schedule,
        Self::Secret,
        Self::GroupPost,
    ];

    /// The word in a binding.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Record => "record",
            Self::Memory => "memory",
            Self::Script => "script",
            Self::Schedule => "schedule",
            Self::Secret => "secret",
            Self::GroupPost => "group_post",
        }
    }
}

/// A flag in an agent's `config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// `config.browser`
    Browser,
    /// `config.coding`
    Coding,
    /// `config.scripting`
    Scripting,
    /// `config.memory`
    Memory,
}

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the transaction that stores its message.
    Storage,
    /// In storage, of which it changes nothing: its message alone is stored.
    Reading,
    /// On the agent's machine, asked once the call is durable.
    Machine,
}

type Handler = for<'a> fn(
    Cx<'a>,
    &'a RawValue,
) -> Pin<Box<dyn Future<Output = Result<Answer, ToolError>> + Send + 'a>>;

/// A tool with its type erased: an entry of [`TOOLS`].
pub struct NativeTool {
    /// [`Tool::NAME`]
    pub name: &'static str,
    /// [`Tool::DESCRIPTION`]
    pub description: &'static str,
    /// [`Tool::SCHEMA`]
    pub schema: &'static str,
    /// [`Tool::EXAMPLE`]
    pub example: &'static str,
    /// [`Tool::OFFERED`]
    pub offered: Offered,
    /// [`Tool::FILTER`]
    pub filter: Filter,
    /// [`Tool::PLACE`]
    pub place: Place,
    /// [`Tool::EXIT_CODE`]
    pub exit_code: bool,
    handler: Handler,
    #[cfg(test)]
    reads: fn(&RawValue) -> Result<(), String>,
}

impl std::fmt::Debug for NativeTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativeTool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl NativeTool {
    /// Runs the handler with arguments that the schema accepted.
    ///
    /// # Errors
    /// As [`Tool::run`]; arguments that the schema accepts and the type doesn't are a failure.
    pub async fn run(&self, cx: Cx<'_>, args: &RawValue) -> Result<Answer, ToolError> {
        (self.handler)(cx, args).await
    }
}

const fn entry<T: Tool>() -> NativeTool {
    NativeTool {
        name: T::NAME,
        description: T::DESCRIPTION,
        schema: T::SCHEMA,
        example: T::EXAMPLE,
        offered: T::OFFERED,
        filter: T::FILTER,
        place: T::PLACE,
        exit_code: T::EXIT_CODE,
        #[cfg(test)]
        reads: |args| {
            serde_json::from_str::<T::Args>(args.get())
                .map(drop)
                .map_err(|error| error.to_string())
        },
        handler: |cx, args| {
            Box::pin(async move {
                let args = serde_json::from_str(args.get())?;
                T::run(cx, args).await
            })
        },
    }
}

/// The tool of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static NativeTool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Declares the modules and the list together, so that a tool is one line here.
macro_rules! tools {
    ($($module:ident :: $tool:ident),* $(,)?) => {
        $(mod $module;)*
        /// Every native tool, by name.
        pub static TOOLS: &[NativeTool] = &[$(entry::<$module::$tool>()),*];
    };
}

tools! {
    browser_click::BrowserClick,
    browser_eval::BrowserEval,
    browser_fill::BrowserFill,
    browser_navigate::BrowserNavigate,
    browser_screenshot::BrowserScreenshot,
    browser_scroll::BrowserScroll,
    browser_snapshot::BrowserSnapshot,
    browser_type::BrowserType,
    group_post::GroupPost,
    memory_write::MemoryWrite,
    note_delete::NoteDelete,
    note_find::NoteFind,
    note_get::NoteGet,
    note_write::NoteWrite,
    record_add::RecordAdd,
    record_list::RecordList,
    record_remove::RecordRemove,
    record_search::RecordSearch,
    record_update::RecordUpdate,
    report_issue::ReportIssue,
    schedule_create_cron::ScheduleCreateCron,
    schedule_create_window::ScheduleCreateWindow,
    schedule_delete::ScheduleDelete,
    schedule_list::ScheduleList,
    schedule_pause::SchedulePause,
    schedule_resume::ScheduleResume,
    script_create::ScriptCreate,
    script_delete::ScriptDelete,
    script_list::ScriptList,
    script_read::ScriptRead,
    script_run::ScriptRun,
    secret_request::SecretRequest,
    secret_store::SecretStore,
    shell::Shell,
}

#[cfg(test)]
mod tests;
