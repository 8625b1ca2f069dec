//! A small certificate authority: the control plane's and each machine's identity is a URI SAN.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use machine_agent_api::{CONTROL_PLANE_SAN, machine_san};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType, SerialNumber,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use crate::key;

/// Days a certificate of the authority itself lasts.
const CA_DAYS: i64 = 3_650;
/// Days the control plane's own certificate lasts.
const CONTROL_PLANE_DAYS: i64 = 365;
/// Days a machine's certificate lasts unless told otherwise.
pub const MACHINE_DAYS: i64 = 30;

/// Why no certificate was made.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The files of the authority make no sense.
    #[error("the certificate authority in {0} could not be used")]
    Authority(PathBuf, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// A key or certificate could not be made.
    #[error("the certificate could not be made")]
    Make(#[source] rcgen::Error),
    /// No identity can have this id.
    #[error("machine id \"{0}\" is refused; allowed is ^[a-z][a-z0-9-]{{0,30}}$")]
    Id(String),
}

impl From<rcgen::Error> for CaError {
    fn from(error: rcgen::Error) -> Self {
        Self::Make(error)
    }
}

/// Makes `ca.crt` and `ca.key` in `dir`, or keeps what is there.
///
/// # Errors
/// When files can't be written, or only one of the two exists.
pub fn init(dir: &Path) -> Result<(), CaError> {
    make_dir(dir)?;
    let (cert_path, key_path) = (dir.join("ca.crt"), dir.join("ca.key"));
    match (cert_path.exists(), key_path.exists()) {
        (true, true) => return load(dir).map(|_| ()),
        (false, false) => {}
        _ => {
            return Err(CaError::Authority(
                dir.to_owned(),
                "one of ca.crt and ca.key is missing".into(),
            ));
        }
    }
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = params("Guilds certificate authority", CA_DAYS)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let cert = params.self_signed(&key)?;
    replace(&key_path, &key.serialize_pem(), 0o600)?;
    replace(&cert_path, &cert.pem(), 0o644)
}

/// Makes `control-plane.crt` and `control-plane.key` in `out`.
///
/// # Errors
/// When the authority can't be used or files can't be written.
pub fn control_plane(dir: &Path, out: &Path) -> Result<(), CaError> {
    issue(
        dir,
        out,
        "control-plane",
        CONTROL_PLANE_SAN,
        CONTROL_PLANE_DAYS,
    )
}

/// Makes `machine.crt`, `machine.key` and `ca.crt` in `out` for one machine.
/// `days` may be negative: such a certificate has ended already.
///
/// # Errors
/// When the id is refused, the authority can't be used or files can't be written.
pub fn machine(dir: &Path, out: &Path, id: &str, days: i64) -> Result<(), CaError> {
    if !crate::ids::is_id(id) {
        return Err(CaError::Id(id.to_owned()));
    }
    issue(dir, out, "machine", &machine_san(id), days)?;
    let ca = read(&dir.join("ca.crt"))?;
    replace(&out.join("ca.crt"), &ca, 0o644)
}

fn issue(dir: &Path, out: &Path, name: &str, san: &str, days: i64) -> Result<(), CaError> {
    let issuer = load(dir)?;
    make_dir(out)?;
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = params(san, days)?;
    params.subject_alt_names = vec![SanType::URI(san.try_into()?)];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    params.use_authority_key_identifier_extension = true;
    let cert = params.signed_by(&key, &issuer)?;
    replace(
        &out.join(format!("{name}.key")),
        &key.serialize_pem(),
        0o600,
    )?;
    replace(&out.join(format!("{name}.crt")), &cert.pem(), 0o644)
}

fn load(dir: &Path) -> Result<Issuer<'static, KeyPair>, CaError> {
    let authority =
        |error: Box<dyn std::error::Error + Send + Sync>| CaError::Authority(dir.to_owned(), error);
    let cert = read(&dir.join("ca.crt"))?;
    let key = read(&dir.join("ca.key"))?;
    let key = KeyPair::from_pem(&key).map_err(|error| authority(error.into()))?;
    let cert =
        CertificateDer::from_pem_slice(cert.as_bytes()).map_err(|error| authority(error.into()))?;
    Issuer::from_ca_cert_der(&cert, key).map_err(|error| authority(error.into()))
}

/// Valid from one hour ago, so that clocks may differ, for `days` from now.
fn params(common_name: &str, days: i64) -> Result<CertificateParams, CaError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    let now = jiff::Timestamp::now().as_second();
    let (start, end) = (now - 3_600, now + days * 86_400);
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let seconds = |unix_s: i64| Duration::from_secs(unix_s.max(0).unsigned_abs());
    // An ended certificate still has to begin before it ends.
    params.not_before = epoch + seconds(start.min(end - 3_600));
    params.not_after = epoch + seconds(end);
    let serial = key::random_hex().map_err(|_| rcgen::Error::RingUnspecified)?;
    // RFC 5280: positive and at most 20 bytes; 0x4. keeps the first bit clear.
    let mut bytes = key::parse(&serial).unwrap_or_default()[..16].to_vec();
    bytes[0] = 0x40 | (bytes[0] & 0x3f);
    params.serial_number = Some(SerialNumber::from_slice(&bytes));
    Ok(params)
}

fn make_dir(dir: &Path) -> Result<(), CaError> {
    fs::create_dir_all(dir).map_err(|source| CaError::File {
        path: dir.to_owned(),
        source,
    })
}

fn read(path: &Path) -> Result<String, CaError> {
    fs::read_to_string(path).map_err(|source| CaError::File {
        path: path.to_owned(),
        source,
    })
}

/// Replaces a file in one step, so that a reader never sees half of one.
fn replace(path: &Path, text: &str, mode: u32) -> Result<(), CaError> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = |source| CaError::File {
        path: path.to_owned(),
        source,
    };
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.new", std::process::id()));
    let temporary = PathBuf::from(temporary);
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    key::write_new(&temporary, text).map_err(failed)?;
    fs::set_permissions(&temporary, fs::Permissions::from_mode(mode)).map_err(failed)?;
    fs::rename(&temporary, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_authority_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        init(dir.path()).unwrap();
        let first = fs::read(dir.path().join("ca.crt")).unwrap();
        init(dir.path()).unwrap();
        assert_eq!(fs::read(dir.path().join("ca.crt")).unwrap(), first);
        fs::remove_file(dir.path().join("ca.key")).unwrap();
        assert!(init(dir.path()).is_err());
    }

    #[test]
    fn keys_are_their_owners_and_certificates_carry_the_san() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("m1");
        init(dir.path()).unwrap();
        machine(dir.path(), &out, "m1", MACHINE_DAYS).unwrap();
        let mode = fs::metadata(out.join("machine.key"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let pem = fs::read(out.join("machine.crt")).unwrap();
        let der = CertificateDer::from_pem_slice(&pem).unwrap();
        let cert = webpki::EndEntityCert::try_from(&der).unwrap();
        let names: Vec<&str> = cert.valid_uri_names().collect();
        assert_eq!(names, ["guilds://machine/m1"]);
        assert!(matches!(
            machine(dir.path(), &out, "M 1", 1),
            Err(CaError::Id(_))
        ));
    }
}
