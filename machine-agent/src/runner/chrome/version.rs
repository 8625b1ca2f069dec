//! One question to a fresh or doubted Chrome: does its DevTools port answer?

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant, timeout_at};

/// Most bytes of an answer that are read.
const MOST: usize = 64 << 10;

/// Asks `/json/version` on the loopback; an answer with status 200 is enough.
///
/// Chrome keeps the connection open whatever it is asked, so the body is read
/// by its length.
pub async fn ask(port: u16, until: Instant) -> io::Result<()> {
    let until = until.min(Instant::now() + Duration::from_secs(5));
    timeout_at(until, ask_now(port))
        .await
        .unwrap_or_else(|_| Err(io::Error::other("its DevTools port did not answer")))
}

async fn ask_now(port: u16) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET /json/version HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    let mut chunk = [0_u8; 4096];
    loop {
        if let Some(done) = judge(&answer) {
            return done;
        }
        let read = stream.read(&mut chunk).await?;
        if read == 0 || answer.len() + read > MOST {
            return Err(io::Error::other("its DevTools port sent no whole answer"));
        }
        answer.extend_from_slice(&chunk[..read]);
    }
}

/// None while more has to be read.
fn judge(answer: &[u8]) -> Option<io::Result<()>> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]);
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Some(Err(io::Error::other(format!(
            "its DevTools port answered {status}"
        ))));
    }
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())?;
    let body = answer.get(end + 4..end + 4 + length)?;
    let is_object = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(body);
    Some(is_object.map(drop).map_err(io::Error::other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_ends_the_answer() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length:2\r\n\r\n";
        assert!(judge(head).is_none());
        let whole = [head.as_slice(), b"{}"].concat();
        assert!(judge(&whole).unwrap().is_ok());
    }

    #[test]
    fn something_else_is_no_chrome() {
        let other = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        assert!(judge(other).unwrap().is_err());
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        assert!(judge(text).unwrap().is_err());
    }
}
