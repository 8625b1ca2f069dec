//! Certificates, settings files and tokens of the daemons.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid};
use serde_json::json;
use toml::{Table, Value};

use super::MACHINE_PORT_OFFSET;
use super::account::Account;
use super::cluster::Cluster;
use super::daemon::Plan;
use super::leftover::CGROUP_ROOT;
use super::state::{self, State, told};
use crate::api::Client;
use crate::document;
use crate::error::{Exit, Failure};
use crate::spawn::Program;

/// The machine's id.
const MACHINE: &str = "local";
/// File of the key that seals secrets; without it what is stored of them is lost.
const SECRETS_KEY: &str = "secrets.key";
/// The organisation the operator's token is for.
const ORGANISATION: &str = "demo";

/// What both daemons are started with.
#[derive(Debug)]
pub(crate) struct Settings<'a> {
    state: &'a State,
    account: Account,
    database_url: String,
    port: u16,
    /// Folder of the product's programs.
    pub(crate) programs: PathBuf,
    control_plane: PathBuf,
    machine_agent: PathBuf,
    runners: PathBuf,
}

/// The stack's tokens.
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    pub(crate) backend: String,
    pub(crate) operator: String,
}

impl<'a> Settings<'a> {
    /// Finds the programs beside this one and makes the folders.
    ///
    /// # Errors
    /// When a program is missing: every missing one is named.
    pub(crate) fn new(
        state: &'a State,
        account: &Account,
        cluster: &Cluster,
        port: u16,
    ) -> Result<Self, Failure> {
        let own = std::env::current_exe()
            .map_err(|error| Failure::local(format!("where is this program? {error}")))?;
        let programs = own.parent().unwrap_or(Path::new("/")).to_owned();
        let missing: Vec<_> = [
            "guilds-control-plane",
            "guilds-machine-agent",
            "guilds-browser",
            "guilds-code",
            "guilds-script-run",
        ]
        .into_iter()
        .filter(|name| !programs.join(name).exists())
        .collect();
        if !missing.is_empty() {
            return Err(Failure::local(format!(
                "{} holds no {}; build the whole workspace",
                programs.display(),
                missing.join(", ")
            )));
        }
        let runners = if account.is_root() {
            PathBuf::from("/run/guilds-runners")
        } else {
            state.sockets("runners", false)?
        };
        Ok(Self {
            state,
            account: account.clone(),
            database_url: cluster.url(),
            port,
            programs,
            control_plane: state.make_unprivileged("control-plane")?,
            machine_agent: state.make_private("machine-agent")?,
            runners,
        })
    }

    /// The API's address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Certificates made anew, settings written, the database brought up to date.
    ///
    /// # Errors
    /// When a step fails: with what the program said.
    pub(crate) async fn prepare(&self) -> Result<(), Failure> {
        self.certificates().await?;
        self.write(&self.control_plane_file(), self.control_plane_settings())?;
        self.state.give(&self.control_plane_file())?;
        self.write(&self.machine_agent_file(), self.machine_agent_settings())?;
        for name in ["key", SECRETS_KEY] {
            let key = self.control_plane.join(name);
            if !key.exists() {
                let words = ["key", "create", "--out", &text(&key)];
                self.control_plane_verb(&words, self.account.unprivileged())
                    .await?;
            }
        }
        let config = text(&self.control_plane_file());
        let words = ["migrate", "--config", &config];
        self.control_plane_verb(&words, self.account.unprivileged())
            .await?;
        Ok(())
    }

