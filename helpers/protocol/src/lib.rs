//! The helpers' protocol: one JSON object on stdin, one on stdout, logs on stderr, exit 0 when an object was written.

pub mod child;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Limit when the request names none, in milliseconds.
pub const DEFAULT_LIMIT_MS: u64 = 60_000;
/// Output bound when the request names none: the default cap of a result plus 64 KiB.
pub const DEFAULT_MAX_OUTPUT_BYTES: usize = 131_072;
/// Most bytes a request may have.
pub const MAX_REQUEST_BYTES: u64 = 16 * 1024 * 1024;

/// What a helper is asked.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// The tool's arguments, an object.
    pub arguments: Box<RawValue>,
    /// Environment for the agent's own program, never for the helper itself.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The helper ends its own child at this limit and answers with what it had.
    #[serde(default = "default_limit_ms")]
    pub limit_ms: u64,
    /// Most bytes of output in the reply.
    #[serde(default = "default_max_output_bytes")]
    pub max_output_bytes: usize,
    /// For `guilds-script-run`: lower-case hexadecimal SHA-256 of the bytes to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// For `guilds-script-run`: the bytes to run, for when its file is being replaced by
    /// another run of the agent's. Without it the file's bytes are run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

fn default_limit_ms() -> u64 {
    DEFAULT_LIMIT_MS
}

fn default_max_output_bytes() -> usize {
    DEFAULT_MAX_OUTPUT_BYTES
}

impl Request {
    /// The instant at which the helper must answer, counted from `started`.
    #[must_use]
    pub fn deadline(&self, started: Instant) -> Instant {
        started + Duration::from_millis(self.limit_ms)
    }
}

/// What a helper answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Output; beside an error, what there was before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// A refusal, written for whoever called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Bytes of output as produced, also where it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_bytes: Option<u64>,
    /// Exit code of the command that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

impl Reply {
    /// A reply with output, whole.
    #[must_use]
    pub fn output(output: String) -> Self {
        Self {
            original_bytes: Some(output.len() as u64),
            output: Some(output),
            ..Self::default()
        }
    }

    /// A refusal.
    #[must_use]
    pub fn refused(error: impl Into<String>) -> Self {
        Self {
            error: Some(error.into()),
            ..Self::default()
        }
    }

    /// The same reply with its output cut to `max` bytes, never inside a
    /// character. `original_bytes` keeps the number before the cut.
    #[must_use]
    pub fn cut_to(mut self, max: usize) -> Self {
        if let Some(output) = &mut self.output {
            self.original_bytes.get_or_insert(output.len() as u64);
            output.truncate(output.floor_char_boundary(max));
        }
        self
    }
}

/// Reads the request from stdin, lets `answer` make the reply and writes it to stdout.
///
/// A request that isn't one is answered with an error object too, so that the
/// exit code is 0 whenever stdout holds an object.
///
/// The request may carry secrets, so the helper is made not dumpable first: no
/// core file, and no look into its memory by the agent's other processes. The
/// program it executes starts dumpable again.
pub fn serve(answer: impl FnOnce(Request) -> Reply) -> ExitCode {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        eprintln!("this process could not be made not dumpable: {error}");
        return ExitCode::FAILURE;
    }
    let reply = match read_request() {
        Ok(request) => {
            let max = request.max_output_bytes;
            answer(request).cut_to(max)
        }
        Err(problem) => Reply::refused(problem),
    };
    match write_reply(&reply) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the reply could not be written: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read_request() -> Result<Request, String> {
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(MAX_REQUEST_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("the request on stdin could not be read: {error}"))?;
    if text.len() as u64 > MAX_REQUEST_BYTES {
        return Err(format!(
            "the request on stdin is larger than {MAX_REQUEST_BYTES} bytes"
        ));
    }
    let request: Request = serde_json::from_str(&text)
        .map_err(|error| format!("the request on stdin is not a request: {error}"))?;
    if !request.arguments.get().trim_start().starts_with('{') {
        return Err("`arguments` of the request is not an object".to_owned());
    }
    Ok(request)
}

fn write_reply(reply: &Reply) -> io::Result<()> {
    let mut text = serde_json::to_vec(reply).map_err(io::Error::other)?;
    text.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_have_defaults() {
        let request: Request = serde_json::from_str(r#"{"arguments":{}}"#).unwrap();
        assert_eq!(request.limit_ms, 60_000);
        assert_eq!(request.max_output_bytes, 131_072);
        assert!(request.env.is_empty());
        assert_eq!(request.sha256, None);
    }

    #[test]
    fn a_cut_splits_no_character_and_keeps_the_count() {
        let reply = Reply::output("aé".to_owned()).cut_to(2);
        assert_eq!(reply.output.as_deref(), Some("a"));
        assert_eq!(reply.original_bytes, Some(3));
    }
}
