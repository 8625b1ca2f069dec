//! Mutual TLS 1.3 without resumption; a machine is known by its URI SAN, never by a name in DNS.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use machine_agent_api::machine_san;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, TrustAnchor, UnixTime};

use crate::config::MachinePaths;

/// Why certificates can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file holds no certificate or key.
    #[error("{path} could not be used")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Certificate and key make no identity.
    #[error("the certificate and its key could not be used")]
    Identity(#[source] rustls::Error),
}

/// The control plane's certificate, its key and the authority it trusts.
#[derive(Debug)]
pub(super) struct Identity {
    anchors: Arc<Vec<TrustAnchor<'static>>>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl Identity {
    pub(super) fn load(paths: &MachinePaths) -> Result<Self, TlsError> {
        let anchors = certificates(&paths.ca)?
            .iter()
            .map(|cert| {
                webpki::anchor_from_trusted_cert(cert)
                    .map(|anchor| anchor.to_owned())
                    .map_err(|error| unusable(&paths.ca, error))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let identity = Self {
            anchors: Arc::new(anchors),
            chain: certificates(&paths.own.cert)?,
            key: private_key(&paths.own.key)?,
            provider: Arc::new(rustls::crypto::ring::default_provider()),
        };
        // Fails here rather than on the first call.
        identity.client_config("check")?;
        Ok(identity)
    }

    /// End of the own certificate, in seconds of the Unix clock.
    pub(super) fn ends_s(&self) -> Option<i64> {
        self.chain.first().and_then(ends_s)
    }

    /// Configuration for one machine: its certificate must chain to the
    /// authority, be in time, and carry this machine's URI SAN.
    pub(super) fn client_config(&self, machine: &str) -> Result<rustls::ClientConfig, TlsError> {
        let verifier = MachineVerifier {
            anchors: Arc::clone(&self.anchors),
            san: machine_san(machine),
            algorithms: self.provider.signature_verification_algorithms,
        };
        let mut config = rustls::ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(TlsError::Identity)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())
            .map_err(TlsError::Identity)?;
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        Ok(config)
    }
}

/// End of a certificate in seconds of the Unix clock; none for what is no certificate.
pub(super) fn ends_s(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Some(parsed.validity().not_after.timestamp())
}

/// The certificates of a PEM file; at least one.
///
/// # Errors
/// When the file can't be read or holds none.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(path, error))?;
    if chain.is_empty() {
        return Err(unusable(
            path,
            std::io::Error::other("it holds no certificate"),
        ));
    }
    Ok(chain)
}

/// The private key of a PEM file.
///
/// # Errors
/// When the file can't be read or holds none.
pub(crate) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| unusable(path, error))
}

fn unusable(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        source: source.into(),
    }
}

#[derive(Debug)]
struct MachineVerifier {
    anchors: Arc<Vec<TrustAnchor<'static>>>,
    san: String,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for MachineVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let cert = webpki::EndEntityCert::try_from(end_entity).map_err(refused)?;
        cert.verify_for_usage(
            self.algorithms.all,
            &self.anchors,
            intermediates,
            now,
            webpki::KeyUsage::server_auth(),
            None,
            None,
        )
        .map_err(refused)?;
        if cert.valid_uri_names().any(|name| name == self.san) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::NotValidForName.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // Only TLS 1.3 is offered, so nothing arrives here that may be trusted.
        Err(rustls::Error::General("TLS 1.2 is not spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn refused(error: webpki::Error) -> rustls::Error {
    use webpki::Error;
    match error {
        Error::CertExpired { .. } => CertificateError::Expired.into(),
        Error::CertNotValidYet { .. } => CertificateError::NotValidYet.into(),
        Error::UnknownIssuer => CertificateError::UnknownIssuer.into(),
        _ => CertificateError::BadEncoding.into(),
    }
}
