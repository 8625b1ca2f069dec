//! Typed client of a machine's agent: mutual TLS or nothing, one set of kept connections a machine.

mod connection;
pub mod file;
pub mod look;
mod tls;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use machine_agent_api::{ErrorBody, ErrorCode, ORGANISATION_HEADER, Operation, SLOT_HEADER};

use crate::config::MachinePaths;
use connection::{Connection, ReadError};
pub use tls::TlsError;
pub(crate) use tls::{certificates, private_key};

/// Time to connect and shake hands.
const CONNECT: Duration = Duration::from_secs(5);
/// Connections kept to one machine; more are made when needed and then closed.
const KEPT: usize = 16;
/// Bytes of JSON that one byte of text may need (`\u0000`).
const JSON_GROWTH: usize = 6;

/// One machine, as the database has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Machine {
    /// Machine id, which its certificate must carry.
    pub id: String,
    /// `https://host:port`
    pub address: String,
}

/// Which agent an operation is for; the front checks it without parsing a body.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    /// The agent's organisation.
    pub organisation: &'a str,
    /// The agent's slot.
    pub slot: u8,
}

/// Why an operation has no reply.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// No byte of the request was sent.
    #[error("machine {machine} can't be reached: {reason}")]
    Unreachable {
        /// Machine id.
        machine: String,
        /// One sentence without internals.
        reason: String,
    },
    /// The machine answered that it won't. Its message is for whoever called.
    #[error("{message}")]
    Refused {
        /// For programs.
        code: ErrorCode,
        /// For people.
        message: String,
    },
    /// The request may have been received, and no answer came.
    #[error("machine {machine} did not answer: {reason}")]
    Interrupted {
        /// Machine id.
        machine: String,
        /// One sentence without internals.
        reason: String,
    },
}

/// Every machine's client.
#[derive(Debug)]
pub struct Machines {
    identity: Option<tls::Identity>,
    clients: Mutex<HashMap<Machine, Arc<Client>>>,
    max_reply_bytes: usize,
}

#[derive(Debug)]
struct Client {
    tls: Arc<rustls::ClientConfig>,
    idle: Mutex<Vec<Connection>>,
}

impl Machines {
    /// Clients with the control plane's certificate. Without `paths` no machine
    /// is reached, since there is no plaintext mode. `max_output_bytes` bounds
    /// the text in a reply.
    ///
    /// # Errors
    /// When a file can't be used.
    pub fn new(paths: Option<&MachinePaths>, max_output_bytes: usize) -> Result<Self, TlsError> {
        Ok(Self {
            identity: paths.map(tls::Identity::load).transpose()?,
            clients: Mutex::default(),
            max_reply_bytes: JSON_GROWTH * max_output_bytes + 65_536,
        })
    }

    /// Asks a machine once. A kept connection that ended before the request was
    /// sent is replaced; nothing is ever sent twice.
    ///
    /// # Errors
    /// [`MachineError`], whose sentences are for whoever called.
    pub async fn ask<O: Operation + Sync>(
        &self,
        machine: &Machine,
        place: Option<&Place<'_>>,
        operation: &O,
        deadline: Duration,
    ) -> Result<O::Reply, MachineError> {
        let request =
            request(machine, place, operation).map_err(|reason| MachineError::Unreachable {
                machine: machine.id.clone(),
                reason,
            })?;
        let client = self.client(machine)?;
        let connection = client.connection(machine).await?;
        let exchange = self.exchange(&client, machine, connection, request);
        let (status, body) = match tokio::time::timeout(deadline, exchange).await {
            Ok(answer) => answer?,
            Err(_) => {
                return Err(interrupted(
                    machine,
                    format!("no answer within {} s", deadline.as_secs()),
                ));
            }
        };
        if status == 200 {
            return read(machine, &body);
        }
        Err(refusal(machine, status, &body))
    }

