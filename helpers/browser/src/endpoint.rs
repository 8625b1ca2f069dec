//! Chrome's WebSocket: the one known from the last call, else the one that one plain HTTP GET on loopback names.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::problem::Problem;
use crate::wire::Wire;

const WAIT: Duration = Duration::from_secs(5);
const MOST_BYTES: usize = 64 * 1024;
const BROWSER: &str = "/devtools/browser/";

/// Connects to the Chrome at 127.0.0.1:`port`, by the path that an earlier call left
/// in `known` when it is still this Chrome's; `known` holds the right one afterwards.
pub async fn connect(port: u16, known: &mut Option<String>) -> Result<Wire, Problem> {
    let loopback = format!("ws://127.0.0.1:{port}");
    if let Some(path) = known.take().filter(|path| is_browsers(path)) {
        match Wire::connect(port, &format!("{loopback}{path}")).await {
            Ok(wire) => {
                *known = Some(path);
                return Ok(wire);
            }
            // One that says nothing at all would say nothing to the question either.
            Err(Unopened::Silent) => return Err(Unopened::Silent.into()),
            Err(Unopened::Refused(_)) => {}
        }
    }
    let url = websocket_url(port).await?;
    let wire = Wire::connect(port, &url).await?;
    *known = url.strip_prefix(&loopback).map(str::to_owned);
    Ok(wire)
}

/// Why no WebSocket came about.
#[derive(Debug)]
pub enum Unopened {
    /// No answer in time.
    Silent,
    /// An answer that is none, in the library's words.
    Refused(String),
}

impl From<Unopened> for Problem {
    fn from(unopened: Unopened) -> Self {
        Self::refused(match unopened {
            Unopened::Silent => {
                "the agent's browser did not open its DevTools connection within 5 s; try again"
                    .to_owned()
            }
            Unopened::Refused(why) => {
                format!("the agent's browser refused its DevTools connection: {why}; try again")
            }
        })
    }
}

fn is_browsers(path: &str) -> bool {
    path.strip_prefix(BROWSER).is_some_and(|id| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !id.is_empty() && id.len() <= 64 && id.bytes().all(plain)
    })
}

/// The `webSocketDebuggerUrl` of the Chrome at 127.0.0.1:`port`.
async fn websocket_url(port: u16) -> Result<String, Problem> {
    let body = timeout(WAIT, version_body(port))
        .await
        .map_err(|_| no_answer(port, "it did not answer within 5 s"))?
        .map_err(|error| no_answer(port, &error.to_string()))?;
    let version: Value = serde_json::from_slice(&body)
        .map_err(|_| no_answer(port, "what answers is not Chrome's DevTools"))?;
    match version.get("webSocketDebuggerUrl").and_then(Value::as_str) {
        Some(url) => Ok(url.to_owned()),
        None => Err(no_answer(port, "what answers is not Chrome's DevTools")),
    }
}

fn no_answer(port: u16, why: &str) -> Problem {
    Problem::refused(format!(
        "the agent's browser can't be reached on port {port}: {why}; try again"
    ))
}

/// Chrome keeps the connection open, so the body ends where Content-Length says.
async fn version_body(port: u16) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!(
        "GET /json/version HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut received = Vec::new();
    loop {
        if let Some(body) = complete_body(&received) {
            return Ok(body.to_vec());
        }
        if received.len() > MOST_BYTES {
            return Err(std::io::Error::other("its answer is too long"));
        }
        if stream.read_buf(&mut received).await? == 0 {
            return Err(std::io::Error::other("its answer ended early"));
        }
    }
}

fn complete_body(received: &[u8]) -> Option<&[u8]> {
    let end = received.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&received[..end]).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    })?;
    received.get(end..end.checked_add(length)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_browsers_own_path_is_tried_again() {
        assert!(is_browsers("/devtools/browser/0f1e-22"));
        for path in [
            "/devtools/page/0f1e",
            "/devtools/browser/",
            "/devtools/browser/a?b",
            "@host/devtools/browser/a",
        ] {
            assert!(!is_browsers(path), "{path}");
        }
    }

    #[test]
    fn a_body_is_complete_at_its_length() {
        assert_eq!(
            complete_body(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
            Some(b"{}".as_slice())
        );
        assert_eq!(
            complete_body(b"HTTP/1.1 200 OK\r\ncontent-length:3\r\n\r\n{}"),
            None
        );
        assert_eq!(complete_body(b"HTTP/1.1 200 OK\r\n"), None);
    }
}
