//! A DevTools connection and nothing more: a WebSocket client (RFC 6455) in a blocking process.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// No answer of Chrome's is waited for longer.
const ANSWER: Duration = Duration::from_secs(60);
/// A larger message than any of these calls has.
const MOST_BYTES: u64 = 64 << 20;

/// One connection to a browser, attached to its first page.
#[derive(Debug)]
pub struct DevTools {
    stream: BufReader<TcpStream>,
    session: Option<String>,
    last: u64,
    events: Vec<Value>,
}

impl DevTools {
    /// Asks for the WebSocket's address, opens it and attaches to the first page.
    pub fn attach(port: u16) -> Result<Self> {
        let path = websocket_path(port)?;
        let mut devtools = Self {
            stream: BufReader::new(upgraded(port, &path)?),
            session: None,
            last: 0,
            events: Vec::new(),
        };
        let targets = devtools.call("Target.getTargets", json!({}))?;
        let page = targets["targetInfos"]
            .as_array()
            .and_then(|all| all.iter().find(|one| one["type"] == "page"))
            .context("Chrome lists no page")?;
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = devtools.call("Target.attachToTarget", attach)?;
        devtools.session = attached["sessionId"].as_str().map(str::to_owned);
        Ok(devtools)
    }

    /// Sends a command and waits for its result.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.send(command.to_string().as_bytes())?;
        loop {
            let mut message = self.receive()?;
            if message["id"] == self.last {
                ensure!(message["error"].is_null(), "{method}: {message}");
                return Ok(message["result"].take());
            }
            self.events.push(message);
        }
    }

    /// Waits for an event, also one that came since the last wait.
    pub fn event(&mut self, method: &str) -> Result<()> {
        loop {
            if let Some(at) = self.events.iter().position(|one| one["method"] == method) {
                self.events.drain(..=at);
                return Ok(());
            }
            let message = self.receive()?;
            self.events.push(message);
        }
    }

    /// One text frame; a mask of zeroes is a mask.
    fn send(&mut self, text: &[u8]) -> Result<()> {
        let mut frame = vec![0x81];
        match text.len() {
            short @ 0..126 => frame.push(0x80 | u8::try_from(short)?),
            middle @ 126..65_536 => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(middle)?.to_be_bytes());
            }
            long => {
                frame.push(0x80 | 127);
                frame.extend(u64::try_from(long)?.to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(text);
        Ok(self.stream.get_mut().write_all(&frame)?)
    }

    fn receive(&mut self) -> Result<Value> {
        let mut message = Vec::new();
        loop {
            let [first, second] = self.bytes()?;
            let length = match second & 0x7f {
                126 => u64::from(u16::from_be_bytes(self.bytes()?)),
                127 => u64::from_be_bytes(self.bytes()?),
                short => u64::from(short),
            };
            ensure!(length <= MOST_BYTES, "a frame of {length} bytes");
            let start = message.len();
            message.resize(start + usize::try_from(length)?, 0);
            self.stream.read_exact(&mut message[start..])?;
            match first & 0x0f {
                0x0..=0x2 if first & 0x80 != 0 => return Ok(serde_json::from_slice(&message)?),
                0x0..=0x2 => {}
                0x8 => bail!("Chrome closed the connection"),
                _ => message.truncate(start),
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn websocket_path(port: u16) -> Result<String> {
    let mut stream = BufReader::new(connected(port)?);
    write!(
        stream.get_mut(),
        "GET /json/version HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    )?;
    let head = head(&mut stream)?;
    // Chrome keeps the connection open: the body ends where its length says.
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")?
                .trim()
                .parse()
                .ok()
        })
        .context("no Content-Length")?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let version: Value = serde_json::from_slice(&body)?;
    let url = version["webSocketDebuggerUrl"]
        .as_str()
        .context("no address")?;
    let at = url.find("/devtools/").context("no path")?;
    Ok(url[at..].to_owned())
}

fn upgraded(port: u16, path: &str) -> Result<TcpStream> {
    let mut stream = BufReader::new(connected(port)?);
    write!(
        stream.get_mut(),
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )?;
    let head = head(&mut stream)?;
    ensure!(head.starts_with("HTTP/1.1 101 "), "{head}");
    ensure!(
        stream.buffer().is_empty(),
        "Chrome spoke before it was asked"
    );
    Ok(stream.into_inner())
}

fn connected(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER))?;
    Ok(stream)
}

/// The head of an answer, up to its empty line.
fn head(stream: &mut BufReader<TcpStream>) -> Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        ensure!(head.len() < 65_536, "a head without an end");
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    Ok(String::from_utf8(head)?)
}
