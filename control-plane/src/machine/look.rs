//! A look at machines: which answer, with which version, and when their certificates end.

use std::time::Duration;

use futures_util::StreamExt as _;
use machine_agent_api::{Health, HealthReply};

use super::{Machine, MachineError, Machines, interrupted, read, refusal, request};

/// Time in which every machine of one look answers or counts as down.
pub const WITHIN: Duration = Duration::from_secs(3);
/// Machines asked at once.
const AT_ONCE: usize = 256;

/// How a machine was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// It answered.
    Up {
        /// Version of its front.
        version: String,
        /// End of the certificate it showed, in seconds of the Unix clock.
        certificate_ends_s: Option<i64>,
    },
    /// It did not answer as itself.
    Down {
        /// One sentence without internals.
        reason: String,
    },
}

impl Machines {
    /// Looks at machines side by side, within [`WITHIN`] for all of them; the
    /// answers stand in the order of the question.
    pub async fn look(&self, machines: &[Machine]) -> Vec<Look> {
        let deadline = tokio::time::Instant::now() + WITHIN;
        let looks: Vec<_> = machines
            .iter()
            .enumerate()
            .map(async |(at, machine)| (at, self.look_until(machine, deadline).await))
            .collect();
        // In the order in which they end, so that a silent one holds up no other.
        let mut looks: Vec<(usize, Look)> = futures_util::stream::iter(looks)
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        looks.sort_unstable_by_key(|(at, _)| *at);
        looks.into_iter().map(|(_, look)| look).collect()
    }

    /// End of the control plane's own certificate, in seconds of the Unix
    /// clock; none when it has no certificate for machines.
    #[must_use]
    pub fn own_certificate_ends_s(&self) -> Option<i64> {
        self.identity
            .as_ref()
            .and_then(super::tls::Identity::ends_s)
    }

    async fn look_until(&self, machine: &Machine, deadline: tokio::time::Instant) -> Look {
        match tokio::time::timeout_at(deadline, self.ask_health(machine)).await {
            Ok(Ok((reply, certificate_ends_s))) => Look::Up {
                version: reply.version,
                certificate_ends_s,
            },
            Ok(Err(error)) => Look::Down {
                reason: reason(error),
            },
            Err(_) => Look::Down {
                reason: format!("no answer within {} s", WITHIN.as_secs()),
            },
        }
    }

    /// As [`Machines::ask`], with the end of the certificate of the connection that answered.
    async fn ask_health(
        &self,
        machine: &Machine,
    ) -> Result<(HealthReply, Option<i64>), MachineError> {
        let request =
            request(machine, None, &Health).map_err(|reason| MachineError::Unreachable {
                machine: machine.id.clone(),
                reason,
            })?;
        let client = self.client(machine)?;
        let connection = client.connection(machine).await?;
        let certificate_ends_s = connection.certificate_ends_s();
        let (status, body) = self.exchange(&client, machine, connection, request).await?;
        if status != 200 {
            return Err(refusal(machine, status, &body));
        }
        let reply: HealthReply = read(machine, &body)?;
        if reply.machine != machine.id {
            let reason = "it calls itself another machine".to_owned();
            return Err(interrupted(machine, reason));
        }
        Ok((reply, certificate_ends_s))
    }
}

/// Why it is down, without the machine's id, beside which it stands.
fn reason(error: MachineError) -> String {
    match error {
        MachineError::Unreachable { reason, .. } | MachineError::Interrupted { reason, .. } => {
            reason
        }
        MachineError::Refused { message, .. } => message,
    }
}
