//! The HTTP API, as this program speaks it: one request, one answer, a deadline.

mod address;
mod pages;
mod path;
mod tls;

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, DATE, HOST, HeaderValue};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use self::address::Address;
pub(crate) use self::pages::{List, Query};
pub(crate) use self::path::segment;
use self::tls::Tls;
use crate::error::Failure;

/// Longest wait for an ordinary answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait for calls: a script's 120 s, a queue's 60 s, a browser's start, and room.
pub(crate) const CALL_PATIENCE: Duration = Duration::from_secs(300);
/// Largest answer that is read.
const MAX_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// The sending half of a connection.
type Sender = http1::SendRequest<Full<Bytes>>;
/// What may go wrong below HTTP.
type Tried<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Where the control plane is, and who asks.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    address: Address,
    tls: Option<Tls>,
    token: Option<HeaderValue>,
}

/// Which token a command uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Backend,
    Operator,
}

impl Role {
    /// The environment variable with the token.
    pub(crate) const fn variable(self) -> &'static str {
        match self {
            Self::Backend => "GUILDS_BACKEND_TOKEN",
            Self::Operator => "GUILDS_OPERATOR_TOKEN",
        }
    }
}

/// An answer before anyone judged its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The `Date` header, as it was sent.
    pub(crate) date: Option<String>,
    pub(crate) body: Bytes,
}

impl Client {
    /// The control plane that `GUILDS_URL` names, with the token of `role`.
    ///
    /// # Errors
    /// A usage failure that names every variable that is wrong.
    pub(crate) fn from_environment(role: Role) -> Result<Self, Failure> {
        match (Self::nobody(), token(role)) {
            (Ok(client), Ok(token)) => client.with(Some(&token)),
            (Err(address), Err(token)) => Err(Failure::usage(format!(
                "{}; {}",
                address.message(),
                token.message()
            ))),
            (Err(failure), _) | (_, Err(failure)) => Err(failure),
        }
    }

    /// The control plane that `GUILDS_URL` names, asked without a token.
    ///
    /// # Errors
    /// A usage failure that names the variable.
    pub(crate) fn nobody() -> Result<Self, Failure> {
        let url = text_variable("GUILDS_URL")?.ok_or_else(|| {
            Failure::usage("GUILDS_URL is not set; the development stack writes it to its dev.env")
        })?;
        Self::new(&url, None)
    }

    /// The control plane at `url`.
    ///
    /// # Errors
    /// When it is no `http://` or `https://` URL with a host, or the token can't be one.
    pub(crate) fn new(url: &str, token: Option<String>) -> Result<Self, Failure> {
        let address = Address::parse(url)?;
        let tls = address.tls().map(Tls::with).transpose()?;
        let client = Self {
            address,
            tls,
            token: None,
        };
        client.with(token.as_deref())
    }

