//! Medians, the rows of the table, and a client with one kept connection.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tests::slots::next_number;
use tests::{Run, Stack};
use tokio::net::TcpStream;

/// One line of the table.
#[derive(Debug)]
pub struct Row {
    /// What was done.
    pub what: String,
    /// Our number; none when there was nothing to measure against.
    pub ours: Option<f64>,
    /// The other's, when there is one.
    pub other: Option<f64>,
    /// `ms`, `KiB` or `MiB`.
    pub unit: &'static str,
    /// How many times each was done.
    pub count: usize,
    /// What the other is.
    pub against: String,
}

impl Row {
    /// Something that could not be measured, and why.
    #[must_use]
    pub fn missing(what: String, why: &str) -> Self {
        Self {
            what,
            ours: None,
            other: None,
            unit: "",
            count: 0,
            // One line, whatever a program said.
            against: why.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }

    /// The row as text.
    #[must_use]
    pub fn cells(&self) -> [String; 6] {
        let number = |value: f64| format!("{value:.2} {}", self.unit);
        [
            self.what.clone(),
            self.ours.map(number).unwrap_or_default(),
            self.other.map(number).unwrap_or_default(),
            self.ours
                .zip(self.other)
                .map(|(ours, other)| format!("{:.3}", ours / other))
                .unwrap_or_default(),
            self.count.to_string(),
            self.against.clone(),
        ]
    }
}

/// The median of some durations in milliseconds.
#[must_use]
pub fn median_ms(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    let middle = times.len() / 2;
    let median = if times.len().is_multiple_of(2) {
        (times[middle - 1] + times[middle]) / 2
    } else {
        times[middle]
    };
    median.as_secs_f64() * 1000.0
}

/// A chat backend that keeps its connection, as real ones do.
#[derive(Debug)]
pub struct KeptClient {
    sender: SendRequest<Full<Bytes>>,
    address: String,
    token: String,
}

impl KeptClient {
    /// Connects to the stack's API.
    ///
    /// # Errors
    /// When there is no connection.
    pub async fn connect(stack: &Stack) -> Result<Self> {
        let address = stack.control_plane.address().to_owned();
        let stream = TcpStream::connect(&address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self {
            sender,
            address,
            token: stack.shared.backend_token.clone(),
        })
    }

    /// Makes one call and gives the time until its result was read, and the result.
    ///
    /// # Errors
    /// When the result is an error.
    pub async fn call(&mut self, run: &Run, name: &str, arguments: &Value) -> Result<Duration> {
        let id = format!("{name}_{}", next_number());
        let body = json!({ "calls": [{ "id": id, "name": name, "arguments": arguments }] });
        let request = Request::post(run.path("/calls"))
            .header("host", &self.address)
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", self.token))
            .body(Full::new(Bytes::from(body.to_string())))?;
        self.sender.ready().await?;
        let begun = Instant::now();
        let response = self.sender.send_request(request).await?;
        let bytes = response.into_body().collect().await?.to_bytes();
        let took = begun.elapsed();
        let answer: Value = serde_json::from_slice(&bytes)?;
        let metadata = answer["results"][0]["metadata"]
            .as_object()
            .with_context(|| answer.to_string())?;
        ensure!(metadata["error"].is_null(), "{name}: {answer}");
        Ok(took)
    }
}
