//! What a person is asked: yes or no, and values that must not be seen.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::error::Failure;
use crate::output;

/// A value longer than this is no secret (the control plane takes 64 KiB).
const MAX_VALUE_BYTES: u64 = 1024 * 1024;

/// Whether somebody can be asked.
///
/// # Errors
/// A usage failure where nobody can.
pub(crate) fn require_terminal() -> Result<(), Failure> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    Err(Failure::usage(
        "nobody can be asked here, since this is no terminal; --yes does it without asking",
    ))
}

/// Asks for a yes on the terminal.
///
/// # Errors
/// A usage failure where nobody can be asked.
pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    require_terminal()?;
    let stdin = std::io::stdin();
    ask(&format!("{question} [y/N] "));
    let mut answer = String::new();
    stdin
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::local(format!("the answer can't be read: {error}")))?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

/// A secret value: from `file`, `-` being stdin; without one from stdin, where
/// a person on a terminal types it unseen. One line's end at its end is cut.
///
/// # Errors
/// When it can't be read, is no text, is empty or larger than 1 MiB.
pub(crate) fn value(file: Option<&Path>, what: &str) -> Result<String, Failure> {
    let bytes = match file {
        Some(path) if path != Path::new("-") => {
            let told = |error| Failure::usage(format!("{}: {error}", path.display()));
            read(std::fs::File::open(path).map_err(told)?)?
        }
        _ if std::io::stdin().is_terminal() => unseen(what)?.into_bytes(),
        _ => read(std::io::stdin().lock())?,
    };
    let mut text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{what} is no UTF-8 text, as a value has to be")))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    if text.is_empty() {
        return Err(Failure::usage(format!("{what} is empty")));
    }
    Ok(text)
}

fn read(from: impl Read) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    from.take(MAX_VALUE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::local(format!("the value can't be read: {error}")))?;
    if bytes.len() as u64 > MAX_VALUE_BYTES {
        return Err(Failure::usage("the value is larger than 1 MiB"));
    }
    Ok(bytes)
}

/// Reads a line from the terminal without showing it. The keys that would end
/// this program are read too, or they would leave the terminal mute.
fn unseen(what: &str) -> Result<String, Failure> {
    let told = |error| Failure::local(format!("the terminal can't be told to be quiet: {error}"));
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin).map_err(told)?;
    let mut quiet = before.clone();
    quiet
        .local_modes
        .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    tcsetattr(&stdin, OptionalActions::Flush, &quiet).map_err(told)?;
    let restored = Restored(before);
    ask(&format!("{what} (not shown): "));
    let typed = typed(stdin.lock());
    drop(restored);
    output::note("");
    typed
}

/// What was typed until the line's end.
fn typed(from: impl Read) -> Result<String, Failure> {
    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    const BACKSPACE: [u8; 2] = [8, 127];
    const CLEAR: u8 = 21;
    let mut line = Vec::new();
    for byte in BufReader::new(from).bytes() {
        match byte {
            Err(error) => {
                return Err(Failure::local(format!("the value can't be read: {error}")));
            }
            Ok(b'\n' | b'\r' | END) => break,
            Ok(INTERRUPT) => return Err(Failure::local("interrupted; nothing was done")),
            Ok(CLEAR) => line.clear(),
            Ok(byte) if BACKSPACE.contains(&byte) => {
                // A character may have several bytes, of which the first is no continuation.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            Ok(byte) => line.push(byte),
        }
    }
    String::from_utf8(line).map_err(|_| Failure::usage("what was typed is no UTF-8 text"))
}

/// The terminal as it was, again when this is dropped.
struct Restored(Termios);

impl Drop for Restored {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

fn ask(question: &str) {
    let mut err = std::io::stderr();
    let _ = write!(err, "{question}").and_then(|()| err.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_typed_and_corrected() {
        assert_eq!(typed(&b"abc\nrest"[..]).unwrap(), "abc");
        assert_eq!(typed("aé\u{7f}b\r".as_bytes()).unwrap(), "ab");
        assert_eq!(typed(&b"wrong\x15right\n"[..]).unwrap(), "right");
        assert_eq!(
            typed(&b"ab\x03"[..]).unwrap_err().message(),
            "interrupted; nothing was done"
        );
    }
}
