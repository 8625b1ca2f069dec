//! A file of an agent's home, passed on piece by piece over a connection of its own.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use machine_agent_api::{MOST_FILE, ReadFile};
use tokio::time::{Sleep, sleep, timeout};

use super::connection::{Connection, ReadError, whole};
use super::{CONNECT, Machine, MachineError, Machines, Place, compose, interrupted, refusal};

/// Time until a file's first byte.
const BEGINS_WITHIN: Duration = Duration::from_secs(15);
/// Time until its last.
const ENDS_WITHIN: Duration = Duration::from_secs(120);
/// Most bytes of a refusal.
const MOST_REFUSAL: usize = 64 << 10;

/// A file's bytes as they come; it breaks off when they are not all there within 120 s.
#[derive(Debug)]
pub struct FileBody {
    length: u64,
    inner: Incoming,
    deadline: Pin<Box<Sleep>>,
    /// Moves the bytes; ends with the body.
    _connection: Connection,
}

impl FileBody {
    /// Bytes of the file.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }
}

impl Machines {
    /// Reads a file of an agent's home, as the agent.
    ///
    /// # Errors
    /// [`MachineError`], whose sentences are for whoever called.
    pub async fn read_file(
        &self,
        machine: &Machine,
        place: &Place<'_>,
        operation: &ReadFile<'_>,
    ) -> Result<FileBody, MachineError> {
        let path = operation.path();
        let request =
            compose(machine, Some(place), ReadFile::METHOD, &path, None).map_err(|reason| {
                MachineError::Unreachable {
                    machine: machine.id.clone(),
                    reason,
                }
            })?;
        let client = self.client(machine)?;
        // A slow reader holds no connection that calls are made over.
        let mut connection = Connection::open(machine, &client.tls, CONNECT).await?;
        let broken = |error| match error {
            ReadError::NotSent(_) => interrupted(machine, "it closed the connection".to_owned()),
            ReadError::Broken(reason) => interrupted(machine, reason),
        };
        let late = |_| {
            interrupted(
                machine,
                format!("no answer within {} s", BEGINS_WITHIN.as_secs()),
            )
        };
        let response = timeout(BEGINS_WITHIN, connection.begin(request))
            .await
            .map_err(late)?
            .map_err(broken)?;
        let status = response.status().as_u16();
        if status != 200 {
            let body = timeout(BEGINS_WITHIN, whole(response.into_body(), MOST_REFUSAL))
                .await
                .map_err(late)?
                .map_err(broken)?;
            return Err(refusal(machine, status, &body));
        }
        let inner = response.into_body();
        let length = inner.size_hint().exact().filter(|size| *size <= MOST_FILE);
        let length = length.ok_or_else(|| {
            interrupted(
                machine,
                "its answer has no length that is allowed".to_owned(),
            )
        })?;
        Ok(FileBody {
            length,
            inner,
            deadline: Box::pin(sleep(ENDS_WITHIN)),
            _connection: connection,
        })
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.deadline.as_mut().poll(cx).is_ready() {
            let error = io::Error::new(io::ErrorKind::TimedOut, "the file took longer than 120 s");
            return Poll::Ready(Some(Err(error)));
        }
        Pin::new(&mut self.inner)
            .poll_frame(cx)
            .map_err(io::Error::other)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
