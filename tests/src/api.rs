//! A small client of the HTTP API, as a chat backend or an operator would write it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{HeaderMap, Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

use crate::document::Document;

/// The API's own description; all control planes of a test run are one build.
static DOCUMENT: OnceCell<Document> = OnceCell::const_new();

/// Longer than any call of a test may take.
const LIMIT: Duration = Duration::from_secs(90);

/// An answer, read whole.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`, or nothing.
    pub content_type: String,
    /// The body's bytes as text.
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.text)
            .with_context(|| format!("status {}, body {:?}", self.status, self.text))
    }

    /// The body as JSON, when the status is `status`.
    ///
    /// # Errors
    /// When the status is another.
    pub fn expect(self, status: u16) -> Result<Value> {
        ensure!(
            self.status == status,
            "status {} where {status} was expected: {}",
            self.status,
            self.text
        );
        self.json()
    }

    /// Status and `error.code`, the way a client branches on a refusal.
    #[must_use]
    pub fn refusal(&self) -> (u16, String) {
        let code = self
            .json()
            .ok()
            .and_then(|body| body["error"]["code"].as_str().map(str::to_owned));
        (self.status, code.unwrap_or_else(|| self.text.clone()))
    }
}

/// A client with one bearer token.
#[derive(Debug, Clone)]
pub struct Api {
    address: String,
    token: Option<String>,
}

impl Api {
    /// A client of the API at `host:port`.
    #[must_use]
    pub fn new(address: &str, token: Option<&str>) -> Self {
        Self {
            address: address.to_owned(),
            token: token.map(str::to_owned),
        }
    }

    /// The same client of the API at another `host:port`.
    #[must_use]
    pub fn at(&self, address: &str) -> Self {
        Self {
            address: address.to_owned(),
            token: self.token.clone(),
        }
    }

    /// `GET`.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn get(&self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    /// `GET` of what may be no text: status, headers, bytes.
    ///
    /// # Errors
    /// When there is no answer, or it breaks off.
    pub async fn download(&self, path: &str) -> Result<(u16, HeaderMap, Bytes)> {
        let request = self.request(Method::GET, path, "application/json", Bytes::new())?;
        let download = async {
            let stream = TokioIo::new(TcpStream::connect(&self.address).await?);
            let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
            let connection = tokio::spawn(connection);
            let response = sender.send_request(request).await?;
            let (head, body) = response.into_parts();
            let bytes = body.collect().await.map(|body| body.to_bytes());
            connection.abort();
            Ok((head.status.as_u16(), head.headers, bytes?))
        };
        tokio::time::timeout(LIMIT, download)
            .await
            .with_context(|| format!("{path}: no answer within {LIMIT:?}"))?
    }

    /// `POST` with a JSON body.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.send(Method::POST, path, body.to_string().into()).await
    }

    /// `PATCH` with a JSON body.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn patch(&self, path: &str, body: &Value) -> Result<Answer> {
        self.send(Method::PATCH, path, body.to_string().into())
            .await
    }

    /// Any request with any body, over a connection of its own.
    ///
    /// # Errors
    /// When there is no answer within 90 s.
    pub async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Answer> {
        let what = format!("{method} {path}");
        tokio::time::timeout(LIMIT, self.exchange(method, path, body))
            .await
            .with_context(|| format!("{what}: no answer within {LIMIT:?}"))?
            .context(what)
    }

    /// `DELETE`.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn delete(&self, path: &str) -> Result<Answer> {
        self.send(Method::DELETE, path, Bytes::new()).await
    }

    /// `POST` with a body of another content type than JSON.
    ///
    /// # Errors
    /// When there is no answer within 90 s.
    pub async fn post_as(&self, path: &str, content_type: &str, body: &str) -> Result<Answer> {
        let body = Bytes::from(body.to_owned());
        let request = self.request(Method::POST, path, content_type, body)?;
        tokio::time::timeout(LIMIT, self.answer(request))
            .await
            .with_context(|| format!("POST {path}: no answer within {LIMIT:?}"))?
            .context(format!("POST {path}"))
    }

    async fn exchange(&self, method: Method, path: &str, body: Bytes) -> Result<Answer> {
        let request = self.request(method, path, "application/json", body)?;
        self.answer(request).await
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<Answer> {
        let (method, path) = (request.method().clone(), request.uri().to_string());
        let sent = request.body().clone().collect().await?.to_bytes();
        let stream = TcpStream::connect(&self.address).await?;
        let answer = exchange(TokioIo::new(stream), request).await?;
        let read = DOCUMENT.get_or_try_init(|| self.read_document()).await;
        // Some tests talk to what doesn't answer any more.
        if let Ok(document) = read {
            document.check(&method, &path, &sent, &answer)?;
        }
        Ok(answer)
    }

    async fn read_document(&self) -> Result<Document> {
        let request = self.request(Method::GET, "/openapi.json", "", Bytes::new())?;
        let stream = TcpStream::connect(&self.address).await?;
        let answer = exchange(TokioIo::new(stream), request).await?;
        Document::parse(&answer.text)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.address)
            .header("content-type", content_type);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        Ok(request.body(Full::new(body))?)
    }

    /// Starts a run.
    ///
    /// # Errors
    /// When it isn't 201.
    pub async fn start(&self, body: &Value) -> Result<Run> {
        let body = self.post("/v1/runs", body).await?.expect(201)?;
        let id = body["run"].as_str().context("run")?.to_owned();
        Ok(Run {
            api: self.clone(),
            id,
            body,
        })
    }
}

