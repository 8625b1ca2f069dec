//! A run of this program's own: started once, ended in every case, or named where that fails.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::api::{CALL_PATIENCE, Client};
use crate::error::{Exit, Failure};
use crate::signals::Stop;
use crate::{output, progress};

/// A control plane that is away, as while it is restarted, is asked again for this long.
const RETRY: Duration = Duration::from_secs(30);
/// Between two tries.
const PAUSE: Duration = Duration::from_secs(1);

/// A run by an id that is chosen here, so that it can be ended whatever became of its start.
pub(super) struct Session<'a> {
    client: &'a Client,
    id: String,
}

impl<'a> Session<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self {
            client,
            id: Uuid::now_v7().to_string(),
        }
    }

    /// Starts the run, and says whether a signal came meanwhile. The start is not
    /// cut off by it, because the run may be there already; a second signal is.
    ///
    /// # Errors
    /// As the API answers; a run that may be left open is named.
    pub(super) async fn start(
        &self,
        agent: &str,
        stop: &mut Stop,
    ) -> Result<(Value, bool), Failure> {
        let mut start = std::pin::pin!(progress::watch("starting a run", self.open(agent)));
        let (started, is_stopped) = tokio::select! {
            started = &mut start => (started, false),
            () = stop.asked() => tokio::select! {
                started = &mut start => (started, true),
                () = stop.asked() => return Err(self.left(&Failure::local("interrupted twice"))),
            },
        };
        match started {
            Ok(run) => Ok((run, is_stopped)),
            // Nothing was started, or nobody knows.
            Err(failure) if !failure.is_open() => Err(failure),
            Err(failure) => match self.end(stop).await {
                Ok(()) => Err(failure),
                Err(left) => Err(failure.and(left.message())),
            },
        }
    }

    async fn open(&self, agent: &str) -> Result<Value, Failure> {
        let start = json!({"agent": agent, "kind": "direct", "id": self.id});
        match self.client.post("/v1/runs", &start, CALL_PATIENCE).await {
            // The same id answers the run that the first try started.
            Err(failure) if failure.is_open() => {
                again(&failure);
                persistently(self.client, "/v1/runs", &start).await
            }
            other => other,
        }
    }

    /// Ends the run, if it was started; a signal cuts that off.
    ///
    /// # Errors
    /// When it may be open still, with the verb that ends it.
    pub(super) async fn end(&self, stop: &mut Stop) -> Result<(), Failure> {
        let path = format!("/v1/runs/{}/end", self.id);
        let nothing = json!({});
        let end = self.client.post(&path, &nothing, CALL_PATIENCE);
        let ended = tokio::select! {
            ended = progress::watch("ending the run", end) => ended,
            () = stop.asked() => Err(Failure::local("interrupted")),
        };
        match ended {
            Err(failure) if failure.exit != Exit::NotFound => Err(self.left(&failure)),
            _ => Ok(()),
        }
    }

    fn left(&self, failure: &Failure) -> Failure {
        let id = &self.id;
        Failure::local(format!(
            "the run {id} may be open ({}); `guilds run end {id}` ends it",
            failure.message()
        ))
    }
}

/// `POST`s a body that may be sent twice until there is an answer, for a bounded time.
///
/// # Errors
/// As the API answers, and when it stays away.
pub(super) async fn persistently(
    client: &Client,
    path: &str,
    body: &Value,
) -> Result<Value, Failure> {
    let mut deadline = None;
    loop {
        let failure = match client.post(path, body, CALL_PATIENCE).await {
            Err(failure) if failure.exit == Exit::Unreachable => failure,
            other => return other,
        };
        if deadline.is_none() {
            again(&failure);
        }
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + RETRY);
        if Instant::now() + PAUSE >= deadline {
            return Err(failure);
        }
        sleep(PAUSE).await;
    }
}

fn again(failure: &Failure) {
    output::note(&format!(
        "guilds: {}; asking again for {} s",
        failure.message(),
        RETRY.as_secs()
    ));
}
