//! What a command of an agent finds in its environment: the secrets granted to the agent.

use std::collections::BTreeMap;

use secrecy::ExposeSecret;
use sqlx::PgConnection;

use super::super::engine::Engine;
use super::super::error::RunError;
use super::Claimed;
use crate::store::agents::Agent;
use crate::store::secrets::{live, uses};
use crate::telemetry::chain;

impl Engine {
    /// The agent's secrets by name, as they are granted and worth at this moment; noted as
    /// used by the call, which is about to be sent with them.
    ///
    /// # Errors
    /// When the database does not answer, or [`RunError::Unavailable`] when a value can't be
    /// opened: a command that lacks one would do something else than it was written for.
    pub(super) async fn secrets_of(
        &self,
        db: &mut PgConnection,
        agent: &Agent,
        call: &Claimed,
    ) -> Result<BTreeMap<String, String>, RunError> {
        let mut env = BTreeMap::new();
        let mut used = Vec::new();
        for granted in live::granted(db, &agent.id).await? {
            let opened = self.vault.open(granted.row, &granted.sealed).await;
            let value = opened.map_err(|error| {
                tracing::error!(
                    agent = agent.id,
                    secret = granted.name,
                    error = chain(&error),
                    "the value of a granted secret can't be opened, so the call was not sent"
                );
                RunError::Unavailable(
                    "a secret of the agent can't be opened; the operator's log has the cause"
                        .to_owned(),
                )
            })?;
            env.insert(granted.name, value.expose_secret().to_owned());
            used.push(granted.row);
        }
        if !used.is_empty() {
            uses::record(db, call.run, &call.call_id, &used).await?;
        }
        Ok(env)
    }
}
