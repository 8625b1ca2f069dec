//! The calls this runner has seen: running, kept, or only their ids. The same id never runs twice.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machine_agent_api::CallState;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::answer::Refused;

/// How long a result that nobody called stored is kept.
const KEPT: Duration = Duration::from_secs(600);
/// Most bytes of results kept; the oldest goes first.
const MOST_KEPT_BYTES: usize = 64 << 20;
/// Most ids remembered after their result went.
const MOST_IDS: usize = 50_000;
/// Most calls running or waiting at once.
pub const MOST_CALLS: usize = 256;
/// Most bytes of requests that running and waiting calls may hold.
pub const MOST_REQUEST_BYTES: usize = 64 << 20;

/// Told to a call that is to end.
pub type Cancel = watch::Receiver<bool>;
/// Where the end of a call is told.
pub type End = watch::Receiver<Option<Arc<CallState>>>;

/// The table.
#[derive(Debug, Default)]
pub struct Calls {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: HashMap<String, Entry>,
    /// Ids of kept results, oldest first.
    kept: VecDeque<(Instant, String, usize)>,
    kept_bytes: usize,
    /// Ids without a result, oldest first.
    ids: VecDeque<String>,
    running: usize,
    request_bytes: usize,
    tasks: JoinSet<()>,
}

#[derive(Debug)]
enum Entry {
    Running {
        end: End,
        cancel: watch::Sender<bool>,
    },
    Kept(Arc<CallState>),
    /// The result was stored elsewhere, or is no longer kept.
    Forgotten,
    /// "Unknown" was answered: it may never run.
    Refused,
}

/// What became of a request to start a call, or where one stands.
#[derive(Debug)]
pub enum Found {
    /// It runs; its end will be told here.
    Running(End),
    /// It ended.
    Ended(Arc<CallState>),
    /// Never seen.
    Unknown,
}

impl Calls {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts `run` under `id`, unless the id is known.
    ///
    /// # Errors
    /// 409 for an id that was answered "unknown", 429 when too much runs already.
    pub fn begin<F>(
        self: &Arc<Self>,
        id: &str,
        request_bytes: usize,
        run: impl FnOnce(Cancel) -> F,
    ) -> Result<Found, Refused>
    where
        F: Future<Output = CallState> + Send + 'static,
    {
        let mut inner = self.inner();
        if let Some(entry) = inner.entries.get(id) {
            return entry.found(id);
        }
        if inner.running >= MOST_CALLS {
            return Err(Refused::too_many(format!(
                "{} calls of this agent run or wait already, at most {MOST_CALLS} may",
                inner.running
            )));
        }
        if inner.request_bytes + request_bytes > MOST_REQUEST_BYTES {
            return Err(Refused::too_many(format!(
                "the calls of this agent hold {} bytes of requests already, at most {MOST_REQUEST_BYTES} may",
                inner.request_bytes
            )));
        }
        let (cancel, cancelled) = watch::channel(false);
        let (tell, end) = watch::channel(None);
        inner.running += 1;
        inner.request_bytes += request_bytes;
        let entry = Entry::Running {
            end: end.clone(),
            cancel,
        };
        inner.entries.insert(id.to_owned(), entry);
        let work = run(cancelled);
        let (calls, id) = (Arc::clone(self), id.to_owned());
        while inner.tasks.try_join_next().is_some() {}
        inner.tasks.spawn(async move {
            let state = Arc::new(work.await);
            calls.finish(&id, &state, request_bytes);
            let _ = tell.send(Some(state));
        });
        Ok(Found::Running(end))
    }

    fn finish(&self, id: &str, state: &Arc<CallState>, request_bytes: usize) {
        let mut inner = self.inner();
        inner.running -= 1;
        inner.request_bytes -= request_bytes;
        let bytes = weight(state);
        inner.kept_bytes += bytes;
        let entry = Entry::Kept(Arc::clone(state));
        inner.entries.insert(id.to_owned(), entry);
        inner.kept.push_back((Instant::now(), id.to_owned(), bytes));
        inner.forget_old();
    }

    /// Where a call stands; an unknown id is refused from now on.
    ///
    /// # Errors
    /// 409 when "unknown" was answered before.
    pub fn find(&self, id: &str) -> Result<Found, Refused> {
        let mut inner = self.inner();
        inner.forget_old();
        match inner.entries.get(id) {
            Some(Entry::Refused) | None => {
                if inner
                    .entries
                    .insert(id.to_owned(), Entry::Refused)
                    .is_none()
                {
                    inner.remember(id.to_owned());
                }
                Ok(Found::Unknown)
            }
            Some(entry) => entry.found(id),
        }
    }

