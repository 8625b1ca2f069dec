//! The connection to Chrome: commands out, replies and events in, all in one place and one task.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::page::{self, HandleJavaScriptDialogParams};
use chromiumoxide::cdp::browser_protocol::target::{
    FilterEntry, SessionId, SetAutoAttachParams, TargetFilter,
};
use chromiumoxide::cdp::js_protocol::runtime::RunIfWaitingForDebuggerParams;
use chromiumoxide::error::CdpError;
use chromiumoxide::types::{CallId, Message};
use chromiumoxide::{Command, Connection};
use futures_util::StreamExt;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use crate::endpoint::Unopened;
use crate::event::Event;
use crate::problem::Problem;
use crate::undelayed;
use crate::watch::{Reaction, Watch};
use crate::wellformed::mended;

const CONNECT: Duration = Duration::from_secs(5);

/// Why Chrome refused a command, in its words.
#[derive(Debug)]
pub struct Declined(pub String);

/// A command under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(CallId);

/// One connection and what its events said.
pub struct Wire {
    connection: Connection<Event>,
    awaited: HashSet<CallId>,
    replies: HashMap<CallId, Result<Value, Declined>>,
    /// What the events said.
    pub watch: Watch,
}

impl Wire {
    /// Opens a WebSocket of the Chrome at 127.0.0.1:`port`.
    pub async fn connect(port: u16, url: &str) -> Result<Self, Unopened> {
        let connection = timeout(CONNECT, Connection::connect(url))
            .await
            .map_err(|_| Unopened::Silent)?
            .map_err(|error| Unopened::Refused(error.to_string()))?;
        undelayed::streams_to(port);
        Ok(Self {
            connection,
            awaited: HashSet::new(),
            replies: HashMap::new(),
            watch: Watch::default(),
        })
    }

    /// Queues a command; it goes out with the next wait.
    pub fn submit<C: Command>(
        &mut self,
        session: Option<&str>,
        command: C,
    ) -> Result<Ticket, Problem> {
        let ticket = self.send(session, command)?;
        self.awaited.insert(ticket.0);
        Ok(ticket)
    }

    /// Queues a command whose reply nobody waits for.
    pub fn send<C: Command>(
        &mut self,
        session: Option<&str>,
        command: C,
    ) -> Result<Ticket, Problem> {
        let method = command.identifier();
        let params = serde_json::to_value(&command)?;
        let session = session.map(|id| SessionId::new(id.to_owned()));
        Ok(Ticket(
            self.connection.submit_command(method, session, params)?,
        ))
    }

    /// Waits for a command's reply; the outer error ends the call, the inner is Chrome's refusal.
    pub async fn reply(&mut self, ticket: Ticket) -> Result<Result<Value, Declined>, Problem> {
        loop {
            if let Some(reply) = self.replies.remove(&ticket.0) {
                return Ok(reply);
            }
            self.receive().await?;
            if !self.replies.contains_key(&ticket.0) {
                self.watch.lost()?;
            }
        }
    }

    /// Sends a command and waits for its result; a refusal by Chrome is a failure.
    pub async fn call<C: Command>(
        &mut self,
        session: Option<&str>,
        command: C,
    ) -> Result<Value, Problem> {
        let method = command.identifier();
        let ticket = self.submit(session, command)?;
        self.result(&method, ticket).await
    }

    /// The result of a command that was sent; a refusal by Chrome is a failure.
    pub async fn result(&mut self, method: &str, ticket: Ticket) -> Result<Value, Problem> {
        match self.reply(ticket).await? {
            Ok(value) => Ok(value),
            Err(Declined(why)) if went_away(&why) => Err(Problem::Moved),
            Err(Declined(why)) => Err(Problem::Failed(format!("{method} was declined: {why}"))),
        }
    }

    /// Takes messages in until `done` holds or the time is over; tells which.
    pub async fn wait_until(
        &mut self,
        until: Instant,
        done: impl Fn(&Watch) -> bool,
    ) -> Result<bool, Problem> {
        loop {
            if done(&self.watch) {
                return Ok(true);
            }
            self.watch.lost()?;
            match timeout_at(until, self.receive()).await {
                Ok(received) => received?,
                Err(_) => return Ok(false),
            }
        }
    }

    /// Takes messages in for a while.
    pub async fn linger(&mut self, span: Duration) -> Result<(), Problem> {
        self.wait_until(Instant::now() + span, |_| false)
            .await
            .map(|_| ())
    }

    async fn receive(&mut self) -> Result<(), Problem> {
        match self.connection.next().await {
            Some(Ok(message)) => self.take(message),
            // One half of a surrogate pair is no reason to lose an answer or a dialog.
            Some(Err(CdpError::InvalidMessage(text, _))) => {
                match serde_json::from_str(&mended(&text)) {
                    Ok(message) => self.take(message),
                    // A message of a shape nobody knows is not one this call waits for.
                    Err(_) => Ok(()),
                }
            }
            Some(Err(CdpError::Ws(_))) | None => Err(Problem::Gone),
            Some(Err(_)) => Ok(()),
        }
    }

    fn take(&mut self, message: Message<Event>) -> Result<(), Problem> {
        match message {
            Message::Response(response) => {
                if self.awaited.remove(&response.id) {
                    let reply = match response.error {
                        Some(error) => Err(Declined(error.message)),
                        None => Ok(response.result.unwrap_or(Value::Null)),
                    };
                    self.replies.insert(response.id, reply);
                }
                Ok(())
            }
            Message::Event(event) => match self.watch.take(&event) {
                Some(reaction) => self.react(reaction),
                None => Ok(()),
            },
        }
    }

    fn react(&mut self, reaction: Reaction) -> Result<(), Problem> {
        match reaction {
            Reaction::AnswerDialog { session, accept } => {
                self.send(
                    session.as_deref(),
                    HandleJavaScriptDialogParams::new(accept),
                )?;
            }
            Reaction::Welcome { session } => {
                let session = Some(session.as_str());
                self.send(session, RunIfWaitingForDebuggerParams::default())?;
                self.send(session, page::EnableParams::default())?;
                self.send(session, auto_attach())?;
            }
        }
        Ok(())
    }
}

/// Attach to the frames of a target that run in processes of their own, and to nothing else.
pub fn auto_attach() -> SetAutoAttachParams {
    let mut params = SetAutoAttachParams::new(true, false);
    params.flatten = Some(true);
    params.filter = Some(TargetFilter::new(vec![FilterEntry {
        exclude: None,
        r#type: Some("iframe".to_owned()),
    }]));
    params
}

/// Chrome's ways to say that a document or frame is no longer there.
pub fn went_away(why: &str) -> bool {
    const SAYINGS: [&str; 8] = [
        "Not attached to an active page",
        "Cannot find context",
        "Execution context was destroyed",
        "Inspected target navigated or closed",
        "Could not find object with given id",
        "No frame for given id found",
        "No node found for given backend id",
        "Session with given id not found",
    ];
    SAYINGS.iter().any(|saying| why.contains(saying)) || why.contains("Frame with the given id")
}
