//! A connection whose other end has to read: writing that makes no progress for too long ends it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream of bytes with a deadline for each write.
pub(super) struct WriteDeadline<S> {
    stream: S,
    within: Duration,
    /// Runs while a write waits.
    deadline: Pin<Box<Sleep>>,
    waits: bool,
}

impl<S> WriteDeadline<S> {
    pub(super) fn new(stream: S, within: Duration) -> Self {
        Self {
            stream,
            within,
            deadline: Box::pin(sleep(within)),
            waits: false,
        }
    }

    /// What became of a write: one that waits ends at the deadline.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        if !self.waits {
            self.waits = true;
            self.deadline.as_mut().reset(Instant::now() + self.within);
        }
        ready!(self.deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the other end does not read",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteDeadline<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteDeadline<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watch(cx, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const WITHIN: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn a_reader_that_stops_ends_the_writing() {
        let (ours, theirs) = duplex(8);
        let mut ours = WriteDeadline::new(ours, WITHIN);
        let ended = ours.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
        drop(theirs);
    }

    #[tokio::test]
    async fn a_slow_reader_that_goes_on_gets_everything() {
        let (ours, mut theirs) = duplex(8);
        let mut ours = WriteDeadline::new(ours, WITHIN);
        let writing = tokio::spawn(async move { ours.write_all(&[7; 48]).await });
        let mut read = Vec::new();
        let mut buffer = [0; 8];
        while read.len() < 48 {
            tokio::time::sleep(WITHIN / 4).await;
            let count = theirs.read(&mut buffer).await.unwrap();
            read.extend_from_slice(&buffer[..count]);
        }
        writing.await.unwrap().unwrap();
        assert_eq!(read, [7; 48]);
    }
}
