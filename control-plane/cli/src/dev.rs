//! `guilds dev`: the whole product on one machine, for development and for a first look.
//!
//! Order of a start: state and lock → what a killed stack left is ended →
//! database cluster → certificates, settings, migrations → control plane →
//! helpers, machine agent → demonstration's organisation and site → `dev.env`.
//! The end goes the other way.

mod account;
mod cluster;
mod daemon;
mod demonstration;
mod helpers;
mod leftover;
mod organisation;
mod settings;
mod site;
mod state;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use crate::api::Client;
use crate::error::{Exit, Failure};
use crate::signals::Stop;

use self::account::Account;
use self::daemon::Daemon;
use self::site::Site;
use self::state::State;

/// The machine agent listens this far above the API.
const MACHINE_PORT_OFFSET: u16 = 3;
/// The demonstration's site listens this far above the API, when that is free.
const SITE_PORT_OFFSET: u16 = 7;
/// Longest wait for a daemon to answer.
const READY: Duration = Duration::from_secs(60);

/// Where, and with what.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder for everything the stack keeps; made when it is not there.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// The API's port; the machine agent takes it plus 3.
    #[arg(long, default_value_t = 8440, value_parser = clap::value_parser!(u16).range(1..=65_528))]
    port: u16,
    /// Show what the product does: one call of every kind.
    #[arg(long)]
    demo: bool,
}

/// Runs the stack until SIGINT or SIGTERM.
///
/// # Errors
/// When it can't be started; what was started is stopped again.
pub(crate) async fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut stop = Stop::new()?;
    let account = Account::find()?;
    let state = State::open(&arguments.state, &account)?;
    let mut stack = Stack {
        account,
        state,
        port: arguments.port,
        daemons: Vec::new(),
        site: None,
    };
    let result = tokio::select! {
        result = stack.go(arguments.demo) => result,
        () = stop.asked() => Ok(()),
    };
    stack.end().await;
    result.map(|()| Exit::Done)
}

struct Stack {
    account: Account,
    state: State,
    port: u16,
    daemons: Vec<Daemon>,
    site: Option<Site>,
}

impl Stack {
    /// Starts everything, shows it when asked, and stays until it is dropped.
    async fn go(&mut self, demo: bool) -> Result<(), Failure> {
        let started = Instant::now();
        if !self.account.is_root() {
            say(&format!(
                "not root: every agent runs as you, with homes below {}; nothing separates them",
                self.state.path("home").display()
            ));
        }
        let env = self.start().await?;
        say(&format!(
            "everything answers after {:.1} s",
            started.elapsed().as_secs_f64()
        ));
        let client = Client::new(&env.url, Some(env.backend_token.clone()))?;
        if demo {
            let logs = self.state.path("logs");
            match demonstration::run(&client, &env.site).await {
                Ok(0) => {}
                Ok(errors) => say(&format!(
                    "{errors} calls of the demonstration ended in an error, which no call should; \
                     the daemons say more in {}",
                    logs.display()
                )),
                Err(failure) => say(&format!("the demonstration stopped: {}", failure.message())),
            }
        }
        show(&format!("{}\n", env.how_to_call()));
        std::future::pending().await
    }

    async fn start(&mut self) -> Result<settings::Env, Failure> {
        self.state.remove("dev.env");
        leftover::end(&self.state, &self.account).await;
        self.check_ports()?;

        say("starting the database");
        let cluster = cluster::Cluster::prepare(&self.state, &self.account).await?;
        self.daemons
            .push(Daemon::start(cluster.plan(), &self.state)?);
        cluster.wait_ready(self.last(), READY).await?;

        say("writing certificates and settings, bringing the database up to date");
        let settings = settings::Settings::new(&self.state, &self.account, &cluster, self.port)?;
        settings.prepare().await?;

        say("starting the control plane");
        let plan = settings.control_plane();
        self.daemons.push(Daemon::start(plan, &self.state)?);
        let client = Client::new(&settings.url(), None)?;
        self.wait_for_api(&client).await?;
        let tokens = settings.tokens(&client).await?;

        say("starting the machine agent");
        if self.account.is_root() {
            helpers::install(&settings.programs).await?;
        }
        let plan = settings.machine_agent();
        self.daemons.push(Daemon::start(plan, &self.state)?);
        self.wait_for_machine().await?;

        let site = Site::start(self.port + SITE_PORT_OFFSET).await?;
        let site_url = site.url();
        self.site = Some(site);
        let operator = Client::new(&settings.url(), Some(tokens.operator.clone()))?;
        let port = self.port + MACHINE_PORT_OFFSET;
        organisation::prepare(&self.state, &operator, port).await?;

        let env = settings.env(&cluster, tokens, site_url);
        self.state.write_private("dev.env", &env.text())?;
        Ok(env)
    }

    /// A daemon that can't listen would end again and again; whoever starts the
    /// stack is better told before anything runs.
    fn check_ports(&self) -> Result<(), Failure> {
        let wanted = [
            (self.port, "the API"),
            (self.port + MACHINE_PORT_OFFSET, "the machine agent"),
        ];
        let taken: Vec<String> = wanted
            .into_iter()
            .filter_map(|(port, whose)| {
                let error = std::net::TcpListener::bind(("127.0.0.1", port)).err()?;
                Some(format!("port {port} of {whose} can't be had: {error}"))
            })
            .collect();
        if taken.is_empty() {
            return Ok(());
        }
        Err(Failure::local(format!(
            "{}; another one is chosen with --port (make run PORT=…), which is the API's, and the \
             machine agent takes it plus {MACHINE_PORT_OFFSET}",
            taken.join("; ")
        )))
    }

    fn last(&self) -> Option<&Daemon> {
        self.daemons.last()
    }

    async fn wait_for_api(&self, client: &Client) -> Result<(), Failure> {
        daemon::wait_until(self.last(), READY, || async {
            client
                .get("/healthz/ready")
                .await
                .map(|_| ())
                .map_err(|failure| failure.message().to_owned())
        })
        .await
    }

    async fn wait_for_machine(&self) -> Result<(), Failure> {
        let address = ("127.0.0.1", self.port + MACHINE_PORT_OFFSET);
        daemon::wait_until(self.last(), READY, || async {
            tokio::net::TcpStream::connect(address)
                .await
                .map(|_| ())
                .map_err(|error| format!("port {}: {error}", address.1))
        })
        .await
    }

    /// Stops everything, last started first.
    async fn end(&mut self) {
        if !self.daemons.is_empty() {
            say("stopping");
        }
        self.site = None;
        while let Some(daemon) = self.daemons.pop() {
            daemon.stop().await;
        }
    }
}

/// A line of progress. A terminal that has gone away must not end the stack
/// before its daemons are stopped, so nobody asks whether it was read.
fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "guilds dev: {what}");
}

/// A part of the payload, written with the same care.
fn show(what: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(what.as_bytes()).and_then(|()| out.flush());
}
