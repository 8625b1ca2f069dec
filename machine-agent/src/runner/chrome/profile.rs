//! Chrome's profile in the agent's home, and its locks, which are judged by process and never by age.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::ChromeError;

/// Where the profile lies below the home.
const PROFILE: &str = ".config/guilds-chrome";
/// Where downloads go below the home.
const DOWNLOADS: &str = "downloads";

/// Makes the profile's folder and removes locks whose owner no longer lives.
pub fn prepare(home: &Path) -> Result<PathBuf, ChromeError> {
    let profile = home.join(PROFILE);
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&profile);
    made.map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => ChromeError::Refused(
            format!("~/{PROFILE} is not a folder, so Chrome has no profile; move it away first"),
        ),
        // The home is the agent's to mend.
        io::ErrorKind::PermissionDenied | io::ErrorKind::StorageFull => {
            ChromeError::Refused(format!("~/{PROFILE} can't be made: {}", error.kind()))
        }
        _ => ChromeError::Failed {
            message: "Chrome's profile could not be made".to_owned(),
            detail: error.to_string(),
        },
    })?;
    if let Some(pid) = owner(&profile) {
        return Err(ChromeError::Refused(format!(
            "the agent's own process {pid} runs a browser on Chrome's profile ~/{PROFILE}; end it first"
        )));
    }
    for name in ["SingletonLock", "SingletonSocket", "SingletonCookie"] {
        let _ = fs::remove_file(profile.join(name));
    }
    // Without it Chrome works as well; only a download that begins between two calls lies elsewhere.
    let _ = keep_downloads(&profile, &home.join(DOWNLOADS));
    Ok(profile)
}

/// Makes Chrome put what it downloads where the browser tools look, also when no call is listening.
fn keep_downloads(profile: &Path, folder: &Path) -> io::Result<()> {
    let default = profile.join("Default");
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&default)?;
    let place = default.join("Preferences");
    let mut preferences: Value = match fs::read(&place) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => json!({}),
        Err(error) => return Err(error),
    };
    let wanted = json!(folder);
    if preferences.pointer("/download/default_directory") == Some(&wanted) {
        return Ok(());
    }
    let Some(all) = preferences.as_object_mut() else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let download = all.entry("download").or_insert_with(|| json!({}));
    *download = match download.take() {
        Value::Object(mut kept) => {
            kept.insert("default_directory".to_owned(), wanted);
            Value::Object(kept)
        }
        _ => json!({ "default_directory": wanted }),
    };
    // Chrome reads the file whole or starts with none of the settings.
    let fresh = default.join(".guilds-preferences");
    fs::write(&fresh, serde_json::to_vec(&preferences)?)?;
    fs::rename(fresh, place)
}

/// The living process that holds the profile's lock. The lock is a link to
/// `<host>-<pid>`; a number given to another program since is no owner.
fn owner(profile: &Path) -> Option<i32> {
    let lock = fs::read_link(profile.join("SingletonLock")).ok()?;
    let pid: i32 = lock.to_str()?.rsplit_once('-')?.1.parse().ok()?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let flag = format!("--user-data-dir={}", profile.display());
    command
        .split(|byte| *byte == 0)
        .any(|argument| argument == flag.as_bytes())
        .then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_lock_of_a_process_that_is_no_chrome_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let profile = home.path().join(PROFILE);
        fs::create_dir_all(&profile).unwrap();
        // This process lives, and runs no browser.
        symlink(
            format!("host-{}", std::process::id()),
            profile.join("SingletonLock"),
        )
        .unwrap();
        assert_eq!(prepare(home.path()).unwrap(), profile);
        assert!(fs::symlink_metadata(profile.join("SingletonLock")).is_err());
    }

    #[test]
    fn downloads_have_their_folder_and_other_preferences_stay() {
        let home = tempfile::tempdir().unwrap();
        let profile = prepare(home.path()).unwrap();
        let place = profile.join("Default/Preferences");
        let read = || -> Value { serde_json::from_slice(&fs::read(&place).unwrap()).unwrap() };
        let folder = json!(home.path().join("downloads"));
        assert_eq!(read(), json!({"download": {"default_directory": folder}}));
        let own = r#"{"a":[1],"download":{"default_directory":"/tmp","kept":true}}"#;
        fs::write(&place, own).unwrap();
        prepare(home.path()).unwrap();
        let expected = json!({"a":[1],"download":{"default_directory":folder,"kept":true}});
        assert_eq!(read(), expected);
        // What Chrome could not read either is not replaced.
        fs::write(&place, "{").unwrap();
        prepare(home.path()).unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"{");
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".config"), "x").unwrap();
        let Err(ChromeError::Refused(sentence)) = prepare(home.path()) else {
            panic!("not refused");
        };
        assert_eq!(
            sentence,
            "~/.config/guilds-chrome is not a folder, so Chrome has no profile; move it away first"
        );
    }
}
