//! The HTTP API, as this program speaks it: one request, one answer, a deadline.

mod address;
mod pages;
mod path;
mod tls;

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, DATE, HOST, HeaderValue};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

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
        let url = variable("GUILDS_URL").ok_or_else(|| {
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
        let answer = self.ask(method, path, body, patience).await?;
        if (200..300).contains(&answer.status) {
            return serde_json::from_slice(&answer.body)
                .map_err(|error| Failure::local(format!("the answer is not JSON: {error}")));
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
        match tokio::time::timeout(patience, self.exchange(method, path, body)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(problem)) => Err(Failure::unreachable(format!(
                "the control plane at {authority} can't be reached: {problem}"
            ))),
            Err(_) => Err(Failure::unreachable(format!(
                "the control plane at {authority} gave no answer within {} s",
                patience.as_secs()
            ))),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        let stream = TcpStream::connect(self.authority()).await?;
        stream.set_nodelay(true)?;
        // Dropped, and so ended, with this exchange.
        let mut connections = JoinSet::new();
        let mut sender = match &self.tls {
            None => {
                let (sender, connection) =
                    hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
                connections.spawn(connection);
                sender
            }
            Some(tls) => {
                let stream = TokioIo::new(tls.connect(stream).await?);
                let (sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
                connections.spawn(connection);
                sender
            }
        };
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

/// The token of a role, from its variable or from the file that `<variable>_FILE` names.
///
/// # Errors
/// A usage failure that names what is missing.
pub(crate) fn token(role: Role) -> Result<String, Failure> {
    let name = role.variable();
    let file_name = format!("{name}_FILE");
    match (variable(name), variable(&file_name)) {
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "{name} and {file_name} are both set; set one"
        ))),
        (Some(token), None) => Ok(token),
        (None, Some(path)) => std::fs::read_to_string(&path)
            .map(|text| text.trim().to_owned())
            .map_err(|error| Failure::usage(format!("{file_name} `{path}`: {error}"))),
        (None, None) => Err(Failure::usage(format!(
            "neither {name} nor {file_name} is set"
        ))),
    }
}

/// An environment variable that is set to something.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
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