    async fn certificates(&self) -> Result<(), Failure> {
        let authority = self.state.make_private("ca")?;
        let dir = text(&authority);
        self.control_plane_verb(&["ca", "init", "--dir", &dir], None)
            .await?;
        for (folder, name) in [
            (&self.control_plane, "control-plane"),
            (&self.machine_agent, "machine"),
        ] {
            for ending in ["crt", "key"] {
                let _ = fs::remove_file(folder.join(format!("{name}.{ending}")));
            }
        }
        let out = text(&self.control_plane);
        let words = ["ca", "control-plane", "--dir", &dir, "--out", &out];
        self.control_plane_verb(&words, None).await?;
        let out = text(&self.machine_agent);
        let words = ["ca", "machine", MACHINE, "--dir", &dir, "--out", &out];
        self.control_plane_verb(&words, None).await?;
        let copy = self.control_plane.join("ca.crt");
        fs::copy(authority.join("ca.crt"), &copy).map_err(told(&copy))?;
        for name in ["ca.crt", "control-plane.crt", "control-plane.key"] {
            self.state.give(&self.control_plane.join(name))?;
        }
        Ok(())
    }

    fn control_plane_file(&self) -> PathBuf {
        self.control_plane.join("control-plane.toml")
    }

    fn machine_agent_file(&self) -> PathBuf {
        self.machine_agent.join("machine-agent.toml")
    }

    fn control_plane_settings(&self) -> Table {
        let at = |name: &str| text(&self.control_plane.join(name));
        table([
            ("listen", format!("127.0.0.1:{}", self.port)),
            ("database_url", self.database_url.clone()),
            ("key_file", at("key")),
            ("secrets_key_file", at(SECRETS_KEY)),
            ("machine_ca", at("ca.crt")),
            ("machine_cert", at("control-plane.crt")),
            ("machine_key", at("control-plane.key")),
        ])
    }

    fn machine_agent_settings(&self) -> Table {
        let root = self.account.is_root();
        let at = |name: &str| text(&self.machine_agent.join(name));
        let or = |as_root: &str, path: PathBuf| {
            if root {
                as_root.to_owned()
            } else {
                text(&path)
            }
        };
        let port = self.port + MACHINE_PORT_OFFSET;
        let mut settings = table([
            ("machine", MACHINE.to_owned()),
            ("listen", format!("127.0.0.1:{port}")),
            ("tls_cert", at("machine.crt")),
            ("tls_key", at("machine.key")),
            ("tls_ca", at("ca.crt")),
            ("runners", "direct".to_owned()),
            ("run_dir", text(&self.runners)),
            ("state_dir", at("state")),
            ("home_root", or("/home", self.state.path("home"))),
            ("helpers_dir", or("/usr/local/bin", self.programs.clone())),
            ("cgroup_root", CGROUP_ROOT.to_owned()),
            // There is no owner to match when every agent is the caller.
            ("firewall", if root { "required" } else { "off" }.to_owned()),
        ]);
        settings.insert("end_runners_on_stop".to_owned(), Value::Boolean(true));
        settings
    }

    fn write(&self, path: &Path, settings: Table) -> Result<(), Failure> {
        let text = toml::to_string(&settings)
            .map_err(|error| Failure::local(format!("{}: {error}", path.display())))?;
        state::write_private(path, &text).map_err(told(path))
    }

    /// The control plane, not as root.
    pub(crate) fn control_plane(&self) -> Plan {
        Plan {
            name: "control-plane",
            program: self.programs.join("guilds-control-plane"),
            words: self.serve(&self.control_plane_file()),
            account: self.account.unprivileged(),
            stop: (Signal::SIGTERM, Duration::from_secs(15)),
        }
    }

    /// The machine agent, as the caller.
    pub(crate) fn machine_agent(&self) -> Plan {
        Plan {
            name: "machine-agent",
            program: self.programs.join("guilds-machine-agent"),
            words: self.serve(&self.machine_agent_file()),
            account: None,
            stop: (Signal::SIGTERM, Duration::from_secs(30)),
        }
    }

    fn serve(&self, config: &Path) -> Vec<String> {
        vec!["serve".to_owned(), "--config".to_owned(), text(config)]
    }

