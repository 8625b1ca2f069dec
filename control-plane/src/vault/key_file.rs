//! The key file: lines of 64 hexadecimal characters, the newest key first; read, checked, and replaced whole.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use secrecy::zeroize::Zeroizing;

use crate::key;

/// Hexadecimal characters of a key's id.
const ID_LENGTH: usize = 16;
/// Most bytes of a key file: some two hundred keys, where two are usual.
const MAX_BYTES: u64 = 16 * 1024;

/// One key.
pub struct Key {
    id: String,
    cipher: LessSafeKey,
    hex: Zeroizing<String>,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Key").field(&self.id).finish()
    }
}

impl Key {
    fn new(hex: &str) -> Option<Self> {
        let bytes = Zeroizing::new(key::parse(hex)?);
        let digest = ring::digest::digest(&ring::digest::SHA256, &*bytes);
        let mut id = key::hex(digest.as_ref());
        id.truncate(ID_LENGTH);
        Some(Self {
            id,
            cipher: LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &*bytes).ok()?),
            hex: Zeroizing::new(hex.trim().to_ascii_lowercase()),
        })
    }

    /// The first 16 hexadecimal characters of the key's SHA-256: what rows and messages
    /// name it by.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(super) const fn cipher(&self) -> &LessSafeKey {
        &self.cipher
    }
}

/// Everything that is wrong with a key file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", path.display(), problems.join("; "))]
pub struct BadKeyFile {
    path: PathBuf,
    /// Each a sentence without the file's name.
    pub problems: Vec<String>,
}

/// The keys of a file in their order: the newest first.
#[derive(Debug)]
pub struct KeyRing {
    keys: Vec<Key>,
}

impl KeyRing {
    /// Reads and checks a key file.
    ///
    /// # Errors
    /// Every problem at once.
    pub fn read(path: &Path) -> Result<Self, BadKeyFile> {
        let bad = |problems| BadKeyFile {
            path: path.to_owned(),
            problems,
        };
        let mut problems = Vec::new();
        let opened = File::open(path).and_then(|file| {
            let metadata = file.metadata()?;
            Ok((file, metadata))
        });
        let (file, metadata) =
            opened.map_err(|error| bad(vec![format!("could not be opened: {error}")]))?;
        if !metadata.is_file() {
            return Err(bad(vec!["is no regular file".to_owned()]));
        }
        problems.extend(mode_problem(metadata.mode(), metadata.uid()));
        let mut text = Zeroizing::new(String::new());
        let keys = match file.take(MAX_BYTES + 1).read_to_string(&mut text) {
            Ok(length) if length as u64 > MAX_BYTES => {
                problems.push(format!("is longer than {MAX_BYTES} bytes"));
                Vec::new()
            }
            Ok(_) => parse(&text, &mut problems),
            Err(error) => {
                problems.push(format!("could not be read as text: {error}"));
                Vec::new()
            }
        };
        if problems.is_empty() {
            Ok(Self { keys })
        } else {
            Err(bad(problems))
        }
    }

    /// The key of that id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.id == id)
    }

    /// Ids in the order of the file, the newest first.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.keys.iter().map(Key::id)
    }

    /// Puts a new key before the others.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn prepend_new(&mut self) -> std::io::Result<()> {
        let hex = Zeroizing::new(key::random_hex()?);
        let key = Key::new(&hex).ok_or_else(|| std::io::Error::other("no key came of it"))?;
        self.keys.insert(0, key);
        Ok(())
    }

    /// Keeps the keys whose id `wanted` accepts.
    pub fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        self.keys.retain(|key| wanted(&key.id));
    }

    /// Replaces the file by these keys in one step: a reader sees the old file or the new
    /// one, also after a power cut. Owner, group and mode stay what they were.
    ///
    /// # Errors
    /// When the folder or the file can't be written.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        // A link stays a link: what it points to is replaced.
        let path = std::fs::canonicalize(path)?;
        let before = std::fs::metadata(&path)?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let new = folder.join(format!(".{}.new", key::random_hex()?));
        let written = self.write_new(&new, &before).and_then(|()| {
            std::fs::rename(&new, &path)?;
            File::open(folder)?.sync_all()
        });
        if written.is_err() {
            // Nothing else can be done about a file that is half written.
            let _ = std::fs::remove_file(&new);
        }
        written
    }

    fn write_new(&self, path: &Path, before: &std::fs::Metadata) -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        for key in &self.keys {
            file.write_all(key.hex.as_bytes())?;
            file.write_all(b"\n")?;
        }
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
            std::os::unix::fs::fchown(&file, Some(before.uid()), Some(before.gid()))?;
        }
        file.set_permissions(PermissionsExt::from_mode(before.mode() & 0o777))?;
        file.sync_all()
    }
}

