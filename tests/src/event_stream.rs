//! A reader of server-sent events, as a chat backend would write it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Longer than any event of a test may take.
const LIMIT: Duration = Duration::from_secs(60);

/// An open stream. Dropping it closes its connection.
#[derive(Debug)]
pub struct EventStream {
    body: Incoming,
    connection: JoinHandle<()>,
    text: String,
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl EventStream {
    /// Opens the stream at `host:port`, after the event `last` when there is one.
    ///
    /// # Errors
    /// When it isn't opened.
    pub async fn open(address: &str, token: &str, last: Option<i64>) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move {
            // How it ends shows in the body.
            let _ = connection.await;
        });
        let mut request = Request::builder()
            .uri("/v1/events")
            .header("host", address)
            .header("accept", "text/event-stream")
            .header("authorization", format!("Bearer {token}"));
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        let response = sender
            .send_request(request.body(Empty::<Bytes>::new())?)
            .await?;
        ensure!(response.status() == 200, "status {}", response.status());
        let kind = response.headers().get("content-type").cloned();
        ensure!(
            kind.as_ref()
                .is_some_and(|kind| kind == "text/event-stream"),
            "content type {kind:?}"
        );
        Ok(Self {
            body: response.into_body(),
            connection,
            text: String::new(),
        })
    }

    /// The next event, or nothing when the server ended the stream in good order.
    ///
    /// # Errors
    /// When nothing comes, or the stream breaks off, or an event is not as it has to be.
    pub async fn next(&mut self) -> Result<Option<Value>> {
        tokio::time::timeout(LIMIT, self.read())
            .await
            .context("no event in time")?
    }

    async fn read(&mut self) -> Result<Option<Value>> {
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

fn parse(block: &str) -> Result<Option<Value>> {
    let (mut id, mut data) = (None, None);
    for line in block.lines() {
        match line.split_once(": ") {
            Some(("", _)) | Some(("retry", _)) => {}
            Some(("id", text)) => id = Some(text),
            Some(("data", text)) => data = Some(text),
            _ => anyhow::bail!("line {line:?}"),
        }
    }
    let Some(data) = data else {
        ensure!(id.is_none(), "an id without data: {block:?}");
        return Ok(None);
    };
    let event: Value = serde_json::from_str(data)?;
    ensure!(
        id == Some(event["seq"].to_string().as_str()),
        "the id is not the seq: {block:?}"
    );
    Ok(Some(event))
}