    /// Tokens of an earlier start, or new ones where the database doesn't know them.
    ///
    /// # Errors
    /// When one can't be made.
    pub(crate) async fn tokens(&self, client: &Client) -> Result<Tokens, Failure> {
        let backend = self.token("backend", &[], async |token: &str| {
            client.with(Some(token))?.get("/v1/runs?limit=1").await
        });
        let backend = backend.await?;
        let organisation = ["--organisation", ORGANISATION];
        let operator = self.token("operator", &organisation, async |token: &str| {
            let empty = json!({"organisation": ORGANISATION});
            document::send(&client.with(Some(token))?, &empty, true).await
        });
        let operator = operator.await?;
        Ok(Tokens { backend, operator })
    }

    /// A token of `role`: the one that is kept, unless `probe` is denied with it.
    async fn token(
        &self,
        role: &str,
        more: &[&str],
        probe: impl AsyncFn(&str) -> Result<serde_json::Value, Failure>,
    ) -> Result<String, Failure> {
        let name = format!("tokens/{role}");
        if let Ok(kept) = fs::read_to_string(self.state.path(&name)) {
            let kept = kept.trim();
            let answer = probe(kept).await;
            if !answer.is_err_and(|failure| failure.exit == Exit::Denied) {
                return Ok(kept.to_owned());
            }
        }
        let config = text(&self.control_plane_file());
        let words = [
            &["token", "create", "--role", role, "--config", &config],
            more,
        ]
        .concat();
        let made = self
            .control_plane_verb(&words, self.account.unprivileged())
            .await?;
        let made = made.trim().to_owned();
        self.state.write_private(&name, &format!("{made}\n"))?;
        Ok(made)
    }

    async fn control_plane_verb(
        &self,
        words: &[&str],
        account: Option<(Uid, Gid)>,
    ) -> Result<String, Failure> {
        let file = self.programs.join("guilds-control-plane");
        let program = Program {
            file: &file,
            words: words.iter().map(ToString::to_string).collect(),
            account,
        };
        program.run().await.map_err(Failure::local)
    }

    /// What a person or a program needs to use the stack.
    pub(crate) fn env(&self, cluster: &Cluster, tokens: Tokens, site: String) -> Env {
        Env {
            url: self.url(),
            backend_token: tokens.backend,
            operator_token: tokens.operator,
            database_url: cluster.url(),
            site,
            file: self.state.path("dev.env"),
            program: self.programs.join("guilds"),
        }
    }
}

/// The contents of `dev.env`.
#[derive(Debug)]
pub(crate) struct Env {
    pub(crate) url: String,
    pub(crate) backend_token: String,
    operator_token: String,
    database_url: String,
    pub(crate) site: String,
    file: PathBuf,
    program: PathBuf,
}

impl Env {
    /// Lines `NAME=value`.
    pub(crate) fn text(&self) -> String {
        let lines = [
            ("GUILDS_URL", &self.url),
            ("GUILDS_BACKEND_TOKEN", &self.backend_token),
            ("GUILDS_OPERATOR_TOKEN", &self.operator_token),
            ("DATABASE_URL", &self.database_url),
            ("GUILDS_DEMO_SITE", &self.site),
        ];
        lines
            .map(|(name, value)| format!("{name}={value}\n"))
            .concat()
    }

    /// How to make a first call.
    pub(crate) fn how_to_call(&self) -> String {
        let (file, program) = (self.file.display(), self.program.display());
        format!(
            "\
Ready. In another terminal:

  set -a; . {file}; set +a

Call a tool as an agent:

  {program} call --agent ada browser_navigate url=$GUILDS_DEMO_SITE
  {program} call --agent ada shell command='uname -a'

Or as a chat backend does, over HTTP:

  curl -s $GUILDS_URL/v1/runs -H \"Authorization: Bearer $GUILDS_BACKEND_TOKEN\" \\
    -H 'Content-Type: application/json' -d '{{\"agent\":\"ada\",\"kind\":\"direct\"}}'

Ctrl-C stops everything and keeps the data."
        )
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn table<const N: usize>(entries: [(&str, String); N]) -> Table {
    entries
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::String(value)))
        .collect()
}
