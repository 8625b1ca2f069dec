//! The HTTP API, as this program speaks it: one request, one answer, a deadline.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::error::Failure;

/// Longest wait for an ordinary answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait for calls: a script's 120 s, a queue's 60 s, a browser's start, and room.
pub(crate) const CALL_PATIENCE: Duration = Duration::from_secs(300);
/// Largest answer that is read.
const MAX_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// Where the control plane is, and who asks.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    authority: String,
    prefix: String,
    token: Option<String>,
}

/// Which token a command uses.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    Backend,
    Operator,
}

impl Role {
    const fn variable(self) -> &'static str {
        match self {
            Self::Backend => "GUILDS_BACKEND_TOKEN",
            Self::Operator => "GUILDS_OPERATOR_TOKEN",
        }
    }
}

impl Client {
    /// The control plane that `GUILDS_URL` names, with the token of `role`.
    ///
    /// # Errors
    /// A usage failure that names the variable.
    pub(crate) fn from_environment(role: Role) -> Result<Self, Failure> {
        let url = variable("GUILDS_URL").ok_or_else(|| {
            Failure::usage("GUILDS_URL is not set; the development stack writes it to its dev.env")
        })?;
        Self::new(&url, Some(token(role.variable())?))
    }

    /// The control plane at `url`.
    ///
    /// # Errors
    /// When it is no `http://` URL with a host.
    pub(crate) fn new(url: &str, token: Option<String>) -> Result<Self, Failure> {
        let bad = |why: &str| Failure::usage(format!("GUILDS_URL `{url}` {why}"));
        let parsed: Uri = url.parse().map_err(|_| bad("is not a URL"))?;
        if parsed.scheme_str() != Some("http") {
            return Err(bad(
                "is not an http:// URL, the only kind this program speaks",
            ));
        }
        let host = parsed.host().ok_or_else(|| bad("has no host"))?;
        Ok(Self {
            authority: format!("{host}:{}", parsed.port_u16().unwrap_or(80)),
            prefix: parsed.path().trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// The same control plane, asked by someone else.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self.clone()
        }
    }

    /// `GET path`.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::GET, path, None, PATIENCE).await
    }

    /// `POST path` with a JSON body.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub(crate) async fn post(
        &self,
        path: &str,
        body: &Value,
        patience: Duration,
    ) -> Result<Value, Failure> {
        self.send(Method::POST, path, Some(body), patience).await
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// Unreachable when no answer came in time, else the API's own error.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Value, Failure> {
        let seconds = patience.as_secs();
        match tokio::time::timeout(patience, self.exchange(method, path, body)).await {
            Ok(Ok((status, text))) if (200..300).contains(&status) => serde_json::from_slice(&text)
                .map_err(|error| Failure::local(format!("the answer is not JSON: {error}"))),
            Ok(Ok((status, text))) => Err(Failure::answered(
                status,
                &serde_json::from_slice(&text).unwrap_or_default(),
            )),
            Ok(Err(problem)) => Err(Failure::unreachable(format!(
                "the control plane at {} can't be reached: {problem}",
                self.authority
            ))),
            Err(_) => Err(Failure::unreachable(format!(
                "the control plane at {} gave no answer within {seconds} s",
                self.authority
            ))),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Bytes), Box<dyn std::error::Error + Send + Sync>> {
        let stream = TcpStream::connect(&self.authority).await?;
        stream.set_nodelay(true)?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        // Dropped, and so ended, with this exchange.
        let mut connections = JoinSet::new();
        connections.spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.prefix))
            .header(HOST, &self.authority);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body)))?;
        let answer = sender.send_request(request).await?;
        let status = answer.status().as_u16();
        let text = Limited::new(answer.into_body(), MAX_ANSWER_BYTES)
            .collect()
            .await?
            .to_bytes();
        Ok((status, text))
    }
}

/// A token from the variable of that name, or from the file that `<name>_FILE` names.
fn token(name: &str) -> Result<String, Failure> {
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
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_host_port_and_prefix() {
        let client = Client::new("http://127.0.0.1:8440/", None).unwrap();
        assert_eq!(client.authority, "127.0.0.1:8440");
        assert_eq!(client.prefix, "");
        let client = Client::new("http://guilds.example/api/", None).unwrap();
        assert_eq!(client.authority, "guilds.example:80");
        assert_eq!(client.prefix, "/api");
    }

    #[test]
    fn what_is_no_http_url_is_refused() {
        for url in ["", "127.0.0.1:8440", "https://guilds.example", "/v1"] {
            let failure = Client::new(url, None).unwrap_err();
            assert_eq!(failure.exit, crate::error::Exit::Usage, "{url}");
        }
    }
}
