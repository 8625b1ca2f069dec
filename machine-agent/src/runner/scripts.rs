//! Script files in the agent's home: written whole with a fresh inode, never through a link.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use machine_agent_api::Script;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use sha2::{Digest, Sha256};

/// Most bytes a script's source may have.
const MOST_SOURCE: usize = 256 << 10;

/// Why a script file was not written.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The request contradicts itself; a sentence for whoever called.
    #[error("{0}")]
    Invalid(String),
    /// The home is in the way; a sentence for whoever called.
    #[error("{0}")]
    Home(String),
    /// The system refused.
    #[error("writing a script file: {0}")]
    System(#[source] io::Error),
}

impl From<Errno> for ScriptError {
    fn from(errno: Errno) -> Self {
        io::Error::from(errno).into()
    }
}

impl From<io::Error> for ScriptError {
    /// What the agent did to its home, or can mend there, is told to whoever called.
    fn from(error: io::Error) -> Self {
        const AGENTS: [Errno; 9] = [
            Errno::EACCES,
            Errno::EDQUOT,
            Errno::EISDIR,
            Errno::ELOOP,
            Errno::ENOENT,
            Errno::ENOSPC,
            Errno::ENOTDIR,
            Errno::EPERM,
            Errno::EROFS,
        ];
        let number = error.raw_os_error().map(Errno::from_raw);
        match number.filter(|errno| AGENTS.contains(errno)) {
            Some(errno) => Self::Home(format!(
                "the script's file in ~/scripts can't be changed: {}",
                errno.desc()
            )),
            None => Self::System(error),
        }
    }
}

/// Lower-case hexadecimal SHA-256.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Checks what a request says of a script.
///
/// # Errors
/// Names what is wrong.
pub fn check(script: &Script) -> Result<(), ScriptError> {
    if !crate::names::is_script(&script.name) {
        return Err(ScriptError::Invalid(
            "the script's name doesn't match ^[a-z][a-z0-9_-]{0,62}$".to_owned(),
        ));
    }
    if script.source.len() > MOST_SOURCE {
        return Err(ScriptError::Invalid(format!(
            "the script's source has {} bytes, at most {MOST_SOURCE} are allowed",
            script.source.len()
        )));
    }
    if sha256(script.source.as_bytes()) != script.sha256 {
        return Err(ScriptError::Invalid(
            "the script's sha256 is not the hash of its source".to_owned(),
        ));
    }
    Ok(())
}

/// Writes `scripts/<name>.py` below `home` unless it holds these bytes already.
///
/// # Errors
/// [`ScriptError::Home`] when `scripts` is something else than a folder.
pub async fn write(home: PathBuf, script: Script) -> Result<(), ScriptError> {
    blocking(move || write_now(&home, &script)).await
}

/// Removes `scripts/<name>.py` below `home`; a missing one is removed already.
///
/// # Errors
/// As [`write`].
pub async fn delete(home: PathBuf, name: String) -> Result<(), ScriptError> {
    blocking(move || {
        let Some(folder) = open_folder(&home)? else {
            return Ok(());
        };
        match unlinkat(
            &folder,
            file_name(&name).as_str(),
            UnlinkatFlags::NoRemoveDir,
        ) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(Errno::EISDIR) => Err(ScriptError::Home(format!(
                "~/scripts/{name}.py is a folder; remove it first"
            ))),
            Err(errno) => Err(errno.into()),
        }
    })
    .await
}

async fn blocking(
    work: impl FnOnce() -> Result<(), ScriptError> + Send + 'static,
) -> Result<(), ScriptError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error).into()))
}

fn file_name(name: &str) -> String {
    format!("{name}.py")
}

/// The open folder `scripts`; none when there is none.
fn open_folder(home: &Path) -> Result<Option<OwnedFd>, ScriptError> {
    let directory = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let home = open(home, directory, Mode::empty())?;
    let flags = directory | OFlag::O_NOFOLLOW;
    match openat(&home, "scripts", flags, Mode::empty()) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::ENOENT) => Ok(None),
        Err(Errno::ENOTDIR | Errno::ELOOP) => Err(ScriptError::Home(
            "~/scripts is not a folder; move it away first".to_owned(),
        )),
        Err(errno) => Err(errno.into()),
    }
}

