//! One helper from its start to its end: request in, reply out under a cap, and never a wait for the end of a pipe.

use std::io;
use std::os::fd::OwnedFd;

use nix::fcntl::OFlag;
use nix::unistd::pipe2;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, sleep_until};

use super::calls::Cancel;
use crate::process::{Child, Exit};

/// Most bytes of a helper's stderr that are kept: its end.
const STDERR_TAIL: usize = 8 << 10;
/// Most bytes read after the exit: what one full pipe can hold, with room.
const MOST_DRAIN: usize = 1 << 20;

/// Pipes to one helper.
#[derive(Debug)]
pub struct Pipes {
    stdin: Option<Sender>,
    stdout: Stream,
    stderr: Stream,
}

/// The helper's ends, closed here once it is started.
#[derive(Debug)]
pub struct HelperEnds {
    /// Its descriptor 0.
    pub stdin: OwnedFd,
    /// Its descriptor 1.
    pub stdout: OwnedFd,
    /// Its descriptor 2.
    pub stderr: OwnedFd,
}

/// Why the helper's time ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Exited(Exit),
    /// At the runner's limit, two seconds after its own.
    Limit,
    /// The call was cancelled.
    Cancelled,
}

impl Pipes {
    /// Three pipes; at most `most` bytes of stdout are kept.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    pub fn new(most: usize) -> io::Result<(Self, HelperEnds)> {
        let (stdin, stdin_ours) = pipe2(OFlag::O_CLOEXEC)?;
        let (stdout_ours, stdout) = pipe2(OFlag::O_CLOEXEC)?;
        let (stderr_ours, stderr) = pipe2(OFlag::O_CLOEXEC)?;
        let pipes = Self {
            stdin: Some(Sender::from_owned_fd(stdin_ours)?),
            stdout: Stream::new(stdout_ours, Keep::First(most))?,
            stderr: Stream::new(stderr_ours, Keep::Last(STDERR_TAIL))?,
        };
        let ends = HelperEnds {
            stdin,
            stdout,
            stderr,
        };
        Ok((pipes, ends))
    }

    /// Feeds and reads until the helper ends, its time is over or the call is cancelled.
    ///
    /// # Errors
    /// When the system refuses to tell the helper's end.
    pub async fn attend(
        &mut self,
        child: &Child,
        request: &[u8],
        deadline: Instant,
        cancel: &mut Cancel,
    ) -> io::Result<Ended> {
        let mut rest = request;
        loop {
            tokio::select! {
                biased;
                () = cancelled(cancel) => return Ok(Ended::Cancelled),
                exit = child.exited() => return Ok(Ended::Exited(exit?)),
                () = sleep_until(deadline) => return Ok(Ended::Limit),
                () = self.stdout.read(), if self.stdout.open => {}
                () = self.stderr.read(), if self.stderr.open => {}
                wrote = write_some(&mut self.stdin, rest), if self.stdin.is_some() => {
                    rest = rest.get(wrote..).unwrap_or_default();
                    if wrote == 0 || rest.is_empty() {
                        self.stdin = None;
                    }
                }
            }
        }
    }

    /// Takes what the pipes hold now; a child that still has them open is not waited for.
    pub fn drain(&mut self) {
        self.stdout.drain();
        self.stderr.drain();
    }

    /// What was printed: the reply, or none when it was longer than the cap.
    #[must_use]
    pub fn reply(&self) -> Option<&[u8]> {
        (self.stdout.dropped == 0).then_some(self.stdout.kept.as_slice())
    }

    /// The end of what was logged.
    #[must_use]
    pub fn log_tail(&self) -> String {
        String::from_utf8_lossy(&self.stderr.kept).into_owned()
    }
}

