//! Everything one test talks to: its database, its control plane, its machine, its two agents.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sqlx::PgConnection;
use tempfile::TempDir;

use crate::api::{Api, Run};
use crate::control_plane::ControlPlane;
use crate::machine::{Machine, MachineSettings};
use crate::machine_client::MachineClient;
use crate::shared::{ORGANISATION, Shared};
use crate::slots::{Slot, next_number};

/// An agent of a test. Its id is no other test's, because it is also a Unix account.
#[derive(Debug)]
pub struct Agent {
    /// Agent id.
    pub id: String,
    slot: Slot,
}

impl Agent {
    fn new(name: &str, number: u32) -> Result<Self> {
        Ok(Self {
            id: format!("{name}-{number}"),
            slot: Slot::take()?,
        })
    }

    /// Its slot.
    #[must_use]
    pub fn slot(&self) -> u8 {
        self.slot.number()
    }

    /// Its home.
    #[must_use]
    pub fn home(&self) -> String {
        format!("/home/{}", self.id)
    }

    /// The uid of its account.
    ///
    /// # Errors
    /// When there is no such account yet.
    pub fn uid(&self) -> Result<u32> {
        let user = nix::unistd::User::from_name(&self.id)?;
        Ok(user
            .with_context(|| format!("account {}", self.id))?
            .uid
            .as_raw())
    }
}

/// What a test wants different from the usual stack.
#[derive(Debug, Default)]
pub struct StackBuilder {
    control_plane: String,
    machine: Option<MachineSettings>,
    locale: Option<&'static str>,
}

impl StackBuilder {
    /// A database of another locale than the cluster's, which is C.
    #[must_use]
    pub fn locale(mut self, locale: &'static str) -> Self {
        self.locale = Some(locale);
        self
    }

    /// Lines for `control-plane.toml`.
    #[must_use]
    pub fn control_plane(mut self, lines: &str) -> Self {
        self.control_plane = lines.to_owned();
        self
    }

    /// A machine agent too.
    #[must_use]
    pub fn machine(mut self, settings: MachineSettings) -> Self {
        self.machine = Some(settings);
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// When something doesn't start, or the base document is refused.
    pub async fn start(self) -> Result<Stack> {
        let shared = Shared::get().await?;
        let number = next_number();
        let directory = tempfile::Builder::new()
            .prefix("stack-")
            .tempdir_in(&shared.work)?;
        let machine = match &self.machine {
            Some(settings) => Some(Machine::start(shared, directory.path(), settings).await?),
            None => None,
        };
        let database = match self.locale {
            Some(locale) => shared.cluster.database_with_locale(locale).await?,
            None => shared.cluster.database().await?,
        };
        let control_plane =
            ControlPlane::start(shared, directory.path(), &database, &self.control_plane).await?;
        let stack = Stack {
            backend: Api::new(control_plane.address(), Some(&shared.backend_token)),
            operator: Api::new(control_plane.address(), Some(&shared.operator_token)),
            shared,
            control_plane,
            machine,
            ada: Agent::new("ada", number)?,
            bob: Agent::new("bob", number)?,
            database,
            directory,
        };
        stack.apply(&stack.document()).await?;
        Ok(stack)
    }
}

/// A running product. Dropping it stops everything it started.
///
/// Fields drop in their order: the control plane before the machine, so that
/// neither logs the other's end, and the folder last.
#[derive(Debug)]
pub struct Stack {
    /// What all tests share.
    pub shared: &'static Shared,
    /// The control plane.
    pub control_plane: ControlPlane,
    /// The machine agent, when the test asked for one.
    pub machine: Option<Machine>,
    /// A client with the backend's token.
    pub backend: Api,
    /// A client with the operator's token.
    pub operator: Api,
    /// An agent with browser and coding.
    pub ada: Agent,
    /// An agent with neither.
    pub bob: Agent,
    database: String,
    /// The test's own folder.
    pub directory: TempDir,
}

impl Stack {
    /// A stack without a machine agent: its machine's address refuses connections.
    ///
    /// # Errors
    /// When something doesn't start.
    pub async fn storage() -> Result<Self> {
        StackBuilder::default().start().await
    }

