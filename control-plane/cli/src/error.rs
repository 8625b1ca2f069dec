//! What the command line says when it can't do what was asked, and how it exits.

use std::process::ExitCode;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Format;

/// Exit codes, fixed for scripts that read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Pending = 2,
    NotFound = 3,
    Denied = 4,
    Unreachable = 5,
    Usage = 64,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why something wasn't done: the API's error object, or one made in its shape.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// The inside of `{"error":…}`.
    error: Map<String, Value>,
    /// Lines for people, beside the message.
    details: Vec<String>,
}

/// One problem of a refused document.
#[derive(Debug, Deserialize)]
pub(crate) struct Problem {
    pub(crate) path: String,
    pub(crate) message: String,
}

impl Failure {
    fn new(exit: Exit, code: &str, message: String) -> Self {
        let mut error = Map::new();
        error.insert("code".to_owned(), json!(code));
        error.insert("message".to_owned(), json!(message));
        Self {
            exit,
            error,
            details: Vec::new(),
        }
    }

    /// It failed on this side.
    pub(crate) fn local(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, "failed", message.into())
    }

    /// The command line makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "invalid", message.into())
    }

    /// The control plane could not be reached.
    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self::new(Exit::Unreachable, "unavailable", message.into())
    }

    /// The control plane answered with an error.
    pub(crate) fn answered(status: u16, body: &Value) -> Self {
        let exit = match status {
            401 | 403 => Exit::Denied,
            404 => Exit::NotFound,
            _ => Exit::Failed,
        };
        match body.get("error").and_then(Value::as_object) {
            Some(error) => Self {
                exit,
                error: error.clone(),
                details: Vec::new(),
            },
            None => Self::new(
                exit,
                "failed",
                format!("the control plane answered status {status} without an error object"),
            ),
        }
    }

    /// The same with lines for people.
    pub(crate) fn with_details(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }

    /// The problems of a refused document, when there are any.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        self.error
            .get("problems")
            .and_then(|problems| serde_json::from_value(problems.clone()).ok())
            .unwrap_or_default()
    }

    /// One sentence.
    pub(crate) fn message(&self) -> &str {
        let message = self.error.get("message").and_then(Value::as_str);
        message.unwrap_or("no reason was given")
    }

    /// Tells it on stderr.
    pub(crate) fn print(&self, format: Format) {
        match format {
            Format::Json => eprintln!("{}", json!({"error": self.error})),
            Format::Table => {
                eprintln!("guilds: {}", self.message());
                for detail in &self.details {
                    eprintln!("  {detail}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_decides_the_exit() {
        let body = json!({"error": {"code": "forbidden", "message": "no"}});
        assert_eq!(Failure::answered(401, &body).exit, Exit::Denied);
        assert_eq!(Failure::answered(403, &body).exit, Exit::Denied);
        assert_eq!(Failure::answered(404, &body).exit, Exit::NotFound);
        assert_eq!(Failure::answered(422, &body).exit, Exit::Failed);
        assert_eq!(Failure::answered(409, &body).message(), "no");
    }

    #[test]
    fn an_answer_without_an_error_object_is_told() {
        let failure = Failure::answered(502, &json!("bad gateway"));
        assert_eq!(
            failure.message(),
            "the control plane answered status 502 without an error object"
        );
    }
}