    async fn exchange(
        &self,
        client: &Client,
        machine: &Machine,
        mut connection: Connection,
        request: connection::Request,
    ) -> Result<(u16, Vec<u8>), MachineError> {
        let mut answer = connection.send(request, self.max_reply_bytes).await;
        if let Err(ReadError::NotSent(request)) = answer {
            connection = Connection::open(machine, &client.tls, CONNECT).await?;
            answer = connection.send(*request, self.max_reply_bytes).await;
        }
        match answer {
            Ok(answer) => {
                client.keep(connection);
                Ok(answer)
            }
            Err(ReadError::NotSent(_)) => Err(MachineError::Unreachable {
                machine: machine.id.clone(),
                reason: "it closes connections before a request".to_owned(),
            }),
            Err(ReadError::Broken(reason)) => Err(interrupted(machine, reason)),
        }
    }

    fn client(&self, machine: &Machine) -> Result<Arc<Client>, MachineError> {
        let unreachable = |reason: String| MachineError::Unreachable {
            machine: machine.id.clone(),
            reason,
        };
        let identity = self.identity.as_ref().ok_or_else(|| {
            unreachable("this control plane has no certificate for machines".to_owned())
        })?;
        let mut clients = lock(&self.clients);
        if let Some(client) = clients.get(machine) {
            return Ok(Arc::clone(client));
        }
        let tls = identity
            .client_config(&machine.id)
            .map_err(|error| unreachable(error.to_string()))?;
        // A machine that moved leaves its old address's client behind.
        clients.retain(|known, _| known.id != machine.id);
        let client = Arc::new(Client {
            tls: Arc::new(tls),
            idle: Mutex::default(),
        });
        clients.insert(machine.clone(), Arc::clone(&client));
        Ok(client)
    }
}

impl Client {
    async fn connection(&self, machine: &Machine) -> Result<Connection, MachineError> {
        while let Some(kept) = self.take() {
            if kept.is_usable() {
                return Ok(kept);
            }
        }
        Connection::open(machine, &self.tls, CONNECT).await
    }

    fn take(&self) -> Option<Connection> {
        lock(&self.idle).pop()
    }

    fn keep(&self, connection: Connection) {
        let mut idle = lock(&self.idle);
        idle.retain(Connection::is_usable);
        if idle.len() < KEPT {
            idle.push(connection);
        }
    }
}

fn interrupted(machine: &Machine, reason: String) -> MachineError {
    MachineError::Interrupted {
        machine: machine.id.clone(),
        reason,
    }
}

/// The reply in the body of an answer with status 200.
fn read<T: serde::de::DeserializeOwned>(machine: &Machine, body: &[u8]) -> Result<T, MachineError> {
    serde_json::from_slice(body)
        .map_err(|_| interrupted(machine, "its answer is not the expected object".to_owned()))
}

/// What an answer with another status says.
fn refusal(machine: &Machine, status: u16, body: &[u8]) -> MachineError {
    match serde_json::from_slice::<ErrorBody>(body) {
        Ok(ErrorBody { error }) => MachineError::Refused {
            code: error.code,
            message: error.message,
        },
        Err(_) => interrupted(machine, format!("it answered status {status}")),
    }
}

fn request<O: Operation>(
    machine: &Machine,
    place: Option<&Place<'_>>,
    operation: &O,
) -> Result<connection::Request, String> {
    let body = operation
        .body()
        .map_err(|_| "the request can't be written as JSON".to_owned())?;
    compose(machine, place, O::METHOD, &operation.path(), body)
}

fn compose(
    machine: &Machine,
    place: Option<&Place<'_>>,
    method: &str,
    path: &str,
    body: Option<Vec<u8>>,
) -> Result<connection::Request, String> {
    let authority = machine.address.strip_prefix("https://").ok_or_else(|| {
        format!(
            "its address {} does not begin with https://",
            machine.address
        )
    })?;
    let mut request = hyper::Request::builder()
        .method(method)
        .uri(path)
        .header(hyper::header::HOST, authority.trim_end_matches('/'));
    if let Some(place) = place {
        request = request
            .header(ORGANISATION_HEADER, place.organisation)
            .header(SLOT_HEADER, u16::from(place.slot));
    }
    if body.is_some() {
        request = request.header(hyper::header::CONTENT_TYPE, "application/json");
    }
    request
        .body(http_body_util::Full::new(body.unwrap_or_default().into()))
        .map_err(|error| error.to_string())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What these locks guard is whole after any panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
