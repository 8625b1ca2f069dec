//! Values at rest: sealed with AES-256-GCM under a key from a file, the row's id as associated data.
//!
//! A sealed value is the nonce (96 random bits) and then the ciphertext with its tag. Which
//! key sealed it stands beside it, so that a file with several keys opens them all.

pub mod key_file;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use ring::aead::{Aad, NONCE_LEN, Nonce};
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};
use uuid::Uuid;

use key_file::{BadKeyFile, KeyRing};

/// A sealed value and the id of the key that sealed it.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Sealed {
    /// [`key_file::Key::id`]
    pub key_id: String,
    /// Nonce, ciphertext, tag.
    pub sealed: Vec<u8>,
}

/// Why a value was neither sealed nor opened. Written for the operator: it names keys and
/// files, never a value.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The file lacks the key.
    #[error(
        "a value is sealed with key {key_id}, which {} does not hold; take its line from the replica where the key was rotated, or from a backup of the file", path.display()
    )]
    UnknownKey {
        /// The key's id.
        key_id: String,
        /// The key file.
        path: PathBuf,
    },
    /// Ciphertext, row id and key don't belong together.
    #[error(
        "a value sealed with key {key_id} does not open: it was changed, or moved to another row"
    )]
    Damaged {
        /// The key's id.
        key_id: String,
    },
    /// The key file can't be used any more.
    #[error(transparent)]
    KeyFile(#[from] BadKeyFile),
    /// None of the file's keys may seal.
    #[error("no key of {} may seal: the database's values are under {in_use}; copy the key file of the replica where the key was rotated, then rotate if you want another key", path.display())]
    Retired {
        /// The key file.
        path: PathBuf,
        /// Ids of the keys that the database says are in use.
        in_use: String,
    },
    /// The system has no randomness.
    #[error("the system has no randomness")]
    Randomness,
}

/// The keys of one replica. Clones share them.
#[derive(Debug, Clone)]
pub struct Vault {
    path: Arc<Path>,
    ring: Arc<RwLock<Arc<KeyRing>>>,
}

