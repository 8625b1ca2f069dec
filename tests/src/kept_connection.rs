//! One kept connection to a machine's front or to a runner's socket, for many requests in a row.

use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use machine_agent_api::{ORGANISATION_HEADER, SLOT_HEADER};
use serde_json::Value;
use tokio::net::UnixStream;

use crate::api::Answer;
use crate::machine::Machine;
use crate::shared::ORGANISATION;

/// Longer than any call of a test may take.
const LIMIT: Duration = Duration::from_secs(90);

/// The connection, about the agent in one slot.
#[derive(Debug)]
pub struct KeptConnection {
    sender: SendRequest<Full<Bytes>>,
    slot: u8,
}

impl KeptConnection {
    /// Asks an agent's runner as the front does: over its socket, as root.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn to_runner(machine: &Machine, agent: &str, slot: u8) -> Result<Self> {
        let socket = machine.run_dir().join(format!("{agent}.sock"));
        let stream = UnixStream::connect(&socket).await;
        Self::over(stream.with_context(|| socket.display().to_string())?, slot).await
    }

    /// Speaks HTTP over a stream that is open.
    ///
    /// # Errors
    /// When the other side doesn't speak it.
    pub(crate) async fn over<I>(stream: I, slot: u8) -> Result<Self>
    where
        I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // It ends with the sender.
        tokio::spawn(connection);
        Ok(Self { sender, slot })
    }

    /// Makes one request and reads its answer.
    ///
    /// # Errors
    /// When there is no answer within 90 s.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "machine.invalid")
            .header("content-type", "application/json")
            .header(SLOT_HEADER, self.slot.to_string())
            .header(ORGANISATION_HEADER, ORGANISATION)
            .body(Full::new(Bytes::from(body)))?;
        let exchange = async {
            self.sender.ready().await?;
            let response = self.sender.send_request(request).await?;
            let status = response.status().as_u16();
            let bytes = response.into_body().collect().await?.to_bytes();
            Ok(Answer {
                status,
                content_type: String::new(),
                text: String::from_utf8(bytes.into())?,
            })
        };
        tokio::time::timeout(LIMIT, exchange)
            .await
            .with_context(|| format!("{path}: no answer within {LIMIT:?}"))?
    }
}
