//! The folder of the home that downloads go to, and what came there between two calls.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::watch::shortened;

/// Name of the folder.
pub const FOLDER: &str = "downloads";
/// Files beyond this many are not looked at.
const MOST_FILES: usize = 10_000;
/// Files beyond this many are counted, not named.
const MOST_TOLD: usize = 10;

/// When a file got its name and contents, in nanoseconds since 1970.
fn came(file: &fs::Metadata) -> i64 {
    file.ctime()
        .saturating_mul(1_000_000_000)
        .saturating_add(file.ctime_nsec())
}

/// Tells the files that came after `since`, and moves it to the newest; without a
/// `since` nothing is news.
pub(crate) fn news(home: &Path, since: &mut Option<i64>) -> Vec<String> {
    let mut files: Vec<(i64, String, u64)> = fs::read_dir(home.join(FOLDER))
        .into_iter()
        .flatten()
        .take(MOST_FILES)
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let file = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            // What Chrome is still writing has another name.
            let whole = !name.starts_with('.') && !name.ends_with(".crdownload");
            whole.then(|| (came(&file), name, file.len()))
        })
        .collect();
    files.sort_unstable();
    let before = since.replace(
        files
            .last()
            .map_or(0, |(at, ..)| *at)
            .max(since.unwrap_or(0)),
    );
    let Some(before) = before else {
        return Vec::new();
    };
    files.retain(|(at, ..)| *at > before);
    let more = files.len().saturating_sub(MOST_TOLD);
    let mut lines: Vec<String> = files
        .iter()
        .take(MOST_TOLD)
        .map(|(_, name, bytes)| {
            let name = shortened(name, 200);
            format!("download: {FOLDER}/{name}, {bytes} bytes, came since the last call")
        })
        .collect();
    if more > 0 {
        lines.push(format!(
            "download: {more} more files came since the last call"
        ));
    }
    lines
}

/// Moves `since` past a file that was told.
pub(crate) fn told(home: &Path, name: &str, since: &mut Option<i64>) {
    if let Ok(file) = fs::symlink_metadata(home.join(FOLDER).join(name)) {
        *since = Some(since.unwrap_or(0).max(came(&file)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_between_two_calls_is_told_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(FOLDER);
        let mut since = None;
        assert!(news(home.path(), &mut since).is_empty());
        assert_eq!(since, Some(0));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("a.txt"), b"hello").unwrap();
        fs::write(folder.join("b.zip.crdownload"), b"part").unwrap();
        fs::write(folder.join(".com.google.Chrome.x"), b"part").unwrap();
        let line = "download: downloads/a.txt, 5 bytes, came since the last call";
        assert_eq!(news(home.path(), &mut since), [line]);
        assert!(news(home.path(), &mut since).is_empty());
    }

    #[test]
    fn what_was_there_before_the_first_call_and_what_was_told_is_no_news() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(FOLDER);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("old"), b"").unwrap();
        let mut since = None;
        assert!(news(home.path(), &mut since).is_empty());
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(folder.join("new"), b"").unwrap();
        told(home.path(), "new", &mut since);
        assert!(news(home.path(), &mut since).is_empty());
    }

    #[test]
    fn a_flood_is_counted() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(FOLDER);
        fs::create_dir(&folder).unwrap();
        for number in 0..13 {
            fs::write(folder.join(number.to_string()), b"").unwrap();
        }
        let lines = news(home.path(), &mut Some(0));
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[10], "download: 3 more files came since the last call");
    }
}
