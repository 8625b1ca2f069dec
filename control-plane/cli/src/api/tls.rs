//! `https://`: who vouches for the control plane's certificate.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::variable;

/// Names a file with the authorities to trust, in place of the machine's.
const CA_FILE: &str = "GUILDS_CA_FILE";

type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Shakes hands with the server that `host` names.
///
/// The machine's own authorities are trusted, as every other program here
/// trusts them; a control plane whose certificate comes from an authority of
/// its own is named by `GUILDS_CA_FILE`, and then that one alone is trusted.
///
/// # Errors
/// When the authorities can't be read, or the server isn't vouched for.
pub(super) async fn connect(
    stream: TcpStream,
    host: &str,
) -> Result<TlsStream<TcpStream>, Problem> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(authorities()?)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned())?;
    Ok(TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?)
}

fn authorities() -> Result<RootCertStore, Problem> {
    let mut store = RootCertStore::empty();
    if let Some(path) = variable(CA_FILE) {
        let told = |why: &str| format!("{CA_FILE} `{path}`: {why}");
        let certificates: Vec<_> = CertificateDer::pem_file_iter(&path)
            .and_then(Iterator::collect)
            .map_err(|error| told(&error.to_string()))?;
        let (added, _) = store.add_parsable_certificates(certificates);
        if added == 0 {
            return Err(told("holds no certificate").into());
        }
        return Ok(store);
    }
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = store.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(format!(
            "this machine has no certificate authorities; install ca-certificates, or name a file with {CA_FILE}"
        )
        .into());
    }
    Ok(store)
}
