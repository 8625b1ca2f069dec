//! `https://`: who vouches for the control plane's certificate.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, InvalidMessage, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::text_variable;
use crate::error::Failure;

/// Names a file with the authorities to trust, in place of the machine's.
const CA_FILE: &str = "GUILDS_CA_FILE";
/// The first byte of a TLS alert (RFC 8446, 5.1).
const ALERT: u8 = 21;
/// Longest wait for an answer that only says what answers.
const PROBE_PATIENCE: Duration = Duration::from_secs(2);

/// Whom to trust, and whom to expect.
#[derive(Debug, Clone)]
pub(super) struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// TLS with the server of that name.
    ///
    /// The machine's own authorities are trusted, as every other program here
    /// trusts them; a control plane whose certificate comes from an authority of
    /// its own is named by `GUILDS_CA_FILE`, and then that one alone is trusted.
    ///
    /// # Errors
    /// A usage failure when there is nobody to trust, or the name can't be in a certificate.
    pub(super) fn with(name: &str) -> Result<Self, Failure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::local(format!("TLS can't be set up: {error}")))?
            .with_root_certificates(authorities()?)
            .with_no_client_auth();
        let bad = |_| {
            Failure::usage(format!(
                "GUILDS_URL: no certificate can have the name {name}"
            ))
        };
        Ok(Self {
            config: Arc::new(config),
            name: ServerName::try_from(name.to_owned()).map_err(bad)?,
        })
    }

    /// Shakes hands.
    ///
    /// # Errors
    /// When nobody who is trusted vouches for the server.
    pub(super) async fn connect(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        TlsConnector::from(Arc::clone(&self.config))
            .connect(self.name.clone(), stream)
            .await
    }
}

/// Whether a handshake failed since what answered it was no TLS.
pub(super) fn is_plain(problem: &(dyn std::error::Error + 'static)) -> bool {
    let inner = problem
        .downcast_ref::<std::io::Error>()
        .and_then(|error| error.get_ref())
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(
        inner,
        Some(rustls::Error::InvalidMessage(
            InvalidMessage::InvalidContentType
        ))
    )
}

/// Whether a server answers a plain request as one that expects TLS does: with an alert.
pub(super) async fn is_spoken(authority: &str) -> bool {
    let asked = async {
        let mut stream = TcpStream::connect(authority).await?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
        stream.read_u8().await
    };
    let answer = tokio::time::timeout(PROBE_PATIENCE, asked).await;
    matches!(answer, Ok(Ok(ALERT)))
}

fn authorities() -> Result<RootCertStore, Failure> {
    let mut store = RootCertStore::empty();
    if let Some(path) = text_variable(CA_FILE)? {
        let told = |why: &str| Failure::usage(format!("{CA_FILE} `{path}`: {why}"));
        let pem = std::fs::read(&path).map_err(|error| told(&error.to_string()))?;
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<_, _>>()
            .map_err(|error| told(&error.to_string()))?;
        let (added, _) = store.add_parsable_certificates(certificates);
        if added == 0 {
            return Err(told("holds no certificate"));
        }
        return Ok(store);
    }
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = store.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(Failure::usage(format!(
            "this machine has no certificate authorities; install ca-certificates, or name a file with {CA_FILE}"
        )));
    }
    Ok(store)
}