/// One HTTP/1.1 exchange over a connection that ends with it.
pub(crate) async fn exchange<I>(io: I, request: Request<Full<Bytes>>) -> Result<Answer>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
    let connection = tokio::spawn(connection);
    let answer = async {
        let response = sender.send_request(request).await?;
        let status = response.status().as_u16();
        let content_type = response
            .headers()
            .get("content-type")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok(Answer {
            status,
            content_type,
            text: String::from_utf8(bytes.into())?,
        })
    }
    .await;
    connection.abort();
    answer
}

/// One result of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// The call's id.
    pub id: String,
    /// The stamped message.
    pub content: String,
    /// Its metadata.
    pub metadata: Value,
}

impl CallResult {
    /// The message without stamp.
    ///
    /// # Panics
    /// When there is no stamp.
    #[must_use]
    pub fn text(&self) -> &str {
        let (text, trailer) = self
            .content
            .rsplit_once("\nremaining_tool_calls: ")
            .unwrap_or_else(|| panic!("no stamp in {:?}", self.content));
        assert!(
            trailer.bytes().all(|byte| byte.is_ascii_digit()),
            "{:?} ends in no number",
            self.content
        );
        text.strip_suffix(LOW_BUDGET_LINE)
            .map_or(text, |text| text.strip_suffix('\n').unwrap_or(text))
    }

    /// The message without stamp, as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(self.text())
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.content))
    }
}

/// The specification's line above the trailer when 8 calls or fewer remain.
pub const LOW_BUDGET_LINE: &str =
    "Write durable findings and finish with text. A batch costs one call each.";

/// A started run.
#[derive(Debug, Clone)]
pub struct Run {
    api: Api,
    /// Its id.
    pub id: String,
    /// The answer to its start.
    pub body: Value,
}

impl Run {
    /// Path of something under the run.
    #[must_use]
    pub fn path(&self, rest: &str) -> String {
        format!("/v1/runs/{}{rest}", self.id)
    }

    /// The client it was started with.
    #[must_use]
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Names of the tools that the start offered, in its order.
    #[must_use]
    pub fn offered(&self) -> Vec<String> {
        names(&self.body["tools"])
    }

    /// Makes one call with a fresh id.
    ///
    /// # Errors
    /// When it isn't answered.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<CallResult> {
        let id = format!("call_{}", crate::slots::next_number());
        self.call_as(&id, name, arguments).await
    }

    /// Makes one call with that id.
    ///
    /// # Errors
    /// When it isn't answered.
    pub async fn call_as(&self, id: &str, name: &str, arguments: Value) -> Result<CallResult> {
        let mut results = self
            .batch(json!([{ "id": id, "name": name, "arguments": arguments }]))
            .await?;
        ensure!(results.len() == 1, "one call, {} results", results.len());
        results.pop().context("a result")
    }

    /// Makes a batch of calls.
    ///
    /// # Errors
    /// When the answer is not 200 or has another shape.
    pub async fn batch(&self, calls: Value) -> Result<Vec<CallResult>> {
        let body = self
            .api
            .post(&self.path("/calls"), &json!({ "calls": calls }))
            .await?
            .expect(200)?;
        results(&body)
    }

    /// Begins the next turn.
    ///
    /// # Errors
    /// When it isn't 200.
    pub async fn turn(&self) -> Result<Value> {
        self.api
            .post(&self.path("/turns"), &json!({}))
            .await?
            .expect(200)
    }

    /// Ends the run.
    ///
    /// # Errors
    /// When it isn't 200.
    pub async fn end(&self) -> Result<Value> {
        self.api
            .post(&self.path("/end"), &json!({}))
            .await?
            .expect(200)
    }
}

/// The results in the answer to a batch.
///
/// # Errors
/// When it has another shape.
pub fn results(body: &Value) -> Result<Vec<CallResult>> {
    body["results"]
        .as_array()
        .context("results")?
        .iter()
        .map(|result| {
            Ok(CallResult {
                id: result["id"].as_str().context("id")?.to_owned(),
                content: result["content"].as_str().context("content")?.to_owned(),
                metadata: result["metadata"].clone(),
            })
        })
        .collect()
}

/// Names in a list of tools.
#[must_use]
pub fn names(tools: &Value) -> Vec<String> {
    tools
        .as_array()
        .into_iter()
        .flatten()
        .map(|tool| match tool {
            Value::String(name) => name.clone(),
            tool => tool["name"].as_str().unwrap_or_default().to_owned(),
        })
        .collect()
}
