//! Work that outlives the request that began it: counted, so that a stop can wait for it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

/// Owner of such work.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    set: Arc<Mutex<JoinSet<()>>>,
}

impl Tasks {
    /// Starts work. A panic in it is logged by the process's hook and ends only it.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        // Ended work is taken out here, so that the set holds what runs and little more.
        while set.try_join_next().is_some() {}
        set.spawn(work);
    }

    /// Waits for all work, at most `deadline`, and answers what is left, which
    /// ends when it is dropped.
    pub async fn finish(&self, deadline: Duration) -> Unfinished {
        let mut set = std::mem::take(&mut *self.set.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while set.join_next().await.is_some() {} };
        if tokio::time::timeout(deadline, all).await.is_err() {
            tracing::warn!(left = set.len(), "work is still running at the stop");
        }
        Unfinished { _set: set }
    }
}

/// Work that did not end in time. It ends when this is dropped.
#[derive(Debug)]
pub struct Unfinished {
    _set: JoinSet<()>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stop_waits_for_work_and_ends_what_takes_too_long() {
        let tasks = Tasks::default();
        let (send, receive) = tokio::sync::oneshot::channel();
        tasks.spawn(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let _ = send.send(());
        });
        let (held, ended) = tokio::sync::oneshot::channel::<()>();
        tasks.spawn(async move {
            let _held = held;
            std::future::pending().await
        });
        let unfinished = tasks.finish(Duration::from_millis(200)).await;
        assert!(receive.await.is_ok());
        drop(unfinished);
        assert!(ended.await.is_err());
    }
}
