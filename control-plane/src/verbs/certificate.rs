//! `ca`: certificates of control plane and machines.

use std::path::PathBuf;

use clap::Subcommand;
use control_plane::ca;

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Makes ca.crt and ca.key, or keeps what is there.
    Init {
        /// Folder of the authority.
        #[arg(long)]
        dir: PathBuf,
    },
    /// Makes control-plane.crt and control-plane.key.
    ControlPlane {
        /// Folder of the authority.
        #[arg(long)]
        dir: PathBuf,
        /// Folder of the new files.
        #[arg(long)]
        out: PathBuf,
    },
    /// Makes machine.crt, machine.key and ca.crt for one machine.
    Machine {
        /// Machine id.
        id: String,
        /// Folder of the authority.
        #[arg(long)]
        dir: PathBuf,
        /// Folder of the new files.
        #[arg(long)]
        out: PathBuf,
        /// Days it lasts; a negative number makes one that has ended.
        #[arg(long, default_value_t = ca::MACHINE_DAYS, allow_negative_numbers = true)]
        days: i64,
    },
}

pub(super) fn run(verb: Verb) -> anyhow::Result<()> {
    match verb {
        Verb::Init { dir } => ca::init(&dir)?,
        Verb::ControlPlane { dir, out } => ca::control_plane(&dir, &out)?,
        Verb::Machine { id, dir, out, days } => ca::machine(&dir, &out, &id, days)?,
    }
    Ok(())
}
