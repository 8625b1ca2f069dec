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
    /// What mends it, where the cause says that much.
    mend: Option<Box<str>>,
    /// A request went out and no answer came: what it asked for may have been done.
    is_open: bool,
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
            mend: None,
            is_open: false,
            silent: false,
        }
    }

    /// It failed on this side: something that is needed isn't there or doesn't work.
    pub(crate) fn local(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, "unavailable", message.into())
    }

    /// A document, or something else that was given, can't be what it should be.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, "invalid", message.into())
    }

    /// Something answered that is no control plane.
    pub(crate) fn stranger(what: impl std::fmt::Display) -> Self {
        Self::local(format!(
            "GUILDS_URL names something else than a control plane: {what}"
        ))
        .with_mend("export GUILDS_URL=https://HOST:8440, the control plane's own address")
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
            ..Self::new(Exit::Done, "unavailable", "nobody reads".to_owned())
        }
    }

    /// An answer that isn't the one that was asked for: the control plane's error, or
    /// what something else says in its place.
    pub(crate) fn answered(status: u16, body: &Value) -> Self {
        let error = body.get("error").and_then(Value::as_object);
        let Some(error) = error.filter(|error| error.contains_key("message")) else {
            return Self::without_error(status);
        };
        let exit = match status {
            401 | 403 => Exit::Denied,
            404 => Exit::NotFound,
            _ => Exit::Failed,
        };
        let failure = Self {
            error: error.clone(),
            ..Self::new(exit, "unavailable", String::new())
        };
        // No object is named so: it is the path that the control plane doesn't have.
        if exit == Exit::NotFound && failure.message().starts_with("no path /") {
            return Self::stranger(format!("it has {}", failure.message()));
        }
        failure
    }

    /// An answer that no control plane gives.
    fn without_error(status: u16) -> Self {
        match status {
            502..=504 => Self {
                is_open: true,
                ..Self::unreachable(format!(
                    "the control plane can't be reached: a proxy before it answered status {status}"
                ))
            }
            .with_mend("systemctl start guilds-control-plane, behind the proxy"),
            status => Self::stranger(format!(
                "it answered status {status} without an error object"
            )),
        }
    }

    /// The same with what mends it.
    pub(crate) fn with_mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into().into_boxed_str());
        self
    }

    /// What mends it, when that is known.
    pub(crate) fn mend(&self) -> Option<&str> {
        self.mend.as_deref()
    }

    /// The same, of a request that went out and wasn't answered.
    pub(crate) fn open(self) -> Self {
        Self {
            is_open: true,
            ..self
        }
    }

    /// Whether what was asked for may have been done nevertheless.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// The same with more said in its sentence.
    pub(crate) fn and(mut self, more: impl std::fmt::Display) -> Self {
        let message = format!("{}; {more}", self.message());
        self.error.insert("message".to_owned(), json!(message));
        self
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

    /// The same told by fields: for a document that was made of the command line,
    /// whose paths and whose name say nothing to people.
    pub(crate) fn told_by_field(mut self) -> Self {
        let mut told: Vec<_> = self
            .problems()
            .into_iter()
            .map(|problem| {
                let field = problem.path.rsplit('.').next().unwrap_or_default();
                let field = field.split('[').next().unwrap_or_default();
                format!("{field}: {}", problem.message)
            })
            .collect();
        let message = match told.len() {
            0 => return self,
            1 => told.remove(0),
            count => format!("{count} problems"),
        };
        self.error.insert("message".to_owned(), json!(message));
        self.with_details(told)
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
    fn an_answer_that_no_control_plane_gives_is_told() {
        let failure = Failure::answered(502, &json!("bad gateway"));
        assert_eq!(
            (failure.exit, failure.message()),
            (
                Exit::Unreachable,
                "the control plane can't be reached: a proxy before it answered status 502"
            )
        );
        let failure = Failure::answered(404, &json!({"error": "nothing here"}));
        assert_eq!(
            (failure.exit, failure.message()),
            (
                Exit::Failed,
                "GUILDS_URL names something else than a control plane: it answered status 404 without an error object"
            )
        );
        let body = json!({"error": {"code": "not_found", "message": "no path /v1/v1/runs"}});
        let failure = Failure::answered(404, &body);
        assert_eq!(
            (failure.exit, failure.message()),
            (
                Exit::Failed,
                "GUILDS_URL names something else than a control plane: it has no path /v1/v1/runs"
            )
        );
    }

    #[test]
    fn what_was_made_of_the_command_line_is_told_by_its_fields() {
        let body = |problems: Value| json!({"error": {"code": "document_rejected", "message": "the document has a problem", "problems": problems}});
        let one =
            body(json!([{"path": "secrets[0].grants[3]", "message": "there is no agent eve"}]));
        let failure = Failure::answered(422, &one).told_by_field();
        assert_eq!(failure.message(), "grants: there is no agent eve");
        assert!(failure.details().is_empty());
        let two = body(json!([
            {"path": "logins[0].connector", "message": "there is no connector web"},
            {"path": "logins[0].key", "message": "is too short"},
        ]));
        let failure = Failure::answered(422, &two).told_by_field();
        assert_eq!(failure.message(), "2 problems");
        assert_eq!(
            failure.details(),
            ["connector: there is no connector web", "key: is too short"]
        );
    }
}
