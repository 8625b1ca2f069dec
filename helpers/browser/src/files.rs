//! Files in the agent's home, replaced whole or not at all.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::problem::Problem;

/// Replaces `home/folder/name` by `bytes`: a temporary file beside it, then a rename.
pub fn replace(home: &Path, folder: &str, name: &str, bytes: &[u8]) -> Result<(), Problem> {
    let write = || -> std::io::Result<()> {
        let folder = home.join(folder);
        fs::create_dir_all(&folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(".guilds-")
            .tempfile_in(&folder)?;
        file.write_all(bytes)?;
        file.persist(folder.join(name))
            .map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| {
        Problem::refused(format!(
            "{folder}/{name} can't be written in the home: {error}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let home = tempfile::tempdir().unwrap();
        replace(home.path(), "a", "b.txt", b"one").unwrap();
        replace(home.path(), "a", "b.txt", b"two").unwrap();
        assert_eq!(fs::read(home.path().join("a/b.txt")).unwrap(), b"two");
        assert_eq!(fs::read_dir(home.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_can_not_be_made_is_named() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("a"), b"a file").unwrap();
        let refusal = replace(home.path(), "a", "b.txt", b"one")
            .unwrap_err()
            .to_string();
        assert!(
            refusal.starts_with("a/b.txt can't be written in the home: "),
            "{refusal}"
        );
    }
}
