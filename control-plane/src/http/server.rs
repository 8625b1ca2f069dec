//! Listening: TCP or TLS, HTTP/1.1 or HTTP/2, bounded connections, an orderly stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::address::Address;
use super::write_deadline::WriteDeadline;
use crate::config::KeyPairPaths;
use crate::machine::{TlsError, certificates, private_key};
use crate::run::engine::Engine;

/// Connections at once.
const CONNECTIONS: usize = 1_024;
/// Time for a TLS handshake and for the head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// Time in which a client has to take some of what is written to it.
const READ_WITHIN: Duration = Duration::from_secs(60);

/// Why the API does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address can't be taken.
    #[error("{0} could not be bound")]
    Bind(SocketAddr, #[source] std::io::Error),
    /// The certificate can't be used.
    #[error("the certificate of the API could not be used")]
    Tls(#[from] TlsError),
    /// Certificate and key make no server.
    #[error("the certificate of the API could not be used")]
    Identity(#[source] rustls::Error),
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Serves until `stop` changes, then lets requests in flight end, at most `grace`.
///
/// # Errors
/// When the address or the certificate can't be used.
pub async fn serve(
    engine: Arc<Engine>,
    listen: SocketAddr,
    tls: Option<&KeyPairPaths>,
    public_url: Option<&str>,
    mut stop: watch::Receiver<bool>,
    grace: Duration,
) -> Result<(), ServeError> {
    let acceptor = tls.map(acceptor).transpose()?;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| ServeError::Bind(listen, error))?;
    let scheme = if acceptor.is_some() { "https" } else { "http" };
    tracing::info!("listening on {scheme}://{listen}");
    let address = Address::new(public_url, acceptor.is_some(), &listen.to_string());
    let router = super::router(engine, address);
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            break;
        };
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, most likely: give some time to come back.
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            _ = stop.changed() => break,
        };
        let (router, acceptor, stop) = (router.clone(), acceptor.clone(), stop.clone());
        connections.spawn(async move {
            connection(router, acceptor, stream, peer, stop).await;
            drop(permit);
        });
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, all).await.is_err() {
        tracing::warn!("requests were still in flight at the stop");
        connections.shutdown().await;
    }
    Ok(())
}

async fn connection(
    router: Router,
    acceptor: Option<TlsAcceptor>,
    stream: TcpStream,
    peer: SocketAddr,
    stop: watch::Receiver<bool>,
) {
    // Answers are written whole: nothing to gather.
    let _ = stream.set_nodelay(true);
    let Some(acceptor) = acceptor else {
        return speak(router, stream, peer, stop).await;
    };
    match tokio::time::timeout(HEAD_WITHIN, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => speak(router, stream, peer, stop).await,
        Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS"),
        Err(_) => tracing::debug!(%peer, "no TLS in time"),
    }
}

async fn speak(
    router: Router,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    mut stop: watch::Receiver<bool>,
) {
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        tower_service::Service::call(&mut router.clone(), request)
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        .keep_alive_interval(Duration::from_secs(30));
    let stream = TokioIo::new(WriteDeadline::new(stream, READ_WITHIN));
    let connection = builder.serve_connection(stream, service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = stop.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, error, "a connection ended");
    }
}

fn acceptor(paths: &KeyPairPaths) -> Result<TlsAcceptor, ServeError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(ServeError::Identity)?
        .with_no_client_auth()
        .with_single_cert(certificates(&paths.cert)?, private_key(&paths.key)?)
        .map_err(ServeError::Identity)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // No resumption: every connection is authenticated anew.
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
