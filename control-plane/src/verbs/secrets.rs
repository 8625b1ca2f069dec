//! `secrets`: the rotation of the key that seals values at rest.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Subcommand;
use control_plane::config::{self, Config};
use control_plane::store::sealing::SealError;
use control_plane::store::sealing::rotation::{self, KnownKey, Table};
use control_plane::vault::Vault;
use control_plane::vault::key_file::KeyRing;
use sqlx::{PgConnection, PgPool};

/// Passes over all values: writers that sealed with an old key while one went on need another.
const PASSES: u32 = 20;
/// Tries of a batch that met another writer's locks.
const TRIES: u32 = 10;

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Seals every secret and every login's key anew and drops the keys that nothing uses.
    ///
    /// Makes a new key where none is prepared. Interrupted at any point it can be run again;
    /// running daemons go on working.
    RotateKey {
        /// Only puts a new key into the file, to be copied to every replica before the
        /// rotation; nothing is sealed with it yet.
        #[arg(long)]
        prepare: bool,
        /// The configuration file.
        #[arg(long, value_name = "FILE", default_value = config::DEFAULT_PATH)]
        config: PathBuf,
    },
}

impl Verb {
    pub(super) fn config(&self) -> &Path {
        let Self::RotateKey { config, .. } = self;
        config
    }
}

pub(super) async fn run(verb: Verb, config: &Config, pool: &PgPool) -> anyhow::Result<()> {
    let Verb::RotateKey { prepare, .. } = verb;
    let path = config.vault.path();
    // A file is replaced whole, so its folder is what two of these can both hold.
    let folder = std::fs::canonicalize(path)?;
    let folder = File::open(folder.parent().unwrap_or(Path::new("/")))?;
    if folder.try_lock().is_err() {
        bail!("another rotation works on {}", path.display());
    }
    let mut db = pool.acquire().await?;
    if !rotation::lock(&mut db).await? {
        bail!("another rotation works on this database");
    }
    let mut ring = KeyRing::read(path)?;
    let known = rotation::known(&mut db).await?;
    refuse_missing(&ring, &known, path)?;
    let dropped = drop_retired(&mut ring, &known);
    // What was interrupted after its last value is only to be finished; a key that is to be
    // prepared is another matter.
    let new = if dropped && !prepare {
        false
    } else {
        prepare_key(&mut ring)?
    };
    if dropped || new {
        ring.write(path)
            .with_context(|| format!("{} could not be replaced", path.display()))?;
    }
    let key_id = newest(&ring)?;
    if prepare {
        let made = if new { "new" } else { "prepared already" };
        println!(
            "key {key_id} ({made}) is the first of {}; copy the file to every replica, then run this without --prepare",
            path.display()
        );
        return Ok(());
    }
    config.vault.read_again().await?;
    rotation::join(&mut db, &key_id).await?;
    reseal(pool, &config.vault, &mut db, &key_id).await?;
    ring.retain(|id| id == key_id);
    ring.write(path)
        .with_context(|| format!("{} could not be replaced", path.display()))?;
    println!(
        "everything is sealed with key {key_id}, the only one of {}",
        path.display()
    );
    Ok(())
}

/// A key in use that the file lacks: what it sealed could not be opened.
fn refuse_missing(ring: &KeyRing, known: &[KnownKey], path: &Path) -> anyhow::Result<()> {
    let missing: Vec<&str> = known
        .iter()
        .filter(|key| !key.retired && ring.find(&key.id).is_none())
        .map(|key| key.id.as_str())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "{} lacks the key {} that values are sealed with; add its line from another replica or a backup of the file",
        path.display(),
        missing.join(", ")
    )
}

/// Keys that an earlier rotation, here or on another replica, left in this file.
fn drop_retired(ring: &mut KeyRing, known: &[KnownKey]) -> bool {
    let before = ring.ids().count();
    let retired = |id: &str| known.iter().any(|key| key.retired && key.id == id);
    ring.retain(|id| !retired(id));
    ring.ids().count() < before
}

/// Makes a key unless one is prepared, or a rotation to one was interrupted.
fn prepare_key(ring: &mut KeyRing) -> anyhow::Result<bool> {
    if ring.ids().count() > 1 {
        return Ok(false);
    }
    ring.prepend_new().context("the system has no randomness")?;
    Ok(true)
}

fn newest(ring: &KeyRing) -> anyhow::Result<String> {
    let newest = ring.ids().next().context("the key file holds no key")?;
    Ok(newest.to_owned())
}

async fn reseal(
    pool: &PgPool,
    vault: &Vault,
    db: &mut PgConnection,
    key_id: &str,
) -> anyhow::Result<()> {
    for _ in 0..PASSES {
        let mut closed = Vec::new();
        for table in Table::ALL {
            let mut after = None;
            loop {
                let batch = batch(pool, vault, table, key_id, after.as_ref()).await?;
                if batch.sealed > 0 {
                    println!("{} values sealed anew", batch.sealed);
                }
                closed.extend(batch.closed);
                if batch.last.is_none() {
                    break;
                }
                after = batch.last;
            }
        }
        if !closed.is_empty() {
            for value in &closed {
                eprintln!("{}: {}", value.what, value.error);
            }
            bail!(
                "{} values can't be opened; mend them, store them anew or remove them, and run this again: the old keys are kept until then",
                closed.len()
            );
        }
        if rotation::retire_others(pool, key_id).await? {
            return Ok(());
        }
    }
    let left = rotation::left(db, key_id).await?;
    bail!(
        "{left} values are under another key again and again: a replica's key file lacks {key_id}; copy the file there and run this again"
    )
}

async fn batch(
    pool: &PgPool,
    vault: &Vault,
    table: Table,
    key_id: &str,
    after: Option<&(String, uuid::Uuid)>,
) -> Result<rotation::Batch, SealError> {
    let mut tries = 1;
    loop {
        match rotation::batch(pool, vault, table, key_id, after).await {
            // Deadlock, serialization failure, or a lock that was not given in time.
            Err(SealError::Store(sqlx::Error::Database(error)))
                if tries < TRIES
                    && matches!(error.code().as_deref(), Some("40P01" | "40001" | "55P03")) =>
            {
                tries += 1;
            }
            other => return other,
        }
    }
}
