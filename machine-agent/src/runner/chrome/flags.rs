//! Chrome's command line: lean, headless, its sandbox left on.

use std::path::Path;

/// Features that cost memory and show nothing to an agent. Chrome obeys only
/// the last `--disable-features`, so there is exactly one.
const DISABLED_FEATURES: [&str; 4] = [
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "OmniboxPopup",
    "Translate",
];

/// Shared memory below which Chrome's own use of it makes tabs crash, in bytes.
const ENOUGH_SHARED_MEMORY: u64 = 512 << 20;

/// Arguments for a Chrome on `port` with the profile at `profile`.
pub fn arguments(port: u16, profile: &Path, small_shared_memory: bool) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--headless",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-breakpad",
        "--disable-component-update",
        "--disable-extensions",
        "--disable-gpu",
        "--disable-quic",
        "--disable-sync",
        "--hide-crash-restore-bubble",
        "--mute-audio",
        "--no-pings",
        "--password-store=basic",
        "--renderer-process-limit=4",
        "--window-size=1280,800",
        "--remote-debugging-address=127.0.0.1",
    ]
    .map(str::to_owned)
    .to_vec();
    if small_shared_memory {
        arguments.push("--disable-dev-shm-usage".to_owned());
    }
    arguments.push(format!(
        "--disable-features={}",
        DISABLED_FEATURES.join(",")
    ));
    arguments.push(format!("--remote-debugging-port={port}"));
    arguments.push(format!("--user-data-dir={}", profile.display()));
    arguments.push("about:blank".to_owned());
    arguments
}

/// Whether `/dev/shm` is too small for Chrome, as it is in many containers.
pub fn small_shared_memory() -> bool {
    nix::sys::statvfs::statvfs("/dev/shm").map_or(true, |fs| {
        fs.blocks() * fs.fragment_size() < ENOUGH_SHARED_MEMORY
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_merged_and_the_sandbox_is_on() {
        let arguments = arguments(9301, Path::new("/home/ada/.config/guilds-chrome"), false);
        let with = |start: &str| {
            arguments
                .iter()
                .filter(|flag| flag.starts_with(start))
                .count()
        };
        assert_eq!(with("--disable-features"), 1);
        assert_eq!(with("--enable-features"), 0);
        assert_eq!(with("--no-sandbox"), 0);
        assert_eq!(with("--disable-setuid-sandbox"), 0);
        assert!(arguments.contains(&"--remote-debugging-port=9301".to_owned()));
        assert!(arguments.contains(&"--user-data-dir=/home/ada/.config/guilds-chrome".to_owned()));
    }
}