/// Nobody but the owner may read or change it; a file of root's may be read by its group,
/// the usual way to hand one to a service.
fn mode_problem(mode: u32, owner: u32) -> Option<String> {
    let allowed = if owner == 0 { 0o740 } else { 0o700 };
    let mode = mode & 0o777;
    (mode & !allowed != 0).then(|| {
        format!("has mode {mode:04o}, so that others reach it; 0600 is allowed, for a file of root's also 0640")
    })
}

fn parse(text: &str, problems: &mut Vec<String>) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    let lines = text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty());
    let mut empty = true;
    for (line, number) in lines {
        empty = false;
        match Key::new(line) {
            None => problems.push(format!(
                "line {number} is not 64 hexadecimal characters, the form of a key"
            )),
            Some(key) if keys.iter().any(|other| other.id == key.id) => {
                problems.push(format!("line {number} repeats the key {}", key.id));
            }
            Some(key) => keys.push(key),
        }
    }
    if empty {
        problems.push(
            "holds no key; `guilds-control-plane key create --out FILE` makes a file with one"
                .to_owned(),
        );
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, text: &str, mode: u32) -> PathBuf {
        let path = folder.join("secrets.key");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_key_is_named_by_its_digest() {
        // printf '%.0s\0' {1..32} | sha256sum
        let key = Key::new(&"00".repeat(32)).unwrap();
        assert_eq!(key.id(), "66687aadf862bd77");
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let good = "ab".repeat(32);
        let path = write(folder.path(), &format!("{good}\n\nxy\n{good}\n"), 0o644);
        let error = KeyRing::read(&path).unwrap_err();
        assert_eq!(
            error.problems,
            [
                "has mode 0644, so that others reach it; 0600 is allowed, for a file of root's also 0640",
                "line 3 is not 64 hexadecimal characters, the form of a key",
                "line 4 repeats the key 9a2db2e23f1504cd",
            ]
        );
        assert!(!error.to_string().contains(&good));
        let path = write(folder.path(), "\n", 0o600);
        assert_eq!(
            KeyRing::read(&path).unwrap_err().problems,
            ["holds no key; `guilds-control-plane key create --out FILE` makes a file with one"]
        );
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), &"AB".repeat(32), 0o400);
        let mut ring = KeyRing::read(&path).unwrap();
        let old: Vec<String> = ring.ids().map(str::to_owned).collect();
        ring.prepend_new().unwrap();
        ring.write(&path).unwrap();
        let mut ring = KeyRing::read(&path).unwrap();
        let ids: Vec<String> = ring.ids().map(str::to_owned).collect();
        assert_eq!((ids.len(), &ids[1..]), (2, &old[..]));
        ring.retain(|id| id == ids[0]);
        ring.write(&path).unwrap();
        assert!(KeyRing::read(&path).unwrap().ids().eq([&ids[0]]));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o400);
        let names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["secrets.key"]);
    }

    #[test]
    fn only_root_may_share_with_a_group() {
        assert_eq!(mode_problem(0o100_640, 0), None);
        assert!(mode_problem(0o100_640, 1000).is_some());
        assert!(mode_problem(0o100_660, 0).is_some());
        assert_eq!(mode_problem(0o100_400, 1000), None);
    }
}
