//! The program's verbs.

mod certificate;
mod secrets;
mod serve;
mod token;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use control_plane::config::{self, Config};
use control_plane::key;
use control_plane::store::pool::{self, Statements};
use sqlx::PgPool;

/// Exit status for a configuration that can't be used (sysexits' EX_CONFIG).
const EX_CONFIG: u8 = 78;

/// The control plane of Guilds.
#[derive(Parser)]
#[command(name = "guilds-control-plane", version)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serves the API until SIGTERM or SIGINT.
    Serve(ConfigPath),
    /// Brings the database to this version's tables.
    Migrate(ConfigPath),
    /// Checks the configuration and names every problem with its line.
    CheckConfig(ConfigPath),
    /// Bearer tokens of the API.
    #[command(subcommand)]
    Token(token::Verb),
    /// The certificate authority of control plane and machines.
    #[command(subcommand)]
    Ca(certificate::Verb),
    /// What is sealed at rest.
    #[command(subcommand)]
    Secrets(secrets::Verb),
    /// Keys: of the digests of calls, and of what is sealed at rest.
    #[command(subcommand)]
    Key(KeyVerb),
}

#[derive(clap::Args)]
struct ConfigPath {
    /// The configuration file.
    #[arg(long, value_name = "FILE", default_value = config::DEFAULT_PATH)]
    config: PathBuf,
}

#[derive(Subcommand)]
enum KeyVerb {
    /// Writes a new key that only its owner reads; an existing file is kept and refused.
    Create {
        /// The file.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

/// Does what the command line asks.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Verb::Serve(path) => with_config(&path.config, serve::serve),
        Verb::Migrate(path) => with_config(&path.config, |config| {
            block_on(async {
                let pool = connect(&config)?;
                pool::migrate(&pool)
                    .await
                    .context("the migrations failed")?;
                println!("the database is at this version's tables");
                Ok(())
            })
        }),
        Verb::CheckConfig(path) => with_config(&path.config, |config| {
            block_on(async {
                // What it names has to fit together as well.
                serve::parts(&config)?;
                println!("{}: no problem", path.config.display());
                Ok(())
            })
        }),
        Verb::Token(verb) => {
            let path = verb.config().to_owned();
            with_config(&path, |config| {
                block_on(async { token::run(verb, &connect(&config)?).await })
            })
        }
        Verb::Secrets(verb) => {
            let path = verb.config().to_owned();
            with_config(&path, |config| {
                block_on(async {
                    let pool = connect(&config)?;
                    secrets::run(verb, &config, &pool).await
                })
            })
        }
        Verb::Ca(verb) => certificate::run(verb).map(|()| ExitCode::SUCCESS),
        Verb::Key(KeyVerb::Create { out }) => {
            let text = key::random_hex().context("the system has no randomness")?;
            key::write_new(&out, &format!("{text}\n"))
                .with_context(|| format!("{} could not be written", out.display()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn with_config(
    path: &Path,
    work: impl FnOnce(Config) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    match config::load(path) {
        Ok(config) => work(config).map(|()| ExitCode::SUCCESS),
        Err(invalid) => {
            eprintln!("{invalid}");
            Ok(ExitCode::from(EX_CONFIG))
        }
    }
}

fn connect(config: &Config) -> anyhow::Result<PgPool> {
    pool::connect_lazily(&config.database_url, 2, Statements::Unlimited)
        .context("the database URL makes no sense")
}

fn block_on(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime did not start")?
        .block_on(work)
}