impl Vault {
    /// Reads the key file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(path: &Path) -> Result<Self, BadKeyFile> {
        let ring = KeyRing::read(path)?;
        Ok(Self {
            path: path.into(),
            ring: Arc::new(RwLock::new(Arc::new(ring))),
        })
    }

    /// The key file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The keys as last read.
    #[must_use]
    pub fn ring(&self) -> Arc<KeyRing> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the key file again: another process may have rotated.
    ///
    /// # Errors
    /// When it can't be used; the keys stay as they were.
    pub async fn read_again(&self) -> Result<Arc<KeyRing>, VaultError> {
        let path = Arc::clone(&self.path);
        let read = tokio::task::spawn_blocking(move || KeyRing::read(&path));
        let ring = match read.await {
            Ok(ring) => Arc::new(ring?),
            // Reading panics nowhere; at a shutdown the keys at hand are as good.
            Err(_) => return Ok(self.ring()),
        };
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&ring);
        Ok(ring)
    }

    /// Seals a value for a row under the key of that id.
    ///
    /// # Errors
    /// [`VaultError::UnknownKey`], or when there is no randomness.
    pub fn seal_with(
        &self,
        key_id: &str,
        row: Uuid,
        value: &SecretString,
    ) -> Result<Sealed, VaultError> {
        let ring = self.ring();
        let key = ring.find(key_id).ok_or_else(|| self.unknown(key_id))?;
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new()
            .fill(&mut nonce)
            .map_err(|_| VaultError::Randomness)?;
        let mut text = Zeroizing::new(value.expose_secret().as_bytes().to_vec());
        let tag = key
            .cipher()
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(row.as_bytes()),
                &mut text,
            )
            .map_err(|_| VaultError::Randomness)?;
        let sealed = [&nonce[..], &text[..], tag.as_ref()].concat();
        Ok(Sealed {
            key_id: key.id().to_owned(),
            sealed,
        })
    }

    /// Opens the value of a row. A key that isn't known may have come meanwhile, so the
    /// file is read once more for it.
    ///
    /// # Errors
    /// [`VaultError::UnknownKey`] and [`VaultError::Damaged`].
    pub async fn open(&self, row: Uuid, sealed: &Sealed) -> Result<SecretString, VaultError> {
        if self.ring().find(&sealed.key_id).is_none() {
            self.read_again().await?;
        }
        self.open_with(&self.ring(), row, sealed)
    }

    fn open_with(
        &self,
        ring: &KeyRing,
        row: Uuid,
        sealed: &Sealed,
    ) -> Result<SecretString, VaultError> {
        let damaged = || VaultError::Damaged {
            key_id: sealed.key_id.clone(),
        };
        let key = ring
            .find(&sealed.key_id)
            .ok_or_else(|| self.unknown(&sealed.key_id))?;
        let (nonce, rest) = sealed
            .sealed
            .split_first_chunk::<NONCE_LEN>()
            .ok_or_else(damaged)?;
        let mut bytes = Zeroizing::new(rest.to_vec());
        let text = key
            .cipher()
            .open_in_place(
                Nonce::assume_unique_for_key(*nonce),
                Aad::from(row.as_bytes()),
                &mut bytes,
            )
            .map_err(|_| damaged())?;
        let text = std::str::from_utf8(text).map_err(|_| damaged())?;
        Ok(SecretString::from(text))
    }

    fn unknown(&self, key_id: &str) -> VaultError {
        VaultError::UnknownKey {
            key_id: key_id.to_owned(),
            path: self.path.to_path_buf(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const ROW: Uuid = Uuid::from_u128(7);

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o600)).unwrap();
        file
    }

    fn sealed_under(vault: &Vault, value: &str) -> Sealed {
        let id = vault.ring().ids().next().unwrap().to_owned();
        vault
            .seal_with(&id, ROW, &SecretString::from(value))
            .unwrap()
    }

    #[tokio::test]
    async fn what_is_sealed_opens_for_its_row_only() {
        let key = file(&"ab".repeat(32));
        let vault = Vault::read(key.path()).unwrap();
        let one = sealed_under(&vault, "hunter22");
        let two = sealed_under(&vault, "hunter22");
        assert_ne!(one.sealed, two.sealed);
        // Nonce of 12, text of 8, tag of 16.
        assert_eq!(one.sealed.len(), 36);
        assert_eq!(
            vault.open(ROW, &one).await.unwrap().expose_secret(),
            "hunter22"
        );
        let elsewhere = vault.open(Uuid::from_u128(8), &one).await.unwrap_err();
        assert!(matches!(elsewhere, VaultError::Damaged { .. }));
        for at in [0, 12, 35] {
            let mut changed = one.clone();
            changed.sealed[at] ^= 1;
            assert!(vault.open(ROW, &changed).await.is_err(), "{at}");
        }
        let short = Sealed {
            sealed: vec![1; 5],
            ..one
        };
        assert!(vault.open(ROW, &short).await.is_err());
    }

    #[tokio::test]
    async fn a_key_that_came_meanwhile_is_found_and_a_missing_one_named() {
        let key = file(&"ab".repeat(32));
        let vault = Vault::read(key.path()).unwrap();
        let other = Vault::read(file(&"cd".repeat(32)).path()).unwrap();
        let sealed = sealed_under(&other, "hunter22");
        let error = vault.open(ROW, &sealed).await.unwrap_err().to_string();
        assert!(error.contains(&sealed.key_id), "{error}");
        assert!(error.contains(&key.path().display().to_string()), "{error}");
        let both = format!("{}\n{}\n", "cd".repeat(32), "ab".repeat(32));
        std::fs::write(key.path(), both).unwrap();
        assert_eq!(
            vault.open(ROW, &sealed).await.unwrap().expose_secret(),
            "hunter22"
        );
    }
}
