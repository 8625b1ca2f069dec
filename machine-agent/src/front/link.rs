//! The front's one kept connection to a runner: its end is the runner's death.

use std::io;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::answer::{Body, whole};
use crate::runner::{HELLO_PATH, Hello, STOP_PATH};

/// How long a runner may take to introduce itself: it has just been started.
const HELLO: Duration = Duration::from_secs(10);
/// Most bytes of its introduction: they are not to be trusted.
const MOST: usize = 64 << 10;

/// The connection.
#[derive(Debug)]
pub struct Link {
    sender: SendRequest<Body>,
    connection: JoinHandle<()>,
    hello: Hello,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Link {
    /// Connects and waits for the introduction.
    ///
    /// # Errors
    /// When nobody listens, or what listens doesn't introduce itself in 10 s.
    pub async fn open(socket: &Path) -> io::Result<Self> {
        let open = async {
            let stream = UnixStream::connect(socket).await?;
            let (sender, connection) = handshake(TokioIo::new(stream))
                .await
                .map_err(io::Error::other)?;
            let connection = tokio::spawn(async move {
                let _ = connection.await;
            });
            let mut link = Self {
                sender,
                connection,
                hello: Hello {
                    version: String::new(),
                    calls: 0,
                    browser_idle_s: None,
                },
            };
            link.hello().await?;
            Ok(link)
        };
        timeout(HELLO, open)
            .await
            .unwrap_or_else(|_| Err(io::Error::other("no introduction in time")))
    }

    /// The runner's version.
    pub fn version(&self) -> &str {
        &self.hello.version
    }

    /// Whether the runner is of the front's own version.
    pub fn is_current(&self) -> bool {
        self.hello.version == env!("CARGO_PKG_VERSION")
    }

    /// Whether nothing of the runner's would be missed, when it last told: no
    /// call, and no browser call for so many seconds.
    pub fn is_idle(&self, browser_s: u64) -> bool {
        self.hello.calls == 0
            && self
                .hello
                .browser_idle_s
                .is_none_or(|idle| idle >= browser_s)
    }

    /// Asks how the runner is.
    ///
    /// # Errors
    /// When it doesn't tell.
    pub async fn hello(&mut self) -> io::Result<()> {
        let body = timeout(HELLO, self.ask(Method::GET, HELLO_PATH))
            .await
            .unwrap_or_else(|_| Err(io::Error::other("no introduction in time")))?;
        self.hello = serde_json::from_slice(&body)?;
        Ok(())
    }

    /// Asks the runner to end, and waits for that at most `within`.
    pub async fn ask_to_stop(&mut self, within: Duration) {
        let stop = async {
            // Its end may come before its answer.
            let _ = self.ask(Method::POST, STOP_PATH).await;
            self.ended().await;
        };
        let _ = timeout(within, stop).await;
    }

    async fn ask(&mut self, method: Method, path: &str) -> io::Result<Vec<u8>> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(hyper::header::HOST, "runner")
            .body(whole(""))
            .map_err(io::Error::other)?;
        self.sender.ready().await.map_err(io::Error::other)?;
        let response = self
            .sender
            .send_request(request)
            .await
            .map_err(io::Error::other)?;
        let body = Limited::new(response.into_body(), MOST).collect().await;
        Ok(body.map_err(io::Error::other)?.to_bytes().to_vec())
    }

    /// Whether the runner has ended.
    pub fn has_ended(&self) -> bool {
        self.connection.is_finished()
    }

    /// Waits for the runner's end. Safe to cancel and to ask again.
    pub async fn ended(&mut self) {
        if !self.connection.is_finished() {
            let _ = (&mut self.connection).await;
        }
    }
}
