//! A client of a run's MCP face, as small as the protocol allows: what it sends is what a test says.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{HeaderMap, Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::api::Run;

/// Longer than any answer of a test may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A revision in which each request says all about itself.
pub const STATELESS: &str = "2026-07-28";

/// A client of one run.
#[derive(Debug, Clone)]
pub struct Mcp {
    /// `host:port` of the API.
    pub address: String,
    /// Path of the run's MCP face.
    pub path: String,
    /// The run's token.
    pub token: String,
    /// Headers of every request, beside those that every client sends.
    pub headers: Vec<(String, String)>,
}

/// An answer that is no stream.
#[derive(Debug)]
pub struct McpAnswer {
    /// HTTP status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// The body.
    pub text: String,
}

impl McpAnswer {
    /// The body as JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn json(&self) -> Result<Value> {
        // A call that takes long, as on a busy machine, is answered by the end of a stream.
        let last = self.text.lines().rfind(|line| line.starts_with("data: "));
        let text = last.map_or(self.text.as_str(), |line| &line["data: ".len()..]);
        serde_json::from_str(text)
            .with_context(|| format!("status {}, body {:?}", self.status, self.text))
    }

    /// `result` of a response with status 200.
    ///
    /// # Errors
    /// When it is an error.
    pub fn result(&self) -> Result<Value> {
        let body = self.json()?;
        ensure!(
            self.status == 200 && body.get("result").is_some(),
            "status {}, body {body}",
            self.status
        );
        Ok(body["result"].clone())
    }

    /// Status and `error.code`, the way a client branches on an error.
    #[must_use]
    pub fn refusal(&self) -> (u16, Value) {
        let code = self.json().map(|body| body["error"]["code"].clone());
        (self.status, code.unwrap_or(Value::Null))
    }
}

impl Mcp {
    /// A client of the run at `host:port`, with the token of its start.
    ///
    /// # Errors
    /// When the start answered none.
    pub fn of(address: &str, run: &Run) -> Result<Self> {
        let token = run.body["mcp"]["token"].as_str().context("mcp.token")?;
        Ok(Self {
            address: address.to_owned(),
            path: run.path("/mcp"),
            token: token.to_owned(),
            headers: Vec::new(),
        })
    }

    /// With a further header, in place of one of that name.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Any request.
    ///
    /// # Errors
    /// When there is no answer in time.
    pub async fn send(&self, method: Method, body: impl Into<Bytes>) -> Result<McpAnswer> {
        let exchange = async {
            let (response, connection) = self.open(method, body.into()).await?;
            let (head, body) = response.into_parts();
            let bytes = body.collect().await.map(|body| body.to_bytes());
            connection.abort();
            Ok(McpAnswer {
                status: head.status.as_u16(),
                headers: head.headers,
                text: String::from_utf8(bytes?.into())?,
            })
        };
        tokio::time::timeout(LIMIT, exchange)
            .await
            .context("no answer in time")?
    }

    /// `POST` of a message.
    ///
    /// # Errors
    /// When there is no answer in time.
    pub async fn post(&self, message: &Value) -> Result<McpAnswer> {
        self.send(Method::POST, message.to_string()).await
    }

    /// A request of the first era, with id 1.
    ///
    /// # Errors
    /// When there is no answer in time.
    pub async fn ask(&self, method: &str, params: Value) -> Result<McpAnswer> {
        self.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
            .await
    }

    /// A call of the first era.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<Value> {
        self.ask(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await?
        .result()
    }

