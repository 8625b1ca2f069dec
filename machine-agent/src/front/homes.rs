//! An agent's home: made whole under another name, given by descriptor, and moved to its place; no link is followed.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, RenameFlags, open, openat, renameat2};
use nix::sys::stat::{Mode, fchmod, fstat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, unlinkat};

use crate::sys::Identity;

/// Why there is no home.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Something else is in its place: a sentence for whoever called.
    #[error("{0}")]
    Taken(String),
    /// The system refused.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl From<Errno> for HomeError {
    fn from(errno: Errno) -> Self {
        Self::System(errno.into())
    }
}

/// Makes `root/<agent>` with mode 0700 for `owner`, or finds it so.
///
/// # Errors
/// When something else or someone else's is there.
pub fn ensure(root: &Path, agent: &str, owner: Identity) -> Result<(), HomeError> {
    let folder = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let parent = open(root, folder, Mode::empty())?;
    let flags = folder | OFlag::O_NOFOLLOW;
    let taken = |what: &str| {
        HomeError::Taken(format!(
            "{} {what}, so it is no home for agent {agent}",
            root.join(agent).display()
        ))
    };
    match openat(&parent, agent, flags, Mode::empty()) {
        Ok(home) => check(&home, owner, &taken),
        Err(Errno::ENOENT) => {
            make(&parent, agent, owner)?;
            let home = openat(&parent, agent, flags, Mode::empty())?;
            check(&home, owner, &taken)
        }
        Err(Errno::ENOTDIR | Errno::ELOOP) => Err(taken("is not a folder")),
        Err(errno) => Err(errno.into()),
    }
}

fn make(parent: &OwnedFd, agent: &str, owner: Identity) -> Result<(), HomeError> {
    // A name that no agent has, since their ids begin with a letter. A crash
    // leaves it behind, and the next attempt removes it.
    let fresh = format!(".guilds-new-{agent}");
    match unlinkat(parent, fresh.as_str(), UnlinkatFlags::RemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    mkdirat(parent, fresh.as_str(), Mode::S_IRWXU)?;
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    let home = openat(parent, fresh.as_str(), flags, Mode::empty())?;
    fchmod(&home, Mode::S_IRWXU)?;
    fchown(
        &home,
        Some(Uid::from_raw(owner.uid)),
        Some(Gid::from_raw(owner.gid)),
    )?;
    let moved = renameat2(
        parent,
        fresh.as_str(),
        parent,
        agent,
        RenameFlags::RENAME_NOREPLACE,
    );
    match moved {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn check(
    home: &OwnedFd,
    owner: Identity,
    taken: &impl Fn(&str) -> HomeError,
) -> Result<(), HomeError> {
    let found = fstat(home)?;
    if found.st_uid != owner.uid {
        return Err(taken(&format!("belongs to user {}", found.st_uid)));
    }
    if found.st_mode & 0o7777 != 0o700 {
        tracing::warn!(
            uid = owner.uid,
            mode = format!("{:o}", found.st_mode & 0o7777),
            "a home's mode was not 0700 and is set back"
        );
        fchmod(home, Mode::S_IRWXU)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn own() -> Identity {
        Identity {
            uid: nix::unistd::geteuid().as_raw(),
            gid: nix::unistd::getegid().as_raw(),
        }
    }

    #[test]
    fn a_home_is_made_once_and_kept_private() {
        let root = tempfile::tempdir().unwrap();
        ensure(root.path(), "ada", own()).unwrap();
        let home = root.path().join("ada");
        let mode = || std::fs::metadata(&home).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(), 0o700);
        std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o755)).unwrap();
        ensure(root.path(), "ada", own()).unwrap();
        assert_eq!(mode(), 0o700);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_home_is_refused() {
        let root = tempfile::tempdir().unwrap();
        symlink("/tmp", root.path().join("ada")).unwrap();
        let error = ensure(root.path(), "ada", own()).unwrap_err().to_string();
        assert!(
            error.ends_with("/ada is not a folder, so it is no home for agent ada"),
            "{error}"
        );
        std::fs::create_dir(root.path().join("bob")).unwrap();
        let other = Identity {
            uid: 4_000_000,
            gid: 4_000_000,
        };
        let error = ensure(root.path(), "bob", other).unwrap_err().to_string();
        assert!(error.contains("/bob belongs to user "), "{error}");
    }
}
