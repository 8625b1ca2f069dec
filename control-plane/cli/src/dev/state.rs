//! The stack's folder, the lock that keeps a second stack away, and the ids of what was started.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::account::Account;
use crate::error::Failure;

/// One stack per machine, when agents are real accounts.
const MACHINE_LOCK: &str = "/run/guilds-dev.lock";
/// Longest path of a socket (unix(7)).
const MAX_SOCKET_PATH_BYTES: usize = 107;
/// Longest name below the folder for sockets: the longest agent id and room for a suffix.
const LONGEST_SOCKET_NAME_BYTES: usize = 48;
/// A log larger than this is moved aside at a start.
const MAX_LOG_BYTES: u64 = 16 * 1024 * 1024;

/// Everything the stack keeps.
#[derive(Debug)]
pub(crate) struct State {
    dir: PathBuf,
    account: Account,
    /// Held as long as the stack runs.
    _lock: Flock<File>,
}

impl State {
    /// Makes and locks the folder.
    ///
    /// # Errors
    /// When another stack runs, or when agents could not reach the folder.
    pub(crate) fn open(dir: &Path, account: &Account) -> Result<Self, Failure> {
        let dir = std::path::absolute(dir).map_err(told(dir))?;
        let mode = if account.is_root() { 0o711 } else { 0o700 };
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&dir)
            .map_err(told(&dir))?;
        let dir = dir.canonicalize().map_err(told(&dir))?;
        if account.is_root() {
            searchable(&dir)?;
        }
        fs::set_permissions(&dir, Permissions::from_mode(mode)).map_err(told(&dir))?;
        let lock_path = if account.is_root() {
            PathBuf::from(MACHINE_LOCK)
        } else {
            dir.join("lock")
        };
        let state = Self {
            _lock: lock(&lock_path, &dir)?,
            account: account.clone(),
            dir,
        };
        for name in ["pids", "logs", "tokens"] {
            state.make_private(name)?;
        }
        Ok(state)
    }

    /// A path below the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// A folder that only the caller may enter.
    ///
    /// # Errors
    /// When it can't be made.
    pub(crate) fn make_private(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.path(name);
        make(&path, 0o700).map_err(told(&path))?;
        Ok(path)
    }

    /// A folder that only the unprivileged account may enter.
    ///
    /// # Errors
    /// When it can't be made.
    pub(crate) fn make_unprivileged(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.make_private(name)?;
        self.give(&path)?;
        Ok(path)
    }

    /// Gives a path to the unprivileged account.
    ///
    /// # Errors
    /// When it can't be given.
    pub(crate) fn give(&self, path: &Path) -> Result<(), Failure> {
        match self.account.unprivileged() {
            Some((uid, gid)) => {
                chown(path, Some(uid.as_raw()), Some(gid.as_raw())).map_err(told(path))
            }
            None => Ok(()),
        }
    }

    /// A folder for sockets: `name` below the state, or a short one when that
    /// would be too long a path. Who owns it alone may enter it.
    ///
    /// # Errors
    /// When it can't be made, or somebody else made it.
    pub(crate) fn sockets(&self, name: &str, unprivileged: bool) -> Result<PathBuf, Failure> {
        let path = self.path(name);
        let path =
            if path.as_os_str().len() + 1 + LONGEST_SOCKET_NAME_BYTES <= MAX_SOCKET_PATH_BYTES {
                path
            } else {
                short_folder(&self.dir, name, self.account.is_root())
            };
        make(&path, 0o700).map_err(told(&path))?;
        if unprivileged {
            self.give(&path)?;
        }
        let expected = match self.account.unprivileged() {
            Some((uid, _)) if unprivileged => uid,
            _ => nix::unistd::geteuid(),
        };
        let found = path.symlink_metadata().map_err(told(&path))?;
        if found.is_dir() && found.uid() == expected.as_raw() {
            Ok(path)
        } else {
            Err(Failure::local(format!(
                "{} is somebody else's; remove it",
                path.display()
            )))
        }
    }

    /// Writes a file that only the caller may read, whole or not at all.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn write_private(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.path(name);
        write_private(&path, text).map_err(told(&path))?;
        Ok(path)
    }

    /// Removes a file, if it is there.
    pub(crate) fn remove(&self, name: &str) {
        let _ = fs::remove_file(self.path(name));
    }

    /// Opens a daemon's log at its end.
    ///
    /// # Errors
    /// When it can't be opened.
    pub(crate) fn log(&self, name: &str) -> Result<(File, PathBuf), Failure> {
        let path = self.path("logs").join(format!("{name}.log"));
        if fs::metadata(&path).is_ok_and(|found| found.len() > MAX_LOG_BYTES) {
            let _ = fs::rename(&path, path.with_extension("log.1"));
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(told(&path))?;
        Ok((file, path))
    }
}

