//! Asks Chrome for its WebSocket address: one plain HTTP GET on loopback, no proxy, no redirect.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::problem::Problem;

const WAIT: Duration = Duration::from_secs(5);
const MOST_BYTES: usize = 64 * 1024;

/// The `webSocketDebuggerUrl` of the Chrome at 127.0.0.1:`port`.
pub async fn websocket_url(port: u16) -> Result<String, Problem> {
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
