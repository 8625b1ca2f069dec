//! Who runs the stack, and the account that its database and control plane run as.

use nix::unistd::{Gid, Uid, User, geteuid};

use crate::error::Failure;

/// The account that PostgreSQL's package makes.
const UNPRIVILEGED: &str = "postgres";

/// The caller, and whom to drop to.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    unprivileged: Option<(Uid, Gid)>,
}

impl Account {
    /// The caller's.
    ///
    /// # Errors
    /// As root, when there is no account to drop to.
    pub(crate) fn find() -> Result<Self, Failure> {
        if !geteuid().is_root() {
            return Ok(Self { unprivileged: None });
        }
        match User::from_name(UNPRIVILEGED) {
            Ok(Some(user)) => Ok(Self {
                unprivileged: Some((user.uid, user.gid)),
            }),
            Ok(None) => Err(Failure::local(format!(
                "there is no account `{UNPRIVILEGED}`, which database and control plane run as; the package postgresql-15 makes it"
            ))),
            Err(error) => Err(Failure::local(format!("accounts can't be read: {error}"))),
        }
    }

    /// Whether the caller is root.
    pub(crate) fn is_root(&self) -> bool {
        self.unprivileged.is_some()
    }

    /// Whom database and control plane run as; `None` is the caller.
    pub(crate) fn unprivileged(&self) -> Option<(Uid, Gid)> {
        self.unprivileged
    }
}