fn make_folder(home: &Path) -> Result<OwnedFd, ScriptError> {
    if let Some(folder) = open_folder(home)? {
        return Ok(folder);
    }
    let parent = open(
        home,
        OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    match mkdirat(&parent, "scripts", Mode::S_IRWXU) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    open_folder(home)?
        .ok_or_else(|| ScriptError::Home("~/scripts was removed while it was made".to_owned()))
}

/// A name of its own for each writing: two runs of the agent may write at once.
fn temporary_name(name: &str) -> String {
    static WRITINGS: AtomicU64 = AtomicU64::new(0);
    let writing = WRITINGS.fetch_add(1, Ordering::Relaxed);
    format!(".{name}.{}-{writing}", std::process::id())
}

fn write_now(home: &Path, script: &Script) -> Result<(), ScriptError> {
    let folder = make_folder(home)?;
    let name = file_name(&script.name);
    if holds(&folder, &name, script) {
        return Ok(());
    }
    let temporary = temporary_name(&name);
    let no_directory = UnlinkatFlags::NoRemoveDir;
    match unlinkat(&folder, temporary.as_str(), no_directory) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags =
        OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = openat(
        &folder,
        temporary.as_str(),
        flags,
        Mode::S_IRUSR | Mode::S_IWUSR,
    )?;
    let written = File::from(file)
        .write_all(script.source.as_bytes())
        .map_err(ScriptError::from)
        .and_then(
            |()| match renameat(&folder, temporary.as_str(), &folder, name.as_str()) {
                Ok(()) => Ok(()),
                Err(Errno::EISDIR) => Err(ScriptError::Home(format!(
                    "~/scripts/{name} is a folder; remove it first"
                ))),
                Err(errno) => Err(errno.into()),
            },
        );
    if written.is_err() {
        let _ = unlinkat(&folder, temporary.as_str(), no_directory);
    }
    written
}

/// Whether the file is a plain one with exactly the script's bytes.
fn holds(folder: &OwnedFd, name: &str, script: &Script) -> bool {
    // Not following and not blocking: it may be a link or a pipe of the agent's making.
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let Ok(stat) = nix::sys::stat::fstatat(folder.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW)
    else {
        return false;
    };
    if stat.st_size != i64::try_from(script.source.len()).unwrap_or(-1) {
        return false;
    }
    let Ok(file) = openat(folder, name, flags, Mode::empty()) else {
        return false;
    };
    let mut bytes = Vec::with_capacity(script.source.len());
    let limit = script.source.len() as u64 + 1;
    File::from(file).take(limit).read_to_end(&mut bytes).is_ok()
        && bytes == script.source.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn script(source: &str) -> Script {
        Script {
            name: "report".to_owned(),
            sha256: sha256(source.as_bytes()),
            source: source.to_owned(),
        }
    }

    #[test]
    fn the_hash_is_hexadecimal() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_file_is_written_once_and_replaced_by_a_fresh_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("scripts/report.py");
        write_now(home.path(), &script("print(1)\n")).unwrap();
        let first = std::fs::metadata(&path).unwrap();
        assert_eq!(first.permissions().mode() & 0o777, 0o600);
        let folder = std::fs::metadata(home.path().join("scripts")).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
        write_now(home.path(), &script("print(1)\n")).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), first.ino());
        write_now(home.path(), &script("print(2)\n")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "print(2)\n");
        assert_eq!(
            std::fs::read_dir(home.path().join("scripts"))
                .unwrap()
                .count(),
            1
        );
    }

    #[test]
    fn links_are_replaced_and_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let victim = home.path().join("victim");
        std::fs::write(&victim, "print(1)\n").unwrap();
        std::fs::create_dir(home.path().join("scripts")).unwrap();
        symlink(&victim, home.path().join("scripts/report.py")).unwrap();
        write_now(home.path(), &script("print(1)\n")).unwrap();
        let written = std::fs::symlink_metadata(home.path().join("scripts/report.py")).unwrap();
        assert!(written.is_file());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "print(1)\n");
    }

    #[test]
    fn a_linked_folder_is_refused() {
        let home = tempfile::tempdir().unwrap();
        symlink("/tmp", home.path().join("scripts")).unwrap();
        let error = write_now(home.path(), &script("x")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "~/scripts is not a folder; move it away first"
        );
    }

    #[test]
    fn what_the_agent_can_mend_is_told_to_whoever_called() {
        let home = tempfile::tempdir().unwrap();
        let gone = home.path().join("gone");
        let error = write_now(&gone, &script("x")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the script's file in ~/scripts can't be changed: No such file or directory"
        );
        let full = ScriptError::from(io::Error::from(Errno::ENOSPC));
        assert_eq!(
            full.to_string(),
            "the script's file in ~/scripts can't be changed: No space left on device"
        );
        assert!(matches!(
            ScriptError::from(io::Error::from(Errno::EIO)),
            ScriptError::System(_)
        ));
    }

    #[test]
    fn a_wrong_hash_is_refused() {
        let mut wrong = script("x");
        wrong.source.push('y');
        assert_eq!(
            check(&wrong).unwrap_err().to_string(),
            "the script's sha256 is not the hash of its source"
        );
        assert!(check(&script("x")).is_ok());
    }
}