    /// The same control plane, asked by someone else.
    ///
    /// # Errors
    /// When the token has characters that no token has.
    pub(crate) fn with(&self, token: Option<&str>) -> Result<Self, Failure> {
        let token = token
            .map(|token| {
                let mut value =
                    HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
                        Failure::usage(
                            "the token holds a character that no token has, a line's end perhaps",
                        )
                    })?;
                value.set_sensitive(true);
                Ok::<_, Failure>(value)
            })
            .transpose()?;
        Ok(Self {
            token,
            ..self.clone()
        })
    }

    /// `host:port`, for sentences.
    pub(crate) fn authority(&self) -> &str {
        self.address.authority()
    }

    /// `GET path`.
    ///
    /// # Errors
    /// Unreachable when no answer came in time, else the API's own error.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::GET, path, None, PATIENCE).await
    }

    /// `POST path` with a JSON body.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub(crate) async fn post(
        &self,
        path: &str,
        body: &Value,
        patience: Duration,
    ) -> Result<Value, Failure> {
        self.send(Method::POST, path, Some(body), patience).await
    }

    /// `PATCH path` with a JSON body.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.send(Method::PATCH, path, Some(body), PATIENCE).await
    }

    /// `PUT path` without a body: the path says all of it.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub(crate) async fn put(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::PUT, path, None, PATIENCE).await
    }

    /// `DELETE path`.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub(crate) async fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::DELETE, path, None, PATIENCE).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Value, Failure> {
        // A plan changes nothing, whatever its method.
        let is_write = method != Method::GET && !path.ends_with("dry_run=true");
        let asked = self.ask(method, path, body, patience).await;
        let answer = asked.map_err(|failure| match is_write && failure.is_open() {
            true => failure.and("it may have been done"),
            false => failure,
        })?;
        if (200..300).contains(&answer.status) {
            return serde_json::from_slice(&answer.body)
                .map_err(|error| Failure::stranger(format!("its answer is not JSON: {error}")));
        }
        Err(Failure::answered(
            answer.status,
            &serde_json::from_slice(&answer.body).unwrap_or_default(),
        ))
    }

    /// Sends a request and reads its answer, whatever its status.
    ///
    /// # Errors
    /// Unreachable when no answer came in time.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Answer, Failure> {
        let authority = self.authority();
        let unreachable =
            |why: &str| Failure::unreachable(format!("the control plane at {authority} {why}"));
        let late = || unreachable(&format!("gave no answer within {} s", patience.as_secs()));
        let deadline = Instant::now() + patience;
        let mut connections = JoinSet::new();
        let connected = timeout_at(deadline, self.connect(&mut connections));
        let sender = match connected.await {
            Ok(Ok(sender)) => sender,
            Ok(Err(problem)) => return Err(self.unconnected(&*problem)),
            Err(_) => return Err(late()),
        };
        let exchanged = timeout_at(deadline, self.exchange(sender, method, path, body));
        match exchanged.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(problem)) if is_no_http(&*problem) => Err(self.no_http().await),
            Ok(Err(problem)) => Err(unreachable(&format!("can't be reached: {problem}")).open()),
            Err(_) => Err(late().open()),
        }
    }

    async fn connect(&self, connections: &mut JoinSet<hyper::Result<()>>) -> Tried<Sender> {
        let stream = TcpStream::connect(self.authority()).await?;
        stream.set_nodelay(true)?;
        // Each is dropped, and so ended, with its exchange.
        match &self.tls {
            None => {
                let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
                connections.spawn(connection);
                Ok(sender)
            }
            Some(tls) => {
                let stream = TokioIo::new(tls.connect(stream).await?);
                let (sender, connection) = http1::handshake(stream).await?;
                connections.spawn(connection);
                Ok(sender)
            }
        }
    }

    /// Why no connection came about.
    fn unconnected(&self, problem: &(dyn std::error::Error + 'static)) -> Failure {
        let authority = self.authority();
        if tls::is_plain(problem) {
            return Failure::unreachable(format!(
                "the control plane at {authority} speaks no TLS; use http://{authority}"
            ))
            .with_mend(format!("export GUILDS_URL=http://{authority}"));
        }
        Failure::unreachable(format!(
            "the control plane at {authority} can't be reached: {problem}"
        ))
    }

    /// What it is that answers a request with something else than HTTP.
    async fn no_http(&self) -> Failure {
        let authority = self.authority();
        if self.tls.is_none() && tls::is_spoken(authority).await {
            return Failure::unreachable(format!(
                "the control plane at {authority} speaks TLS; use https://{authority}"
            ))
            .with_mend(format!("export GUILDS_URL=https://{authority}"));
        }
        Failure::stranger(format!("{authority} answers no HTTP"))
    }

    async fn exchange(
        &self,
        mut sender: Sender,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Tried<Answer> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address.prefix()))
            .header(HOST, self.authority());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body)))?;
        let answer = sender.send_request(request).await?;
        let (parts, body) = answer.into_parts();
        let date = parts.headers.get(DATE);
        Ok(Answer {
            status: parts.status.as_u16(),
            date: date.and_then(|date| Some(date.to_str().ok()?.to_owned())),
            body: Limited::new(body, MAX_ANSWER_BYTES)
                .collect()
                .await?
                .to_bytes(),
        })
    }
}

/// Whether an answer could not be read as HTTP at all.
fn is_no_http(problem: &(dyn std::error::Error + 'static)) -> bool {
    problem
        .downcast_ref::<hyper::Error>()
        .is_some_and(hyper::Error::is_parse)
}

/// The token of a role, from its variable or from the file that `<variable>_FILE` names.
///
/// # Errors
/// A usage failure that names what is missing.
pub(crate) fn token(role: Role) -> Result<String, Failure> {
    let name = role.variable();
    let file_name = format!("{name}_FILE");
    match (text_variable(name)?, text_variable(&file_name)?) {
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "{name} and {file_name} are both set; set one"
        ))),
        (Some(token), None) => Ok(token),
        (None, Some(path)) => {
            let told = |why: &str| Failure::usage(format!("{file_name} `{path}`{why}"));
            let text =
                std::fs::read_to_string(&path).map_err(|error| told(&format!(": {error}")))?;
            match text.trim() {
                "" => Err(told(" is empty")),
                token => Ok(token.to_owned()),
            }
        }
        (None, None) => Err(Failure::usage(format!(
            "neither {name} nor {file_name} is set"
        ))),
    }
}

/// An environment variable that is set to something.
pub(crate) fn variable(name: &str) -> Option<String> {
    text_variable(name).ok().flatten()
}

/// An environment variable that is set to something.
///
/// # Errors
/// A usage failure when that is no text.
pub(crate) fn text_variable(name: &str) -> Result<Option<String>, Failure> {
    let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    value
        .into_string()
        .map(Some)
        .map_err(|_| Failure::usage(format!("{name} is no UTF-8 text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_with_a_line_in_it_is_refused_without_being_shown() {
        let failure = Client::new("http://127.0.0.1:8440", Some("go_one\ngo_two".to_owned()));
        assert_eq!(
            failure.unwrap_err().message(),
            "the token holds a character that no token has, a line's end perhaps"
        );
    }
}