/// Writes by way of a second file, so that a reader sees all of it or nothing.
///
/// # Errors
/// When it can't be written.
pub(crate) fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension("new");
    let _ = fs::remove_file(&beside);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&beside, path)
}

/// Turns an error into one that names the path.
pub(crate) fn told(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::local(format!("{}: {error}", path.display()))
}

fn make(path: &Path, mode: u32) -> std::io::Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Agents and the unprivileged account must be able to pass through to the folder.
fn searchable(dir: &Path) -> Result<(), Failure> {
    for above in dir.ancestors().skip(1) {
        let mode = fs::metadata(above).map_err(told(above))?.mode();
        if mode & 0o001 == 0 {
            return Err(Failure::usage(format!(
                "{} can't be searched by other users, and the stack's accounts must reach {}: choose another --state, or run `chmod o+x {}`",
                above.display(),
                dir.display(),
                above.display()
            )));
        }
    }
    Ok(())
}

fn lock(path: &Path, dir: &Path) -> Result<Flock<File>, Failure> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o644)
        .open(path)
        .map_err(told(path))?;
    let mut file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(file) => file,
        Err((mut file, nix::Error::EWOULDBLOCK)) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(Failure::local(format!(
                "a stack already runs here: {}",
                holder.trim()
            )));
        }
        Err((_, error)) => return Err(told(path)(error.into())),
    };
    let text = format!("pid {}, state {}\n", std::process::id(), dir.display());
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(text.as_bytes()))
        .map_err(told(path))?;
    Ok(file)
}

/// A short path that is the same for the same state.
fn short_folder(dir: &Path, name: &str, root: bool) -> PathBuf {
    // FNV-1a: it needs to tell folders apart, not to resist anyone.
    let hash = dir.as_os_str().as_encoded_bytes().iter();
    let hash = hash.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let name = name.replace('/', "-");
    if root {
        PathBuf::from(format!("/run/guilds-dev-{hash:016x}-{name}"))
    } else {
        let uid = nix::unistd::geteuid();
        PathBuf::from(format!("/tmp/guilds-dev-{uid}-{hash:016x}-{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_others_can_not_search_is_named() {
        let outer = tempfile::tempdir().unwrap();
        let closed = outer.path().join("closed");
        fs::create_dir_all(closed.join("state")).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(outer.path(), Permissions::from_mode(0o755)).unwrap();
        let failure = searchable(&closed.join("state")).unwrap_err();
        let start = format!("{} can't be searched by other users", closed.display());
        assert!(
            failure.message().starts_with(&start),
            "{}",
            failure.message()
        );
        fs::set_permissions(&closed, Permissions::from_mode(0o711)).unwrap();
        assert!(searchable(&closed.join("state")).is_ok());
    }

    #[test]
    fn a_second_lock_names_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = lock(&path, Path::new("/srv/one")).unwrap();
        let failure = lock(&path, Path::new("/srv/two")).unwrap_err();
        assert_eq!(
            failure.message(),
            format!(
                "a stack already runs here: pid {}, state /srv/one",
                std::process::id()
            )
        );
        drop(first);
        assert!(lock(&path, Path::new("/srv/two")).is_ok());
    }

    #[test]
    fn short_folders_differ_by_state_and_fit_a_socket() {
        let one = short_folder(Path::new("/a"), "runners", true);
        let two = short_folder(Path::new("/b"), "runners", true);
        assert_ne!(one, two);
        assert!(one.as_os_str().len() + 1 + LONGEST_SOCKET_NAME_BYTES <= MAX_SOCKET_PATH_BYTES);
    }

    #[test]
    fn a_private_file_is_its_owners() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dev.env");
        write_private(&path, "A=1\n").unwrap();
        write_private(&path, "A=2\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "A=2\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }
}
