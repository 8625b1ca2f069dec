//! `token`: bearer tokens of the API.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Subcommand, ValueEnum};
use control_plane::store::tokens::{self, Role};
use control_plane::{config, ids, key};
use sqlx::PgPool;
use uuid::Uuid;

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Makes a token and prints it; it is stored nowhere.
    Create {
        /// What it opens.
        #[arg(long)]
        role: Kind,
        /// The operator's organisation; it is made when it is new.
        #[arg(long, value_name = "ID")]
        organisation: Option<String>,
        /// The configuration file.
        #[arg(long, value_name = "FILE", default_value = config::DEFAULT_PATH)]
        config: PathBuf,
    },
    /// Lists tokens, never the tokens themselves.
    List {
        /// The configuration file.
        #[arg(long, value_name = "FILE", default_value = config::DEFAULT_PATH)]
        config: PathBuf,
    },
    /// Revokes a token by its id.
    Revoke {
        /// The id that `token list` shows.
        id: Uuid,
        /// The configuration file.
        #[arg(long, value_name = "FILE", default_value = config::DEFAULT_PATH)]
        config: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Kind {
    /// A chat backend.
    Backend,
    /// An operator of one organisation.
    Operator,
}

impl Verb {
    pub(super) fn config(&self) -> &Path {
        match self {
            Self::Create { config, .. } | Self::List { config } | Self::Revoke { config, .. } => {
                config
            }
        }
    }
}

pub(super) async fn run(verb: Verb, pool: &PgPool) -> anyhow::Result<()> {
    match verb {
        Verb::Create {
            role, organisation, ..
        } => create(pool, role, organisation).await,
        Verb::List { .. } => list(pool).await,
        Verb::Revoke { id, .. } => {
            let mut db = pool.acquire().await?;
            if !tokens::revoke(&mut db, id).await? {
                bail!("no token has the id {id}");
            }
            Ok(())
        }
    }
}

async fn create(pool: &PgPool, role: Kind, organisation: Option<String>) -> anyhow::Result<()> {
    let (role, prefix) = match (role, organisation) {
        (Kind::Backend, None) => (Role::Backend, "gb"),
        (Kind::Backend, Some(_)) => {
            bail!("a backend token is for every organisation: leave out --organisation")
        }
        (Kind::Operator, None) => bail!("an operator token needs --organisation ID"),
        (Kind::Operator, Some(organisation)) => {
            if !ids::is_id(&organisation) {
                bail!(
                    "organisation id \"{organisation}\" is refused; allowed is ^[a-z][a-z0-9-]{{0,30}}$"
                );
            }
            (Role::Operator { organisation }, "go")
        }
    };
    let token = format!(
        "{prefix}_{}",
        key::random_hex().context("the system has no randomness")?
    );
    let mut tx = pool.begin().await?;
    tokens::create(&mut tx, &role, &key::token_digest(&token)).await?;
    tx.commit().await?;
    println!("{token}");
    Ok(())
}

async fn list(pool: &PgPool) -> anyhow::Result<()> {
    let mut db = pool.acquire().await?;
    for token in tokens::list(&mut db).await? {
        println!(
            "{}  {}  {}  created {}{}",
            token.id,
            token.role,
            token.organisation.as_deref().unwrap_or("-"),
            token.created_at,
            token
                .revoked_at
                .map(|at| format!("  revoked {at}"))
                .unwrap_or_default()
        );
    }
    Ok(())
}
