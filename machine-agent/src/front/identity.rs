//! Who this machine is and whom it answers: its certificate, and a verifier that wants the control plane's URI SAN.

use std::path::Path;
use std::sync::Arc;

use machine_agent_api::{CONTROL_PLANE_SAN, machine_san};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};

use crate::config::Config;

/// What the TLS server shows and asks for.
#[derive(Debug, Clone)]
pub struct Identity {
    /// TLS 1.3 only, no resumption.
    pub tls: Arc<ServerConfig>,
    /// End of the certificate, RFC 3339 UTC.
    pub not_after: String,
}

impl Identity {
    /// Reads the three PEM files.
    ///
    /// # Errors
    /// Every problem: unreadable files, a key that doesn't fit, a SAN of another machine, an ended certificate.
    pub fn load(config: &Config) -> Result<Self, Vec<String>> {
        let chain = certificates("tls_cert", &config.tls_cert);
        let authorities = certificates("tls_ca", &config.tls_ca);
        let key = PrivateKeyDer::from_pem_file(&config.tls_key)
            .map_err(|error| format!("`tls_key` {}: {error}", config.tls_key.display()));
        let not_after = chain
            .as_ref()
            .map_err(|_| None)
            .and_then(|chain| check_own(&chain[0], &config.machine).map_err(Some));
        match (chain, authorities, key, not_after) {
            (Ok(chain), Ok(authorities), Ok(key), Ok(not_after)) => {
                match server_config(chain, authorities, key) {
                    Ok(tls) => Ok(Self {
                        tls: Arc::new(tls),
                        not_after,
                    }),
                    Err(problem) => Err(vec![problem]),
                }
            }
            (chain, authorities, key, not_after) => {
                let own = not_after.err().flatten();
                let problems = [chain.err(), authorities.err(), key.err(), own];
                Err(problems.into_iter().flatten().collect())
            }
        }
    }
}

fn certificates(name: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let problem = |text: String| format!("`{name}` {}: {text}", path.display());
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| problem(error.to_string()))?
        .collect();
    let found = found.map_err(|error| problem(error.to_string()))?;
    if found.is_empty() {
        return Err(problem("there is no certificate in it".to_owned()));
    }
    Ok(found)
}

/// Checks the certificate's SAN and time; answers its end.
fn check_own(certificate: &CertificateDer<'_>, machine: &str) -> Result<String, String> {
    let problem = |text: String| format!("`tls_cert`: {text}");
    let names = uri_names(certificate).map_err(|error| problem(error.to_string()))?;
    let wanted = machine_san(machine);
    if !names.contains(&wanted) {
        return Err(problem(format!(
            "its URI SAN is {names:?}, but `machine` wants {wanted:?}"
        )));
    }
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate)
        .map_err(|error| problem(error.to_string()))?;
    let end = jiff::Timestamp::from_second(parsed.validity().not_after.timestamp())
        .map_err(|error| problem(error.to_string()))?;
    if end < jiff::Timestamp::now() {
        return Err(problem(format!("it ended at {end}")));
    }
    Ok(end.to_string())
}

fn uri_names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, webpki::Error> {
    let parsed = webpki::EndEntityCert::try_from(certificate)?;
    Ok(parsed.valid_uri_names().map(str::to_owned).collect())
}

fn server_config(
    chain: Vec<CertificateDer<'static>>,
    authorities: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots
            .add(authority)
            .map_err(|error| format!("`tls_ca`: {error}"))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| format!("`tls_ca`: {error}"))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?
        .with_client_cert_verifier(Arc::new(ControlPlaneOnly(verifier)))
        .with_single_cert(chain, key)
        .map_err(|error| format!("`tls_cert` and `tls_key`: {error}"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // No resumption: every connection shows its certificate anew.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    Ok(config)
}

/// Chain and validity by webpki, then the URI SAN: another machine's
/// certificate comes from the same authority and must open nothing.
#[derive(Debug)]
struct ControlPlaneOnly(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for ControlPlaneOnly {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.0.verify_client_cert(end_entity, intermediates, now)?;
        let names = uri_names(end_entity)
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if names.iter().any(|name| name == CONTROL_PLANE_SAN) {
            return Ok(verified);
        }
        tracing::warn!(
            ?names,
            "a certificate of our authority that is not the control plane's was refused"
        );
        Err(Error::InvalidCertificate(
            CertificateError::ApplicationVerificationFailure,
        ))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
