//! A client of a machine agent's front with any certificate or none.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use machine_agent_api::{ORGANISATION_HEADER, SLOT_HEADER};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::api::{Answer, exchange};
use crate::certificates::Identity;
use crate::kept_connection::KeptConnection;
use crate::shared::ORGANISATION;

/// Longer than any call of a test may take.
const LIMIT: Duration = Duration::from_secs(90);

/// A client of one front.
#[derive(Clone)]
pub struct MachineClient {
    address: String,
    connector: TlsConnector,
    organisation: String,
}

impl std::fmt::Debug for MachineClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MachineClient")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl MachineClient {
    /// A client that shows `identity`, or no certificate.
    ///
    /// # Errors
    /// When the files can't be read.
    pub fn new(address: &str, identity: Option<&Identity>) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyServer(provider)));
        let config = match identity {
            Some(identity) => config.with_client_auth_cert(
                vec![CertificateDer::from_pem_file(&identity.certificate)?],
                PrivateKeyDer::from_pem_file(&identity.key)?,
            )?,
            None => config.with_no_client_auth(),
        };
        Ok(Self {
            address: address.to_owned(),
            connector: TlsConnector::from(Arc::new(config)),
            organisation: ORGANISATION.to_owned(),
        })
    }

    /// The same client, asking for another organisation.
    #[must_use]
    pub fn of_organisation(&self, organisation: &str) -> Self {
        Self {
            organisation: organisation.to_owned(),
            ..self.clone()
        }
    }

    /// `GET`.
    ///
    /// # Errors
    /// When there is no connection or no answer.
    pub async fn get(&self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, None, None).await
    }

    /// A request about the agent in `slot`.
    ///
    /// # Errors
    /// When there is no connection or no answer.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        slot: Option<u8>,
        body: Option<&Value>,
    ) -> Result<Answer> {
        tokio::time::timeout(LIMIT, self.exchange(method, path, slot, body))
            .await
            .with_context(|| format!("{path}: no answer within {LIMIT:?}"))?
    }

    /// A connection that is kept, about the agent in `slot`.
    ///
    /// # Errors
    /// When there is none.
    pub async fn keep(&self, slot: u8) -> Result<KeptConnection> {
        KeptConnection::over(self.connect().await?, slot).await
    }

    async fn connect(&self) -> Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("machine.invalid")?;
        Ok(self.connector.connect(name, stream).await?)
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        slot: Option<u8>,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let stream = self.connect().await?;
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.address)
            .header("content-type", "application/json");
        if let Some(slot) = slot {
            request = request
                .header(SLOT_HEADER, slot.to_string())
                .header(ORGANISATION_HEADER, &self.organisation);
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body)))?;
        exchange(TokioIo::new(stream), request).await
    }
}

/// Accepts any server, because these tests are about whom a server accepts.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 was not offered".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
