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

use crate::config::{Config, More};

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
    pub fn load(config: &Config) -> Result<Self, More> {
        let chain = certificates(&config.tls_cert).map_err(|error| ("tls_cert", error));
        let authorities = certificates(&config.tls_ca).map_err(|error| ("tls_ca", error));
        let key = PrivateKeyDer::from_pem_file(&config.tls_key)
            .map_err(|error| ("tls_key", format!("{}: {error}", config.tls_key.display())));
        let own = chain
            .as_ref()
            .ok()
            .map(|chain| check_own(&chain[0], &config.machine));
        match (chain, authorities, key, own) {
            (Ok(chain), Ok(authorities), Ok(key), Some(Ok(not_after))) => {
                let tls =
                    server_config(chain, authorities, key).map_err(|problem| vec![problem])?;
                Ok(Self {
                    tls: Arc::new(tls),
                    not_after,
                })
            }
            (chain, authorities, key, own) => {
                let own = own.and_then(Result::err);
                let problems = [chain.err(), authorities.err(), key.err(), own];
                Err(problems
                    .into_iter()
                    .flatten()
                    .map(|(name, problem)| (name, format!("`{name}`: {problem}")))
                    .collect())
            }
        }
    }
}

/// A setting, and what is wrong with what it names.
type Problem = (&'static str, String);

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let problem = |text: String| format!("{}: {text}", path.display());
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
fn check_own(certificate: &CertificateDer<'_>, machine: &str) -> Result<String, Problem> {
    let problem = |text: String| ("tls_cert", text);
    let names = uri_names(certificate).map_err(|error| problem(error.to_string()))?;
    let wanted = machine_san(machine);
    if !names.contains(&wanted) {
        return Err((
            "machine",
            format!(
                "it wants a certificate with the URI SAN {wanted:?}, but that of `tls_cert` is {names:?}"
            ),
        ));
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
) -> Result<ServerConfig, Problem> {
    let untrusted = |error: &dyn std::fmt::Display| ("tls_ca", format!("`tls_ca`: {error}"));
    let unfit = |error: rustls::Error| ("tls_key", format!("`tls_key`: {error}"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority).map_err(|error| untrusted(&error))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| untrusted(&error))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(unfit)?
        .with_client_cert_verifier(Arc::new(ControlPlaneOnly(verifier)))
        .with_single_cert(chain, key)
        .map_err(unfit)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
        SanType,
    };

    struct Authority {
        issuer: Issuer<'static, KeyPair>,
        certificate: CertificateDer<'static>,
    }

    fn authority() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Authority {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    fn issue(authority: &Authority, san: &str) -> (CertificateDer<'static>, KeyPair) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.subject_alt_names = vec![SanType::URI(san.try_into().unwrap())];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ClientAuth,
            ExtendedKeyUsagePurpose::ServerAuth,
        ];
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2030, 1, 1);
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &authority.issuer).unwrap();
        (signed.der().clone(), key)
    }

    /// What the verifier says of a client with `san`, at a time in `year`.
    fn verify(trusted: &Authority, by: &Authority, san: &str, seconds: u64) -> Result<(), Error> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let inner = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let (certificate, _) = issue(by, san);
        ControlPlaneOnly(inner)
            .verify_client_cert(&certificate, &[], now)
            .map(drop)
    }

    const IN_2025: u64 = 1_750_000_000;
    const IN_2031: u64 = 1_940_000_000;

    #[test]
    fn only_the_control_plane_of_our_authority_is_answered() {
        let (ours, theirs) = (authority(), authority());
        let control_plane = "guilds://control-plane";
        assert!(verify(&ours, &ours, control_plane, IN_2025).is_ok());
        for other in [
            "guilds://machine/local",
            "guilds://control-plane/x",
            "guilds://control-planes",
        ] {
            assert!(verify(&ours, &ours, other, IN_2025).is_err(), "{other}");
        }
        assert!(verify(&ours, &theirs, control_plane, IN_2025).is_err());
        assert!(verify(&ours, &ours, control_plane, IN_2031).is_err());
    }

    #[test]
    fn a_certificate_of_another_machine_is_named() {
        let ours = authority();
        let (certificate, _) = issue(&ours, "guilds://machine/other");
        assert_eq!(
            check_own(&certificate, "local").unwrap_err(),
            (
                "machine",
                "it wants a certificate with the URI SAN \"guilds://machine/local\", but that of `tls_cert` is [\"guilds://machine/other\"]".to_owned()
            )
        );
        assert_eq!(
            check_own(&certificate, "other").unwrap(),
            "2030-01-01T00:00:00Z"
        );
    }
}
