//! What the control plane may ask of a machine: one request type per operation, each naming its method, path and reply.
//!
//! This crate is shared by both daemons and does no I/O. Either side may be one
//! minor version older than the other, so fields are only ever added, with a
//! default, and unknown fields are ignored.

mod files;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use files::{MOST_FILE, MOST_PATH, ReadFile, check_path, decode, encode};

/// Header that carries the agent's slot (0 to 99) on every agent operation, so
/// that the front can check it without parsing a body.
pub const SLOT_HEADER: &str = "guilds-slot";
/// Header that carries the agent's organisation on every agent operation.
pub const ORGANISATION_HEADER: &str = "guilds-organisation";
/// URI SAN of the control plane's certificate, the only peer a front answers.
pub const CONTROL_PLANE_SAN: &str = "guilds://control-plane";

/// URI SAN that the certificate of machine `id` carries.
#[must_use]
pub fn machine_san(id: &str) -> String {
    format!("guilds://machine/{id}")
}

/// One thing the control plane may ask.
pub trait Operation {
    /// HTTP method.
    const METHOD: &'static str;
    /// What the machine answers with status 200.
    type Reply: DeserializeOwned + Serialize;
    /// Path and query.
    fn path(&self) -> String;
    /// JSON body, when the operation has one.
    ///
    /// # Errors
    /// When the request can't be written as JSON.
    fn body(&self) -> serde_json::Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

/// `GET /v1/health`: the front's version, its certificate's end and its agents.
#[derive(Debug)]
pub struct Health;

/// Reply to [`Health`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HealthReply {
    /// Version of the front's binary.
    pub version: String,
    /// Machine id from the certificate.
    pub machine: String,
    /// End of the certificate, RFC 3339 UTC.
    pub certificate_not_after: String,
    /// Agents the front knows, by id.
    pub agents: Vec<String>,
}

impl Operation for Health {
    const METHOD: &'static str = "GET";
    type Reply = HealthReply;
    fn path(&self) -> String {
        "/v1/health".to_owned()
    }
}

/// `PUT /v1/agents/{agent}`: make account, home, cgroup, firewall element and runner. Idempotent.
#[derive(Debug)]
pub struct EnsureAgent<'a> {
    /// Agent id, which is also the Unix account's name.
    pub agent: &'a str,
}

/// Reply to [`EnsureAgent`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EnsureAgentReply {
    /// Uid the agent runs as.
    pub uid: u32,
    /// Absolute path of the agent's home.
    pub home: String,
}

impl Operation for EnsureAgent<'_> {
    const METHOD: &'static str = "PUT";
    type Reply = EnsureAgentReply;
    fn path(&self) -> String {
        format!("/v1/agents/{}", self.agent)
    }
}

/// Which helper a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `guilds-browser`
    Browser,
    /// `guilds-script-run`
    ScriptRun,
    /// `guilds-code`
    Code,
}

impl Kind {
    /// Every kind, in the order of the documents.
    pub const ALL: [Self; 3] = [Self::Browser, Self::ScriptRun, Self::Code];

    /// The segment of the path.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::ScriptRun => "script-run",
            Self::Code => "code",
        }
    }

    /// The kind a path segment names.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `POST /v1/agents/{agent}/{kind}/{verb}/calls/{id}`: run a helper once.
///
/// The same id attaches to the running call or answers the kept result; it
/// never runs twice.
#[derive(Debug)]
pub struct StartCall<'a> {
    /// Agent id.
    pub agent: &'a str,
    /// Which helper.
    pub kind: Kind,
    /// The helper's verb: `navigate`, `snapshot`, `shell`, `run` …
    pub verb: &'a str,
    /// Machine call id: 26 characters of lower-case base32.
    pub id: &'a str,
    /// What the helper is told.
    pub request: CallRequest,
}

/// Body of [`StartCall`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallRequest {
    /// The tool's arguments, byte for byte as the control plane read them.
    pub arguments: Box<RawValue>,
    /// Environment that the helper passes to the agent's own program.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The helper's own time limit in milliseconds.
    pub limit_ms: u64,
    /// Most bytes of output the helper returns.
    pub max_output_bytes: u64,
    /// The script of a `script-run` call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
}

/// A script as the run's snapshot holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// Name without `.py`.
    pub name: String,
    /// Lower-case hexadecimal SHA-256 of `source`.
    pub sha256: String,
    /// Python source.
    pub source: String,
}

impl Operation for StartCall<'_> {
    const METHOD: &'static str = "POST";
    type Reply = CallState;
    fn path(&self) -> String {
        format!(
            "/v1/agents/{}/{}/{}/calls/{}",
            self.agent, self.kind, self.verb, self.id
        )
    }
    fn body(&self) -> serde_json::Result<Option<Vec<u8>>> {
        serde_json::to_vec(&self.request).map(Some)
    }
}

/// Where a call stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CallState {
    /// It runs.
    Running,
    /// It ended with the helper's object.
    Done {
        /// What the helper answered.
        reply: Reply,
    },
    /// It ended without one: written for the operator's log.
    Failed {
        /// One sentence for whoever called.
        message: String,
        /// The tail of the helper's stderr and its exit, for the log only.
        #[serde(default)]
        detail: String,
    },
    /// It waited longer than 60 s for the agent's other calls and never ran.
    Busy {
        /// One sentence for whoever called.
        message: String,
    },
    /// It was cancelled, before or while it ran.
    Cancelled,
    /// The agent's runner ended while it ran, so nobody knows how far it came.
    Lost {
        /// One sentence for whoever called.
        message: String,
    },
    /// The runner never saw the id, and refuses it from now on.
    Unknown,
}