    /// Tells a running call to end, and finds it.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn cancel(&self, id: &str) -> Result<Found, Refused> {
        if let Some(Entry::Running { cancel, .. }) = self.inner().entries.get(id) {
            cancel.send_replace(true);
        }
        self.find(id)
    }

    /// Drops a kept result and keeps the id.
    pub fn stored(&self, id: &str) {
        let mut inner = self.inner();
        if matches!(inner.entries.get(id), Some(Entry::Kept(_))) {
            let at = inner.kept.iter().position(|(_, kept, _)| kept == id);
            if let Some((_, _, bytes)) = at.and_then(|at| inner.kept.remove(at)) {
                inner.kept_bytes -= bytes;
            }
            inner.forget(id.to_owned());
        }
    }

    /// Tells every running call to end.
    pub fn cancel_all(&self) {
        for entry in self.inner().entries.values() {
            if let Entry::Running { cancel, .. } = entry {
                cancel.send_replace(true);
            }
        }
    }

    /// How many run or wait.
    #[must_use]
    pub fn running(&self) -> usize {
        self.inner().running
    }

    /// Waits until none runs.
    pub async fn idle(&self) {
        while self.running() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Entry {
    fn found(&self, id: &str) -> Result<Found, Refused> {
        match self {
            Self::Running { end, .. } => Ok(Found::Running(end.clone())),
            Self::Kept(state) => Ok(Found::Ended(Arc::clone(state))),
            Self::Forgotten => Ok(Found::Ended(Arc::new(CallState::Failed {
                message: "the result of this call is no longer kept".to_owned(),
                detail: String::new(),
            }))),
            Self::Refused => Err(Refused::conflict(format!(
                "the call {id} was answered as unknown, so it may not run any more"
            ))),
        }
    }
}

impl Inner {
    fn forget_old(&mut self) {
        while let Some((ended, _, _)) = self.kept.front() {
            if ended.elapsed() < KEPT && self.kept_bytes <= MOST_KEPT_BYTES {
                break;
            }
            if let Some((_, id, bytes)) = self.kept.pop_front() {
                self.kept_bytes -= bytes;
                self.forget(id);
            }
        }
    }

    fn forget(&mut self, id: String) {
        self.entries.insert(id.clone(), Entry::Forgotten);
        self.remember(id);
    }

    fn remember(&mut self, id: String) {
        self.ids.push_back(id);
        if self.ids.len() > MOST_IDS
            && let Some(oldest) = self.ids.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

/// Bytes a kept result takes, near enough to bound them all.
fn weight(state: &CallState) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    512 + match state {
        CallState::Done { reply } => text(&reply.output) + text(&reply.error),
        CallState::Failed { message, detail } => message.len() + detail.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine_agent_api::Reply;

    fn done(output: &str) -> CallState {
        CallState::Done {
            reply: Reply {
                output: Some(output.to_owned()),
                ..Reply::default()
            },
        }
    }

    async fn ended(found: Found) -> CallState {
        match found {
            Found::Running(mut end) => {
                let state = end.wait_for(Option::is_some).await.unwrap();
                state.as_ref().unwrap().as_ref().clone()
            }
            Found::Ended(state) => state.as_ref().clone(),
            Found::Unknown => CallState::Unknown,
        }
    }

    #[tokio::test]
    async fn the_same_id_attaches_and_never_runs_twice() {
        let calls = Arc::new(Calls::default());
        let first = calls.begin("a", 1, |_| async { done("one") }).unwrap();
        let second = calls.begin("a", 1, |_| async { done("two") }).unwrap();
        assert_eq!(ended(first).await, done("one"));
        assert_eq!(ended(second).await, done("one"));
        let third = calls.begin("a", 1, |_| async { done("three") }).unwrap();
        assert_eq!(ended(third).await, done("one"));
    }

    #[tokio::test]
    async fn what_was_unknown_is_refused_from_then_on() {
        let calls = Arc::new(Calls::default());
        assert!(matches!(calls.find("a"), Ok(Found::Unknown)));
        assert!(matches!(calls.find("a"), Ok(Found::Unknown)));
        let refused = calls.begin("a", 1, |_| async { done("x") }).unwrap_err();
        assert_eq!(refused.status.as_u16(), 409);
    }

    #[tokio::test]
    async fn a_stored_result_leaves_only_its_id() {
        let calls = Arc::new(Calls::default());
        ended(calls.begin("a", 1, |_| async { done("one") }).unwrap()).await;
        calls.stored("a");
        let again = ended(calls.begin("a", 1, |_| async { done("two") }).unwrap()).await;
        assert_eq!(
            again,
            CallState::Failed {
                message: "the result of this call is no longer kept".to_owned(),
                detail: String::new()
            }
        );
        assert_eq!(calls.inner().kept_bytes, 0);
    }

    #[tokio::test]
    async fn a_cancel_reaches_the_running_call() {
        let calls = Arc::new(Calls::default());
        let work = |mut cancel: Cancel| async move {
            let _ = cancel.wait_for(|cancelled| *cancelled).await;
            CallState::Cancelled
        };
        calls.begin("a", 1, work).unwrap();
        assert_eq!(
            ended(calls.cancel("a").unwrap()).await,
            CallState::Cancelled
        );
        assert!(matches!(calls.cancel("b"), Ok(Found::Unknown)));
    }

    #[tokio::test(start_paused = true)]
    async fn results_are_kept_ten_minutes() {
        let calls = Arc::new(Calls::default());
        ended(calls.begin("a", 1, |_| async { done("one") }).unwrap()).await;
        tokio::time::advance(Duration::from_secs(599)).await;
        assert_eq!(ended(calls.find("a").unwrap()).await, done("one"));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(matches!(
            ended(calls.find("a").unwrap()).await,
            CallState::Failed { .. }
        ));
    }

    #[tokio::test]
    async fn running_calls_are_bounded_in_number_and_bytes() {
        let calls = Arc::new(Calls::default());
        for number in 0..MOST_CALLS {
            calls
                .begin(&number.to_string(), 1, |_| std::future::pending())
                .unwrap();
        }
        let refused = calls
            .begin("more", 1, |_| std::future::pending())
            .unwrap_err();
        assert_eq!(refused.status.as_u16(), 429);
        assert_eq!(
            refused.message,
            "256 calls of this agent run or wait already, at most 256 may"
        );
        let calls = Arc::new(Calls::default());
        let bytes = MOST_REQUEST_BYTES;
        calls
            .begin("big", bytes, |_| std::future::pending())
            .unwrap();
        assert_eq!(
            calls
                .begin("more", 1, |_| std::future::pending())
                .unwrap_err()
                .status
                .as_u16(),
            429
        );
    }
}
