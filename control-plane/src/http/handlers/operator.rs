//! `/v1/operator`: what operators set up and read.

pub(in crate::http) mod apply;
pub(in crate::http) mod audit;
pub(in crate::http) mod delete;
pub(in crate::http) mod export;
pub(in crate::http) mod grants;
pub(in crate::http) mod inbox;
pub(in crate::http) mod issues;
pub(in crate::http) mod kinds;
mod machines;
pub(in crate::http) mod notes_history;
pub(in crate::http) mod record_changes;
pub(in crate::http) mod records;
mod redaction;
mod revision;
pub(in crate::http) mod runs;
pub(in crate::http) mod schedules;
pub(in crate::http) mod scripts;
pub(in crate::http) mod secret_requests;
pub(in crate::http) mod why;

use super::query::Parameters;
use crate::http::auth::Operator;

impl Operator {
    /// The actor of audit rows and revisions.
    pub(in crate::http) fn actor(&self) -> String {
        format!("operator:{}", self.token)
    }
}

/// `dry_run` of a request that changes something.
fn dry_run(query: &mut Parameters) -> bool {
    query.word("dry_run", &["true", "false"]) == Some("true")
}
