//! The script's file: opened once beneath the home, and held to its hash.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use helper_protocol::Request;

use crate::arguments::Place;

/// Largest source the specification allows.
const MAX_SOURCE_BYTES: u64 = 256 * 1024;

/// Why a script isn't run, written for whoever called.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is no such file.
    Missing(String),
    /// It is a link, a directory, a pipe or the like.
    NotRegular(String),
    /// Larger than a script may be.
    TooLarge(String),
    /// Its bytes are not those asked for.
    Changed(String),
    /// It could not be read.
    Unreadable(String, io::Error),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "there is no file ~/scripts/{name}.py"),
            Self::NotRegular(name) => {
                write!(
                    f,
                    "~/scripts/{name}.py is not a regular file in a regular directory"
                )
            }
            Self::TooLarge(name) => {
                write!(
                    f,
                    "~/scripts/{name}.py is larger than {MAX_SOURCE_BYTES} bytes"
                )
            }
            Self::Changed(name) => write!(
                f,
                "~/scripts/{name}.py is not the script this run started with: its bytes were changed"
            ),
            Self::Unreadable(name, error) => {
                write!(f, "~/scripts/{name}.py could not be read: {error}")
            }
        }
    }
}

/// The bytes to run: those that came with the request, else the file's; held to the hash.
///
/// # Errors
/// As [`read`].
pub(crate) fn source(place: &Place, request: &Request) -> Result<Vec<u8>, Refusal> {
    let sha256 = request.sha256.as_deref();
    match &request.source {
        None => read(place, sha256),
        Some(source) if source.len() as u64 > MAX_SOURCE_BYTES => {
            Err(Refusal::TooLarge(place.name.clone()))
        }
        Some(source) => held_to(place, source.clone().into_bytes(), sha256),
    }
}

fn held_to(place: &Place, source: Vec<u8>, sha256: Option<&str>) -> Result<Vec<u8>, Refusal> {
    match sha256 {
        Some(expected) if !hexadecimal(&source).eq_ignore_ascii_case(expected) => {
            Err(Refusal::Changed(place.name.clone()))
        }
        _ => Ok(source),
    }
}

/// The bytes of `~/scripts/<name>.py`. With `sha256`, only the bytes of that hash.
///
/// No link is followed below the home, and the file is read once: what is
/// returned is what was checked.
///
/// # Errors
/// A [`Refusal`] naming the file.
pub(crate) fn read(place: &Place, sha256: Option<&str>) -> Result<Vec<u8>, Refusal> {
    let name = place.name.clone();
    let file = match open(place) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Err(Refusal::Missing(name)),
        // What O_NOFOLLOW and O_DIRECTORY say about a link or a file in the way.
        Err(Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => return Err(Refusal::NotRegular(name)),
        Err(error) => return Err(Refusal::Unreadable(name, error.into())),
    };
    match fstat(&file) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {}
        Ok(_) => return Err(Refusal::NotRegular(name)),
        Err(error) => return Err(Refusal::Unreadable(name, error.into())),
    }
    let mut source = Vec::new();
    if let Err(error) = file.take(MAX_SOURCE_BYTES + 1).read_to_end(&mut source) {
        return Err(Refusal::Unreadable(name, error));
    }
    if source.len() as u64 > MAX_SOURCE_BYTES {
        return Err(Refusal::TooLarge(name));
    }
    held_to(place, source, sha256)
}

fn open(place: &Place) -> Result<OwnedFd, Errno> {
    let directory = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let home = openat(CWD, &place.home, directory, Mode::empty())?;
    let scripts = openat(
        &home,
        "scripts",
        directory | OFlags::NOFOLLOW,
        Mode::empty(),
    )?;
    openat(
        &scripts,
        format!("{}.py", place.name),
        // Non-blocking, so that a named pipe under that name can't hold the call.
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK,
        Mode::empty(),
    )
}

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn place(home: &tempfile::TempDir) -> Place {
        fs::create_dir_all(home.path().join("scripts")).unwrap();
        Place {
            name: "daily".to_owned(),
            home: home.path().to_owned(),
        }
    }

    #[test]
    fn only_the_bytes_of_the_hash_are_read() {
        let home = tempfile::tempdir().unwrap();
        let place = place(&home);
        fs::write(home.path().join("scripts/daily.py"), "abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(read(&place, Some(abc)).unwrap(), b"abc");
        assert_eq!(read(&place, None).unwrap(), b"abc");
        fs::write(home.path().join("scripts/daily.py"), "abd").unwrap();
        assert_eq!(
            read(&place, Some(abc)).unwrap_err().to_string(),
            "~/scripts/daily.py is not the script this run started with: its bytes were changed"
        );
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let place = place(&home);
        let path = home.path().join("scripts/daily.py");
        assert!(matches!(read(&place, None), Err(Refusal::Missing(_))));
        symlink("/etc/passwd", &path).unwrap();
        assert!(matches!(read(&place, None), Err(Refusal::NotRegular(_))));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(read(&place, None), Err(Refusal::NotRegular(_))));
        fs::remove_dir(&path).unwrap();
        fs::remove_dir(home.path().join("scripts")).unwrap();
        symlink("/etc", home.path().join("scripts")).unwrap();
        assert!(matches!(read(&place, None), Err(Refusal::NotRegular(_))));
    }

    #[test]
    fn a_source_has_at_most_256_kib() {
        let home = tempfile::tempdir().unwrap();
        let place = place(&home);
        let path = home.path().join("scripts/daily.py");
        fs::write(&path, vec![b'#'; 262_144]).unwrap();
        assert_eq!(read(&place, None).unwrap().len(), 262_144);
        fs::write(&path, vec![b'#'; 262_145]).unwrap();
        assert!(matches!(read(&place, None), Err(Refusal::TooLarge(_))));
    }
}