    /// The handshake of the first era; the client it answers has session and revision.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn initialize(&self, version: &str) -> Result<(Self, Value)> {
        let answer = self
            .ask(
                "initialize",
                json!({
                    "protocolVersion": version,
                    "capabilities": {},
                    "clientInfo": { "name": "test", "version": "1" },
                }),
            )
            .await?;
        let result = answer.result()?;
        let session = answer.headers.get("mcp-session-id").context("a session")?;
        let version = result["protocolVersion"].as_str().context("a revision")?;
        let client = self
            .clone()
            .with("mcp-session-id", session.to_str()?)
            .with("mcp-protocol-version", version);
        Ok((client, result))
    }

    /// A request of the second era, whole, with id 1.
    ///
    /// # Errors
    /// When there is no answer in time.
    pub async fn ask_stateless(&self, method: &str, params: Value) -> Result<McpAnswer> {
        let (client, message) = self.stateless(method, params);
        client.post(&message).await
    }

    /// The headers and the body of a request of the second era.
    #[must_use]
    pub fn stateless(&self, method: &str, mut params: Value) -> (Self, Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        });
        let mut client = self
            .clone()
            .with("mcp-protocol-version", STATELESS)
            .with("mcp-method", method);
        if let Some(name) = params["name"].as_str() {
            client = client.with("mcp-name", name);
        }
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        (client, message)
    }

    /// Opens a stream by `GET`.
    ///
    /// # Errors
    /// When it isn't opened.
    pub async fn listen(&self) -> Result<McpStream> {
        self.clone()
            .with("accept", "text/event-stream")
            .stream(Method::GET, Bytes::new())
            .await
    }

    /// Sends a message whose answer is a stream.
    ///
    /// # Errors
    /// When it isn't one.
    pub async fn post_for_stream(&self, message: &Value) -> Result<McpStream> {
        self.stream(Method::POST, message.to_string().into()).await
    }

    async fn stream(&self, method: Method, body: Bytes) -> Result<McpStream> {
        let (response, connection) = tokio::time::timeout(LIMIT, self.open(method, body))
            .await
            .context("no stream in time")??;
        let kind = response.headers().get("content-type").cloned();
        let status = response.status();
        if kind.as_ref().is_none_or(|kind| kind != "text/event-stream") {
            let text = response.into_body().collect().await?.to_bytes();
            anyhow::bail!("status {status}, {}", String::from_utf8_lossy(&text));
        }
        Ok(McpStream {
            body: response.into_body(),
            connection,
            text: String::new(),
        })
    }

    async fn open(
        &self,
        method: Method,
        body: Bytes,
    ) -> Result<(Response<Incoming>, JoinHandle<()>)> {
        let stream = TcpStream::connect(&self.address).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move {
            // How it ends shows in the body.
            let _ = connection.await;
        });
        let mut request = Request::builder().method(method).uri(&self.path);
        let usual = [
            ("host", self.address.clone()),
            ("authorization", format!("Bearer {}", self.token)),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
        ];
        for (name, value) in usual {
            if !self.headers.iter().any(|(known, _)| known == name) {
                request = request.header(name, value);
            }
        }
        for (name, value) in self.headers.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(name, value);
        }
        let response = sender.send_request(request.body(Full::new(body))?).await?;
        Ok((response, connection))
    }
}

/// An open stream. Dropping it closes its connection.
#[derive(Debug)]
pub struct McpStream {
    body: Incoming,
    connection: JoinHandle<()>,
    text: String,
}

/// An event that holds a message, or nothing but a place to resume from.
#[derive(Debug)]
pub struct McpEvent {
    /// Its id.
    pub id: Option<String>,
    /// The message.
    pub message: Option<Value>,
}

impl Drop for McpStream {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl McpStream {
    /// The next event, or nothing when the server ended the stream in good order.
    ///
    /// # Errors
    /// When nothing comes, or the stream breaks off.
    pub async fn event(&mut self) -> Result<Option<McpEvent>> {
        tokio::time::timeout(LIMIT, self.read())
            .await
            .context("no event in time")?
    }

    /// The next message.
    ///
    /// # Errors
    /// When there is none any more.
    pub async fn message(&mut self) -> Result<Value> {
        loop {
            let event = self.event().await?.context("the stream ended")?;
            if let Some(message) = event.message {
                return Ok(message);
            }
        }
    }

    async fn read(&mut self) -> Result<Option<McpEvent>> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let event = parse(block)?;
                self.text = rest.to_owned();
                if event.is_some() {
                    return Ok(event);
                }
            }
            let Some(frame) = self.body.frame().await else {
                ensure!(self.text.is_empty(), "cut off: {:?}", self.text);
                return Ok(None);
            };
            if let Ok(data) = frame?.into_data() {
                self.text.push_str(std::str::from_utf8(&data)?);
            }
        }
    }
}

fn parse(block: &str) -> Result<Option<McpEvent>> {
    let (mut id, mut data) = (None, None);
    for line in block.lines() {
        match line.split_once(": ") {
            Some(("" | "retry" | "event", _)) => {}
            Some(("id", text)) => id = Some(text.to_owned()),
            Some(("data", text)) => data = Some(text),
            _ => anyhow::bail!("line {line:?}"),
        }
    }
    let Some(data) = data else {
        return Ok(None);
    };
    let message = (!data.is_empty()).then(|| serde_json::from_str(data));
    Ok(Some(McpEvent {
        id,
        message: message.transpose()?,
    }))
}
