//! The file below the home that keeps long output for the agent to read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of one output that are kept.
const KEPT_BYTES: u64 = 64 * 1024 * 1024;
/// Files kept; the oldest go first.
const KEPT_FILES: usize = 16;
/// Folder of these files, relative to the home.
const FOLDER: &str = ".guilds/shell";

/// Opened with the first byte.
pub(crate) struct Spool {
    home: PathBuf,
    state: State,
    written: u64,
}

enum State {
    Closed,
    Open { file: File, name: String },
    Failed { problem: String },
}

impl Spool {
    /// A file that doesn't exist until something is written.
    pub(crate) fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            state: State::Closed,
            written: 0,
        }
    }

    /// Keeps `bytes` as far as there is room. A full disk ends the keeping and
    /// never the command.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if matches!(self.state, State::Closed) {
            self.state = match open(&self.home.join(FOLDER)) {
                Ok((file, name)) => State::Open { file, name },
                Err(error) => State::Failed {
                    problem: error.to_string(),
                },
            };
        }
        let room = usize::try_from(KEPT_BYTES - self.written).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        if let State::Open { file, .. } = &mut self.state {
            match file.write_all(part) {
                Ok(()) => self.written += part.len() as u64,
                Err(error) => {
                    self.state = State::Failed {
                        problem: error.to_string(),
                    }
                }
            }
        }
    }

    /// Where the output is, for the marker.
    pub(crate) fn describe(&self, total: u64) -> String {
        match &self.state {
            State::Open { name, .. } if self.written == total => {
                format!("the whole output is in ~/{FOLDER}/{name}")
            }
            State::Open { name, .. } => {
                format!("its first {} bytes are in ~/{FOLDER}/{name}", self.written)
            }
            State::Failed { problem } => format!("it could not be kept in a file: {problem}"),
            State::Closed => "none of it is kept in a file".to_owned(),
        }
    }
}

fn open(folder: &Path) -> io::Result<(File, String)> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    make_room(folder);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_micros());
    // The time first, so that names sort by age.
    let name = format!("{now:020}-{}.txt", std::process::id());
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(folder.join(&name))?;
    Ok((file, name))
}

/// Removes the oldest files until one more fits. One that can't be removed stays.
fn make_room(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().ends_with(".txt"))
        .collect();
    names.sort();
    let over = (names.len() + 1).saturating_sub(KEPT_FILES);
    for name in &names[..over] {
        let _ = fs::remove_file(folder.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_files_are_kept_and_the_oldest_go() {
        let home = tempfile::tempdir().unwrap();
        let mut names = Vec::new();
        for number in 0..20 {
            let mut spool = Spool::new(home.path());
            spool.write(format!("output {number}").as_bytes());
            let State::Open { name, .. } = &spool.state else {
                panic!("not open");
            };
            names.push(name.clone());
        }
        let mut left: Vec<_> = fs::read_dir(home.path().join(FOLDER))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, names[4..]);
    }

    #[test]
    fn a_folder_that_can_not_be_made_is_told() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".guilds"), "in the way").unwrap();
        let mut spool = Spool::new(home.path());
        spool.write(b"x");
        let told = spool.describe(1);
        assert!(
            told.starts_with("it could not be kept in a file: "),
            "{told}"
        );
    }
}
