//! What all tests of one binary share: the cluster with its template, the authority, the tokens, the helpers in place.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tokio::sync::OnceCell;

use crate::certificates::{Authority, Identity};
use crate::cluster::Cluster;
use crate::spawn;

/// The organisation of the tests' operator token.
pub const ORGANISATION: &str = "acme";

static SHARED: OnceCell<Shared> = OnceCell::const_new();

/// Made once per test binary.
#[derive(Debug)]
pub struct Shared {
    /// Folder of the programs under test.
    pub programs: PathBuf,
    /// The checkout.
    pub repository: PathBuf,
    /// Folder for files of this run.
    pub work: PathBuf,
    /// The cluster.
    pub cluster: Cluster,
    /// The authority of all daemons.
    pub authority: Authority,
    /// The control planes' certificate.
    pub control_plane: Identity,
    /// The machine agents' certificate: machine `local`.
    pub machine: Identity,
    /// A `backend` token, valid in every test's database.
    pub backend_token: String,
    /// An `operator` token of [`ORGANISATION`], valid in every test's database.
    pub operator_token: String,
    /// File with the key of the calls' digests.
    pub key_file: PathBuf,
    /// Key of what is sealed at rest.
    pub secrets_key_file: PathBuf,
}

impl Shared {
    /// The one of this process, made by the first who asks.
    ///
    /// # Errors
    /// When the process doesn't run in the tests' namespaces, or something doesn't start.
    pub async fn get() -> Result<&'static Self> {
        SHARED.get_or_try_init(Self::create).await
    }

    /// A program under test.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    async fn create() -> Result<Self> {
        ensure!(
            std::env::var_os("GUILDS_TEST_NAMESPACE").is_some(),
            "these tests change accounts, mounts and firewall rules and run in namespaces of their own: start them with tests/run.sh"
        );
        let programs = PathBuf::from(variable("GUILDS_TEST_BIN")?);
        let work = PathBuf::from(variable("GUILDS_TEST_WORK")?);
        let control_plane_program = programs.join("guilds-control-plane");
        put_helpers_in_place(&programs)?;
        let authority = Authority::create(&control_plane_program, &work.join("ca"))?;
        let control_plane = authority.control_plane()?;
        let machine = authority.machine("local")?;
        let key_file = work.join("digest.key");
        let secrets_key_file = work.join("secrets.key");
        for file in [&key_file, &secrets_key_file] {
            spawn::run(
                spawn::command(&control_plane_program)
                    .args(["key", "create", "--out"])
                    .arg(file),
            )?;
        }
        let cluster = Cluster::start(&work)?;
        let mut shared = Self {
            programs,
            repository: repository(),
            work,
            cluster,
            authority,
            control_plane,
            machine,
            backend_token: String::new(),
            operator_token: String::new(),
            key_file,
            secrets_key_file,
        };
        shared.fill_template().await?;
        Ok(shared)
    }

    async fn fill_template(&mut self) -> Result<()> {
        let template = self.cluster.make_template().await?;
        let config = self.work.join("template.toml");
        std::fs::write(
            &config,
            self.control_plane_config("127.0.0.1:8440", &self.cluster.url(template)),
        )?;
        let program = self.program("guilds-control-plane");
        let verb = |arguments: &[&str]| {
            spawn::run(
                spawn::command(&program)
                    .args(arguments)
                    .arg("--config")
                    .arg(&config),
            )
        };
        verb(&["migrate"])?;
        self.backend_token = verb(&["token", "create", "--role", "backend"])?
            .trim()
            .to_owned();
        self.operator_token = verb(&[
            "token",
            "create",
            "--role",
            "operator",
            "--organisation",
            ORGANISATION,
        ])?
        .trim()
        .to_owned();
        Ok(())
    }

    /// A control plane's settings without anything optional.
    #[must_use]
    pub fn control_plane_config(&self, listen: &str, database_url: &str) -> String {
        format!(
            "listen = \"{listen}\"\ndatabase_url = \"{database_url}\"\nkey_file = \"{}\"\n\
             secrets_key_file = \"{}\"\n\
             machine_ca = \"{}\"\nmachine_cert = \"{}\"\nmachine_key = \"{}\"\n",
            self.key_file.display(),
            self.secrets_key_file.display(),
            self.authority.certificate().display(),
            self.control_plane.certificate.display(),
            self.control_plane.key.display(),
        )
    }
}

/// The checkout, also when the tests see it under another path.
#[must_use]
pub fn repository() -> PathBuf {
    std::env::var_os("GUILDS_TEST_REPO").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
        PathBuf::from,
    )
}

fn put_helpers_in_place(programs: &Path) -> Result<()> {
    for name in ["guilds-browser", "guilds-code", "guilds-script-run"] {
        let target = Path::new("/usr/local/bin").join(name);
        std::fs::copy(programs.join(name), &target).with_context(|| format!("helper {name}"))?;
        std::fs::set_permissions(&target, PermissionsExt::from_mode(0o755))?;
    }
    Ok(())
}

fn variable(name: &str) -> Result<String> {
    std::env::var(name).with_context(|| format!("environment variable {name}"))
}