/// What a helper answered, with what the runner has to add.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Output, absent only beside an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// A refusal, written for whoever called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Bytes of output as produced, also where it was cut.
    #[serde(default)]
    pub original_bytes: u64,
    /// Exit code of the command that the helper ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Sentences to put before the output, such as "Chrome was started again".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// `GET /v1/agents/{agent}/calls/{id}?wait_s=`: where a call stands.
#[derive(Debug)]
pub struct FollowCall<'a> {
    /// Agent id.
    pub agent: &'a str,
    /// Machine call id.
    pub id: &'a str,
    /// Seconds to wait for the end, 0 to 60.
    pub wait_s: u32,
}

impl Operation for FollowCall<'_> {
    const METHOD: &'static str = "GET";
    type Reply = CallState;
    fn path(&self) -> String {
        format!(
            "/v1/agents/{}/calls/{}?wait_s={}",
            self.agent, self.id, self.wait_s
        )
    }
}

/// `POST /v1/agents/{agent}/calls/{id}/cancel`: end a call's whole cgroup. Answers its end.
#[derive(Debug)]
pub struct CancelCall<'a> {
    /// Agent id.
    pub agent: &'a str,
    /// Machine call id.
    pub id: &'a str,
}

impl Operation for CancelCall<'_> {
    const METHOD: &'static str = "POST";
    type Reply = CallState;
    fn path(&self) -> String {
        format!("/v1/agents/{}/calls/{}/cancel", self.agent, self.id)
    }
}

/// `POST /v1/agents/{agent}/calls/{id}/stored`: the result is durable; the runner may forget its body and keeps the id.
#[derive(Debug)]
pub struct StoredCall<'a> {
    /// Agent id.
    pub agent: &'a str,
    /// Machine call id.
    pub id: &'a str,
}

impl Operation for StoredCall<'_> {
    const METHOD: &'static str = "POST";
    type Reply = Empty;
    fn path(&self) -> String {
        format!("/v1/agents/{}/calls/{}/stored", self.agent, self.id)
    }
}

/// `PUT /v1/agents/{agent}/scripts/{name}`: write a script file, as the agent.
#[derive(Debug)]
pub struct PutScript<'a> {
    /// Agent id.
    pub agent: &'a str,
    /// The script.
    pub script: &'a Script,
}

impl Operation for PutScript<'_> {
    const METHOD: &'static str = "PUT";
    type Reply = Empty;
    fn path(&self) -> String {
        format!("/v1/agents/{}/scripts/{}", self.agent, self.script.name)
    }
    fn body(&self) -> serde_json::Result<Option<Vec<u8>>> {
        serde_json::to_vec(self.script).map(Some)
    }
}

/// `DELETE /v1/agents/{agent}/scripts/{name}`: remove a script file. Idempotent.
#[derive(Debug)]
pub struct DeleteScript<'a> {
    /// Agent id.
    pub agent: &'a str,
    /// Name without `.py`.
    pub name: &'a str,
}

impl Operation for DeleteScript<'_> {
    const METHOD: &'static str = "DELETE";
    type Reply = Empty;
    fn path(&self) -> String {
        format!("/v1/agents/{}/scripts/{}", self.agent, self.name)
    }
}

/// `{}`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Empty {}

/// Body of every answer that is not 200: `{"error":{"code","message"}}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorDetail,
}

/// Inside of [`ErrorBody`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorDetail {
    /// For programs.
    pub code: ErrorCode,
    /// For people; may be shown to whoever called.
    pub message: String,
}

/// Why a machine refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// 400 or 422: the request makes no sense.
    Invalid,
    /// 404: no such path, or an agent this front never made.
    NotFound,
    /// 409: another organisation's account, another agent's slot, or an id answered "unknown" before.
    Conflict,
    /// 413: body too large.
    BodyTooLarge,
    /// 429: too many calls of this agent or machine at once.
    TooManyCalls,
    /// 503: the machine can't serve this now, such as a firewall table that is gone.
    Unavailable,
    /// 500: a fault on the machine; its log says more.
    Failed,
    /// A code this version doesn't know.
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_names_its_path() {
        let call = StartCall {
            agent: "ada",
            kind: Kind::ScriptRun,
            verb: "run",
            id: "abcdefghijklmnopqrstuvwxyz",
            request: CallRequest {
                arguments: RawValue::from_string("{}".to_owned()).unwrap(),
                env: BTreeMap::new(),
                limit_ms: 120_000,
                max_output_bytes: 131_072,
                script: None,
            },
        };
        assert_eq!(
            call.path(),
            "/v1/agents/ada/script-run/run/calls/abcdefghijklmnopqrstuvwxyz"
        );
        assert_eq!(
            String::from_utf8(call.body().unwrap().unwrap()).unwrap(),
            r#"{"arguments":{},"env":{},"limit_ms":120000,"max_output_bytes":131072}"#
        );
    }

    #[test]
    fn states_are_tagged_and_tolerate_new_fields() {
        let state: CallState =
            serde_json::from_str(r#"{"state":"done","reply":{"output":"hi","new":1},"later":2}"#)
                .unwrap();
        assert_eq!(
            state,
            CallState::Done {
                reply: Reply {
                    output: Some("hi".to_owned()),
                    ..Reply::default()
                }
            }
        );
        assert_eq!(
            serde_json::to_string(&CallState::Unknown).unwrap(),
            r#"{"state":"unknown"}"#
        );
    }
}
