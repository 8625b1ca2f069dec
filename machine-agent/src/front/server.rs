//! The mutual TLS server: accepts, shakes hands within a deadline, and finishes what is in flight when told to stop.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::agents::Agents;
use super::identity::Identity;
use super::router;

/// Connections served at once.
const MOST_CONNECTIONS: usize = 2_048;
/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a request's head may take.
const HEAD: Duration = Duration::from_secs(300);

/// The server and its connections.
pub struct Server {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    agents: Arc<Agents>,
    connections: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Server {
    /// A server that accepts nothing yet.
    pub fn new(listener: TcpListener, identity: Identity, agents: Arc<Agents>) -> Self {
        Self {
            listener,
            acceptor: TlsAcceptor::from(identity.tls),
            agents,
            connections: JoinSet::new(),
            stop: watch::channel(false).0,
        }
    }

    /// Accepts for ever.
    pub async fn accept(&mut self) {
        loop {
            while self.connections.len() >= MOST_CONNECTIONS {
                self.connections.join_next().await;
            }
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    while self.connections.try_join_next().is_some() {}
                    let (acceptor, agents) = (self.acceptor.clone(), Arc::clone(&self.agents));
                    let stop = self.stop.subscribe();
                    self.connections
                        .spawn(serve(stream, acceptor, agents, stop));
                }
                Err(error) => {
                    // Out of descriptors, most likely: they come back.
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Accepts no more, lets requests in flight finish for at most `within`.
    pub async fn finish(mut self, within: Duration) {
        drop(self.listener);
        self.stop.send_replace(true);
        let all = async { while self.connections.join_next().await.is_some() {} };
        let _ = timeout(within, all).await;
    }
}

async fn serve(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    agents: Arc<Agents>,
    mut stop: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let stream = match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::info!(%error, "a connection was refused");
            return;
        }
        Err(_) => return,
    };
    let service = service_fn(move |request| {
        let agents = Arc::clone(&agents);
        async move { Ok::<_, Infallible>(router::answer(&agents, request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let stopping = async {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    // An error is the peer's leaving; no call depends on its connection.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stopping => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
