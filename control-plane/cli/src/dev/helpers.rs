//! Puts the helpers where the machine agent starts them: root's own, beyond the reach of agents.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::say;
use super::state::told;
use crate::error::Failure;
use crate::spawn;

/// Where the contract says helpers are.
const TARGET: &str = "/usr/local/bin";
const HELPERS: [&str; 3] = ["guilds-browser", "guilds-code", "guilds-script-run"];

/// Copies the helpers from the folder of `programs`, unless a package owns them.
///
/// # Errors
/// When one can't be copied.
pub(crate) async fn install(programs: &Path) -> Result<(), Failure> {
    fs::create_dir_all(TARGET).map_err(told(Path::new(TARGET)))?;
    for name in HELPERS {
        let (from, to) = (programs.join(name), Path::new(TARGET).join(name));
        if is_copy(&from, &to) {
            continue;
        }
        if to.exists() && spawn::is_owned_by_a_package(&to).await {
            say(&format!(
                "{} belongs to an installed package and is used as it is",
                to.display()
            ));
            continue;
        }
        copy(&from, &to).map_err(told(&to))?;
    }
    Ok(())
}

/// Same size and time, as [`copy`] leaves them.
fn is_copy(from: &Path, to: &Path) -> bool {
    let (Ok(from), Ok(to)) = (fs::metadata(from), fs::symlink_metadata(to)) else {
        return false;
    };
    to.is_file()
        && to.uid() == 0
        && to.mode() & 0o7777 == 0o755
        && from.len() == to.len()
        && (from.mtime(), from.mtime_nsec()) == (to.mtime(), to.mtime_nsec())
}

/// Copied beside and renamed: a helper that runs keeps its own file, and nobody starts half a one.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let beside = to.with_extension("new");
    let _ = fs::remove_file(&beside);
    fs::copy(from, &beside)?;
    let file = fs::File::options().write(true).open(&beside)?;
    file.set_modified(fs::metadata(from)?.modified()?)?;
    fs::set_permissions(&beside, Permissions::from_mode(0o755))?;
    fs::rename(&beside, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_recognised_until_either_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("built"), dir.path().join("guilds-code"));
        fs::write(&from, "one").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "one");
        assert_eq!(fs::metadata(&to).unwrap().mode() & 0o7777, 0o755);
        let owned_by_root = fs::metadata(&to).unwrap().uid() == 0;
        assert_eq!(is_copy(&from, &to), owned_by_root);
        fs::write(&from, "two!").unwrap();
        assert!(!is_copy(&from, &to));
    }
}
