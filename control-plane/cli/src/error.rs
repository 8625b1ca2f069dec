//! What the command line says when it can't do what was asked, and how it exits.

use std::process::ExitCode;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Format;
use crate::output;
use crate::text;

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
    /// Nobody is left to be told.
    silent: bool,
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
            silent: false,
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

    /// There is no such thing.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Exit::NotFound, "not_found", message.into())
    }

    /// Something in use stands in the way, as the API would say it.
    pub(crate) fn conflict(message: impl Into<String>, uses: Option<&Value>) -> Self {
        let mut failure = Self::new(Exit::Failed, "conflict", message.into());
        if let Some(uses) = uses {
            failure.error.insert("uses".to_owned(), uses.clone());
        }
        failure
    }

    /// Whoever read the payload has gone, as `head` does when it has enough.
    pub(crate) fn reader_gone() -> Self {
        Self {
            silent: true,
            ..Self::new(Exit::Done, "failed", "nobody reads".to_owned())
        }
    }

    /// The control plane answered with an error.
    pub(crate) fn answered(status: u16, body: &Value) -> Self {
        let exit = match status {
            401 | 403 => Exit::Denied,
            404 => Exit::NotFound,
            _ => Exit::Failed,
        };
        let failure = Self::new(
            exit,
            "failed",
            format!("the control plane answered status {status} without an error object"),
        );
        match body.get("error").and_then(Value::as_object) {
            Some(error) => Self {
                error: error.clone(),
                ..failure
            },
            None => failure,
        }
    }

    /// The same with lines for people.
    pub(crate) fn with_details(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }

    /// The problems of a refused document, when there are any.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        self.member("problems")
            .and_then(|problems| serde_json::from_value(problems.clone()).ok())
            .unwrap_or_default()
    }

    /// The same with other problems.
    pub(crate) fn with_problems(mut self, problems: &[(String, String)]) -> Self {
        let problems = problems
            .iter()
            .map(|(path, message)| json!({"path": path, "message": message}))
            .collect();
        self.error
            .insert("problems".to_owned(), Value::Array(problems));
        self
    }

    /// The same with each problem as a line, by its field: for a document that
    /// was made of the command line, whose paths say nothing to people.
    pub(crate) fn told_by_field(self) -> Self {
        let details = self
            .problems()
            .into_iter()
            .map(|problem| match problem.path.rsplit_once('.') {
                Some((_, field)) => format!("{field}: {}", problem.message),
                None => format!("{}: {}", problem.path, problem.message),
            })
            .collect();
        self.with_details(details)
    }

    /// A member of the error object.
    pub(crate) fn member(&self, name: &str) -> Option<&Value> {
        self.error.get(name)
    }

    /// One sentence.
    pub(crate) fn message(&self) -> &str {
        let message = self.error.get("message").and_then(Value::as_str);
        message.unwrap_or("no reason was given")
    }

    /// The lines for people.
    #[cfg(test)]
    pub(crate) fn details(&self) -> &[String] {
        &self.details
    }

    /// The error object, for an answer that holds several.
    pub(crate) fn to_json(&self) -> Value {
        Value::Object(self.error.clone())
    }

    /// Tells it on stderr.
    pub(crate) fn print(&self, format: Format) {
        if self.silent {
            return;
        }
        match format {
            Format::Json => output::note(&output::compact(&json!({"error": self.error}))),
            Format::Table => {
                output::note(&format!("guilds: {}", text::lines(self.message())));
                for detail in &self.details {
                    output::note(&format!("  {}", text::lines(detail)));
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
