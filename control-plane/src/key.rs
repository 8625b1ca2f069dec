//! Keys and tokens: random bytes in hexadecimal, in files that only their owner reads.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use ring::rand::{SecureRandom as _, SystemRandom};

/// 256 random bits as 64 lower-case hexadecimal characters.
///
/// # Errors
/// When the system has no randomness.
pub fn random_hex() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| std::io::Error::other("no random bytes"))?;
    Ok(hex(&bytes))
}

/// Lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The 32 bytes of a text of 64 hexadecimal characters.
#[must_use]
pub fn parse(text: &str) -> Option<[u8; 32]> {
    let text = text.trim();
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = [0; 32];
    for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(key)
}

/// Writes a file that only its owner reads and that did not exist.
///
/// # Errors
/// When it exists or can't be written.
pub fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// SHA-256 of a bearer token: all that is stored of it.
#[must_use]
pub fn token_digest(token: &str) -> Vec<u8> {
    ring::digest::digest(&ring::digest::SHA256, token.as_bytes())
        .as_ref()
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_64_hexadecimal_characters() {
        assert_eq!(parse(&format!("{}\n", "0f".repeat(32))), Some([15; 32]));
        assert_eq!(parse("0f"), None);
        assert_eq!(parse(&"zz".repeat(32)), None);
        assert_eq!(parse(&random_hex().unwrap()).map(|_| ()), Some(()));
    }
}
