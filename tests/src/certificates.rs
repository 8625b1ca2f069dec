//! Certificates made on the spot: the product's own by its own program, the wrong ones by hand.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use rcgen::{
    CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose, SanType,
};

use crate::spawn;

/// A certificate and its key as PEM files.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Path of the certificate.
    pub certificate: PathBuf,
    /// Path of the key.
    pub key: PathBuf,
}

/// A certificate authority of the product.
#[derive(Debug)]
pub struct Authority {
    directory: PathBuf,
    program: PathBuf,
}

impl Authority {
    /// Makes an authority under `directory` with `guilds-control-plane ca init`.
    ///
    /// # Errors
    /// When the program fails.
    pub fn create(program: &Path, directory: &Path) -> Result<Self> {
        spawn::run(
            spawn::command(program)
                .args(["ca", "init", "--dir"])
                .arg(directory),
        )?;
        Ok(Self {
            directory: directory.to_owned(),
            program: program.to_owned(),
        })
    }

    /// Path of its certificate.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.directory.join("ca.crt")
    }

    /// The control plane's certificate.
    ///
    /// # Errors
    /// When the program fails.
    pub fn control_plane(&self) -> Result<Identity> {
        let out = self.directory.join("control-plane");
        std::fs::create_dir_all(&out)?;
        spawn::run(
            spawn::command(&self.program)
                .args(["ca", "control-plane", "--dir"])
                .arg(&self.directory)
                .arg("--out")
                .arg(&out),
        )?;
        Ok(Identity {
            certificate: out.join("control-plane.crt"),
            key: out.join("control-plane.key"),
        })
    }

    /// A machine's certificate.
    ///
    /// # Errors
    /// When the program fails.
    pub fn machine(&self, id: &str) -> Result<Identity> {
        let out = self.directory.join(format!("machine-{id}"));
        std::fs::create_dir_all(&out)?;
        spawn::run(
            spawn::command(&self.program)
                .args(["ca", "machine", id, "--dir"])
                .arg(&self.directory)
                .arg("--out")
                .arg(&out),
        )?;
        Ok(Identity {
            certificate: out.join("machine.crt"),
            key: out.join("machine.key"),
        })
    }

    /// A certificate of this authority with any SAN and any end, which the product's program would not make.
    ///
    /// # Errors
    /// When the authority's files can't be read or the certificate not made.
    pub fn odd(&self, name: &str, san: SanType, not_after: SystemTime) -> Result<Identity> {
        let key = KeyPair::from_pem(&std::fs::read_to_string(self.directory.join("ca.key"))?)?;
        let issuer = Issuer::from_ca_cert_pem(&std::fs::read_to_string(self.certificate())?, key)?;
        signed(&self.directory.join(name), &issuer, san, not_after)
    }
}

/// A certificate with the right SAN from an authority that nobody knows.
///
/// # Errors
/// When it can't be made.
pub fn of_a_stranger(directory: &Path, san: SanType) -> Result<Identity> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let issuer = Issuer::new(params, key);
    signed(
        directory,
        &issuer,
        san,
        SystemTime::now() + Duration::from_secs(3600),
    )
}

fn signed(
    directory: &Path,
    issuer: &Issuer<'_, KeyPair>,
    san: SanType,
    not_after: SystemTime,
) -> Result<Identity> {
    std::fs::create_dir_all(directory)?;
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.subject_alt_names = vec![san];
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ClientAuth,
        ExtendedKeyUsagePurpose::ServerAuth,
    ];
    params.not_before = (SystemTime::now() - Duration::from_secs(7200)).into();
    params.not_after = not_after.into();
    let certificate = params.signed_by(&key, issuer)?;
    let identity = Identity {
        certificate: directory.join("odd.crt"),
        key: directory.join("odd.key"),
    };
    std::fs::write(&identity.certificate, certificate.pem())?;
    std::fs::write(&identity.key, key.serialize_pem())?;
    Ok(identity)
}

/// A URI SAN.
///
/// # Errors
/// When the text is not ASCII.
pub fn uri(san: &str) -> Result<SanType> {
    Ok(SanType::URI(san.try_into()?))
}
