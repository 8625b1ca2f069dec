//! One HTTP/1.1 connection over mutual TLS.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::{Machine, MachineError};

/// A request with its whole body.
pub(super) type Request = hyper::Request<Full<Bytes>>;

/// Idle time after which a connection is not used again, below what a front waits.
const MAX_IDLE: Duration = Duration::from_secs(30);

/// An open connection and the task that drives it, which ends with it.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    used_at: Instant,
    /// End of the machine's certificate, in seconds of the Unix clock.
    certificate_ends_s: Option<i64>,
}

/// Why there is no answer.
pub(super) enum ReadError {
    /// No byte was sent: the request comes back.
    NotSent(Box<Request>),
    /// It may have been received.
    Broken(String),
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    pub(super) async fn open(
        machine: &Machine,
        tls: &Arc<rustls::ClientConfig>,
        deadline: Duration,
    ) -> Result<Self, MachineError> {
        let unreachable = |reason: String| MachineError::Unreachable {
            machine: machine.id.clone(),
            reason,
        };
        match tokio::time::timeout(deadline, Self::try_open(&machine.address, tls)).await {
            Ok(opened) => opened.map_err(unreachable),
            Err(_) => Err(unreachable(format!(
                "no connection within {} s",
                deadline.as_secs()
            ))),
        }
    }

    async fn try_open(address: &str, tls: &Arc<rustls::ClientConfig>) -> Result<Self, String> {
        let uri: hyper::Uri = address
            .parse()
            .map_err(|_| format!("its address {address} is no URL"))?;
        let host = uri.host().unwrap_or_default();
        let port = uri.port_u16().unwrap_or(443);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| format!("its address {address} names no host"))?;
        let stream = TcpStream::connect((bare, port))
            .await
            .map_err(|error| describe(&error))?;
        // Requests are small and answered at once: nothing to gather.
        stream.set_nodelay(true).map_err(|error| describe(&error))?;
        let stream = TlsConnector::from(Arc::clone(tls))
            .connect(name, stream)
            .await
            .map_err(|error| format!("its identity was not accepted: {error}"))?;
        let certificates = stream.get_ref().1.peer_certificates();
        let certificate_ends_s = certificates
            .and_then(<[_]>::first)
            .and_then(|certificate| super::tls::ends_s(certificate));
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to a machine ended");
            }
        });
        Ok(Self {
            sender,
            driver,
            used_at: Instant::now(),
            certificate_ends_s,
        })
    }

    pub(super) const fn certificate_ends_s(&self) -> Option<i64> {
        self.certificate_ends_s
    }

    pub(super) fn is_usable(&self) -> bool {
        self.used_at.elapsed() < MAX_IDLE && !self.sender.is_closed()
    }

    pub(super) async fn send(
        &mut self,
        request: Request,
        max_bytes: usize,
    ) -> Result<(u16, Vec<u8>), ReadError> {
        let response = self.begin(request).await?;
        let status = response.status().as_u16();
        let body = whole(response.into_body(), max_bytes).await?;
        self.used_at = Instant::now();
        Ok((status, body))
    }

    /// Sends a request and answers its head; the body is the caller's to read.
    pub(super) async fn begin(
        &mut self,
        request: Request,
    ) -> Result<hyper::Response<Incoming>, ReadError> {
        if self.sender.ready().await.is_err() {
            return Err(ReadError::NotSent(Box::new(request)));
        }
        self.sender
            .try_send_request(request)
            .await
            .map_err(|mut error| match error.take_message() {
                Some(request) => ReadError::NotSent(Box::new(request)),
                None => ReadError::Broken(error.error().to_string()),
            })
    }
}

/// Reads a body whole.
pub(super) async fn whole(body: Incoming, max_bytes: usize) -> Result<Vec<u8>, ReadError> {
    let body = Limited::new(body, max_bytes)
        .collect()
        .await
        .map_err(|error| ReadError::Broken(format!("its answer broke off: {error}")))?;
    Ok(body.to_bytes().to_vec())
}

fn describe(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        std::io::ErrorKind::TimedOut => "the connection timed out".to_owned(),
        _ => error.to_string(),
    }
}