    /// A stack with a machine agent.
    ///
    /// # Errors
    /// When something doesn't start.
    pub async fn whole() -> Result<Self> {
        StackBuilder::default()
            .machine(MachineSettings::default())
            .start()
            .await
    }

    /// The document that every test begins with: guild `core`, machine `local`, the two agents.
    #[must_use]
    pub fn document(&self) -> Value {
        json!({
            "organisation": ORGANISATION,
            "guilds": [{ "id": "core" }],
            "machines": [{ "id": "local", "address": format!("https://{}", self.machine_address()) }],
            "agents": [
                { "id": self.ada.id, "guild": "core", "machine": "local", "slot": self.ada.slot(),
                  "config": { "browser": true, "coding": true } },
                { "id": self.bob.id, "guild": "core", "machine": "local", "slot": self.bob.slot() },
            ],
        })
    }

    /// `host:port` of the machine; port 9 has no listener in the tests' network namespace.
    #[must_use]
    pub fn machine_address(&self) -> &str {
        self.machine
            .as_ref()
            .map_or("127.0.0.1:9", Machine::address)
    }

    /// Applies a document.
    ///
    /// # Errors
    /// When it isn't accepted.
    pub async fn apply(&self, document: &Value) -> Result<Value> {
        self.operator
            .post("/v1/operator/apply", document)
            .await?
            .expect(200)
    }

    /// Starts a direct run of an agent.
    ///
    /// # Errors
    /// When it isn't 201.
    pub async fn run(&self, agent: &Agent) -> Result<Run> {
        self.backend
            .start(&json!({ "agent": agent.id, "kind": "direct" }))
            .await
    }

    /// Starts a direct run of `ada` with that many calls.
    ///
    /// # Errors
    /// When it isn't 201.
    pub async fn run_with_budget(&self, calls: u32) -> Result<Run> {
        self.backend
            .start(&json!({ "agent": self.ada.id, "kind": "direct", "max_tool_calls": calls }))
            .await
    }

    /// A client with an operator's token of another organisation, which it makes.
    ///
    /// # Errors
    /// When there is no token.
    pub fn operator_of(&self, organisation: &str) -> Result<Api> {
        let program = self.shared.program("guilds-control-plane");
        let token = crate::spawn::run(
            crate::spawn::command(&program)
                .args(["token", "create", "--role", "operator", "--organisation"])
                .arg(organisation)
                .arg("--config")
                .arg(self.control_plane.config()),
        )?;
        Ok(Api::new(self.control_plane.address(), Some(token.trim())))
    }

    /// A connection to the test's database.
    ///
    /// # Errors
    /// When there is none.
    pub async fn database(&self) -> Result<PgConnection> {
        self.shared.cluster.connect(&self.database).await
    }

    /// Name of the test's database.
    #[must_use]
    pub fn database_name(&self) -> &str {
        &self.database
    }

    /// The machine agent.
    ///
    /// # Errors
    /// When the test didn't ask for one.
    pub fn machine(&self) -> Result<&Machine> {
        self.machine.as_ref().context("a machine agent")
    }

    /// The machine agent, to end or restart it.
    ///
    /// # Errors
    /// When the test didn't ask for one.
    pub fn machine_mut(&mut self) -> Result<&mut Machine> {
        self.machine.as_mut().context("a machine agent")
    }

    /// A client of the front with the control plane's certificate.
    ///
    /// # Errors
    /// When the test has no machine agent.
    pub fn machine_client(&self) -> Result<MachineClient> {
        MachineClient::new(self.machine()?.address(), Some(&self.shared.control_plane))
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // The daemons go first whatever the order of fields: a database with a
        // client in it would have to be torn from it.
        if let Err(error) = self.control_plane.stop() {
            eprintln!("{error:#}");
        }
        let cluster = &self.shared.cluster;
        let database = self.database.clone();
        let dropped = std::thread::scope(|scope| {
            scope
                .spawn(|| -> Result<()> {
                    tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()?
                        .block_on(cluster.drop_database(&database))
                })
                .join()
        });
        if let Ok(Err(error)) = dropped {
            eprintln!("database {database}: {error:#}");
        }
    }
}