/// Ready once the call is cancelled; never when it can't be any more.
pub async fn cancelled(cancel: &mut Cancel) {
    if cancel.wait_for(|cancelled| *cancelled).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Writes once; 0 when the helper doesn't read any more.
async fn write_some(stdin: &mut Option<Sender>, bytes: &[u8]) -> usize {
    let Some(pipe) = stdin else {
        return 0;
    };
    loop {
        if pipe.writable().await.is_err() {
            return 0;
        }
        match pipe.try_write(bytes) {
            Ok(wrote) => return wrote,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return 0,
        }
    }
}

/// Which part of a stream is kept.
#[derive(Debug, Clone, Copy)]
pub enum Keep {
    /// The first bytes.
    First(usize),
    /// The last bytes.
    Last(usize),
}

/// The reading end of a pipe, with a bounded part of what came through it.
#[derive(Debug)]
pub struct Stream {
    pipe: Receiver,
    keep: Keep,
    kept: Vec<u8>,
    dropped: u64,
    open: bool,
}

impl Stream {
    /// Reads from `pipe`, keeping a part.
    ///
    /// # Errors
    /// When it isn't a pipe.
    pub fn new(pipe: OwnedFd, keep: Keep) -> io::Result<Self> {
        Ok(Self {
            pipe: Receiver::from_owned_fd(pipe)?,
            keep,
            kept: Vec::new(),
            dropped: 0,
            open: true,
        })
    }

    /// Waits for bytes and takes them. Safe to cancel.
    pub async fn read(&mut self) {
        if self.pipe.readable().await.is_err() {
            self.open = false;
            return;
        }
        self.take();
    }

    /// Whether more may come.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// What was kept, as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }

    fn drain(&mut self) {
        let mut chunk = [0_u8; 16 << 10];
        let mut total = 0;
        while self.open && total < MOST_DRAIN {
            // Straight from the descriptor: the runtime may not have heard yet
            // of bytes that were written just before the helper's exit.
            match nix::unistd::read(&self.pipe, &mut chunk) {
                Ok(read) if read > 0 => {
                    self.add(&chunk[..read]);
                    total += read;
                }
                Err(nix::errno::Errno::EINTR) => {}
                _ => break,
            }
        }
    }

    /// Takes what is there, at most one pipe's worth.
    fn take(&mut self) {
        let mut chunk = [0_u8; 16 << 10];
        match self.pipe.try_read(&mut chunk) {
            Ok(read) if read > 0 => self.add(&chunk[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => self.open = false,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        match self.keep {
            Keep::First(most) => {
                let fits = bytes.len().min(most.saturating_sub(self.kept.len()));
                self.kept.extend_from_slice(&bytes[..fits]);
                self.dropped += (bytes.len() - fits) as u64;
            }
            Keep::Last(most) => {
                self.kept.extend_from_slice(bytes);
                let over = self.kept.len().saturating_sub(most);
                self.kept.drain(..over);
                self.dropped += over as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    fn pipe(keep: Keep) -> (Stream, File) {
        let (read, write) = pipe2(OFlag::O_CLOEXEC).unwrap();
        (Stream::new(read, keep).unwrap(), File::from(write))
    }

    #[tokio::test]
    async fn a_flood_keeps_its_first_bytes_and_counts_the_rest() {
        let (mut stream, mut write) = pipe(Keep::First(4));
        write.write_all(b"abcdefg").unwrap();
        stream.read().await;
        assert_eq!(stream.text(), "abcd");
        assert_eq!(stream.dropped, 3);
    }

    #[tokio::test]
    async fn a_log_keeps_its_end() {
        let (mut stream, mut write) = pipe(Keep::Last(3));
        write.write_all(b"abcdefg").unwrap();
        stream.read().await;
        assert_eq!(stream.text(), "efg");
    }

    #[tokio::test]
    async fn a_drain_does_not_wait_for_whoever_holds_the_pipe() {
        let (mut stream, mut write) = pipe(Keep::First(100));
        write.write_all(b"there and more").unwrap();
        stream.drain();
        assert_eq!(stream.text(), "there and more");
        assert!(stream.is_open());
        drop(write);
    }
}
